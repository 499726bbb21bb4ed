"""TF_ENABLE_AUTO_MIXED_PRECISION in launch scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import lines_of
from crosscast_reading.sources.files import kind_of
from crosscast_tensorflow.migration.experimental.keras.policy_place import PolicyRequest
from crosscast_tensorflow.migration.experimental.keras.rewrite_requests import RewriteRequest
from crosscast_tensorflow.reading.rewrite import VARIABLE

if TYPE_CHECKING:
    from crosscast.messages.source import Source
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.sources.subject import Subject

_OFF = ("", "0", "false", "False")
_NAME = r"TF_ENABLE_AUTO_MIXED_PRECISION(?:_GRAPH_REWRITE|_LOSS_SCALING)?"
_EXPORT = re.compile(rf"[ \t]*export[ \t]+{_NAME}=[\"']?\w+[\"']?[ \t]*(?P<comment>#.*)?")
_PREFIX = re.compile(rf"(?<![\w.$-]){_NAME}=[\"']?\w+[\"']?[ \t]+(?=[\w./$\"'-])")


def by_shell(subject: Subject, program: Program) -> Iterator[RewriteRequest | Refusal]:
    """Yield the requests for the rewrite in launch scripts.

    Args:
        subject: contains the commands.
        program: the launched program; None if it is not among the files.
    """
    scripts = {source.name: source for source in subject.sources if kind_of(source) == "shell"}
    places: dict[tuple[str, int], Span] = {}
    with_it = 0
    for command in subject.commands:
        mine = [
            span
            for fact in command.environment
            if VARIABLE.fullmatch(str(fact.expression)) and str(fact.value) not in _OFF
            for span in fact.places[:1]
            if span.file in scripts
        ]
        with_it += bool(mine)
        places.update({(span.file, span.line): span for span in mine})
    if not places:
        return
    first = next(iter(places.values()))
    if not program.modules:
        yield Refusal(
            span=first,
            message="the script requests the graph rewrite, but the program it launches is not "
            "among the given files",
            hint="pass the program as well, so that it can set a Keras policy",
        )
        return
    if with_it != len(subject.commands):
        yield Refusal(
            span=first,
            message="some commands set the variable for the program and some do not",
            hint="add a flag to the program that sets the policy",
        )
        return
    edits = [_removal(scripts[span.file], span) for span in places.values()]
    if not all(edits):
        yield Refusal(
            span=first,
            message="the variable cannot be removed from this line with certainty",
            hint="remove it by hand and set the policy in the program",
        )
        return
    main = program.modules[0]
    yield RewriteRequest(
        PolicyRequest(main, main.tree), [edit for edit in edits if edit is not None]
    )


def _removal(script: Source, span: Span) -> Edit | None:
    """Return the edit that removes the variable from a line of a script."""
    line = lines_of(script.text)[span.line - 1]
    whole = _EXPORT.fullmatch(line)
    if whole is not None:
        kept = f"{whole['comment']}\n" if whole["comment"] else ""
        return Edit(
            file=script.name,
            line=span.line,
            column=1,
            end_line=span.line + 1,
            end_column=1,
            text=kept,
        )
    found = list(_PREFIX.finditer(line))
    if len(found) != 1 or "export" in line:
        return None
    return Edit(
        file=script.name,
        line=span.line,
        column=found[0].start() + 1,
        end_line=span.line,
        end_column=found[0].end() + 1,
        text="",
    )
