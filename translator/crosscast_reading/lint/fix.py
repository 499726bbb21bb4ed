"""Apply safe fixes repeatedly until none are left."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.notebook_cells import apply_to_notebook
from crosscast_reading.edits.text_edits import apply_edits, lines_of, overlap
from crosscast_reading.lint.result import Result
from crosscast_reading.pysource.syntax.notebook import cells_as_source, is_notebook
from crosscast_reading.pysource.syntax.parse import is_python
from crosscast_reading.sources.files import Text, kind_of, write_whole

MAX_ROUNDS = 10
Look = Callable[[Sequence[Source]], list[Result]]
"""Return the results for a group of sources."""


@dataclass(slots=True)
class Fixed:
    """Result of applying fixes."""

    texts: dict[str, str] = field(default_factory=dict)
    """Changed file to new text."""
    made: list[Result] = field(default_factory=list)
    """The fixed findings, in the order of rounds."""
    results: list[Result] = field(default_factory=list)
    """Remaining results."""
    problems: list[Diagnostic] = field(default_factory=list)
    spoilt: set[str] = field(default_factory=set)
    """Files that were not changed, because the result would not be valid."""

    @property
    def repaired(self) -> int:
        """Number of fixed findings."""
        return len(self.made)


def repair(sources: Sequence[Source], look: Look) -> Fixed:
    """Apply the edits of findings until there are none, at most ten rounds.

    A file is not changed if the result would not be valid Python.

    Args:
        sources: all checked sources.
        look: returns the results for changed sources; the order of sources is kept.
    """
    original = {source.name: source for source in sources}
    current = dict(original)
    fixed = Fixed(results=look(list(current.values())))
    for _ in range(MAX_ROUNDS):
        chosen, made = choose(
            fixed.results, frozenset(fixed.spoilt), frozenset(current), partial(_editable, current)
        )
        if not chosen:
            break
        changed = False
        for name, edits in chosen.items():
            text = edited(current[name], edits)
            if text is None or not _parses(original[name], text):
                fixed.spoilt.add(name)
                current[name] = original[name]
                fixed.problems.append(_refused(name))
                changed = True
            elif text != current[name].text:
                current[name] = Source(name, text)
                changed = True
        fixed.made += made
        if not changed:
            break
        fixed.results = look(list(current.values()))
    fixed.texts = {
        name: source.text for name, source in current.items() if source.text != original[name].text
    }
    return fixed


def choose(
    results: Iterable[Result],
    spoilt: frozenset[str],
    files: frozenset[str],
    editable: Callable[[Result], bool] = lambda result: True,
) -> tuple[dict[str, list[Edit]], list[Result]]:
    """Return file to compatible edits, and the findings that they fix.

    The edits of a finding are applied together; overlapping findings wait for the next round.

    Args:
        results: the findings.
        spoilt: files that must not be changed.
        files: all files.
        editable: whether the edits of a finding can be made.
    """
    taken: list[Edit] = []
    made: list[Result] = []
    for result in results:
        fits = result.edits and all(
            edit.file in files
            and edit.file not in spoilt
            and (edit in taken or not any(overlap(edit, other) for other in taken))
            for edit in result.edits
        )
        if fits and editable(result):
            taken += [edit for edit in dict.fromkeys(result.edits) if edit not in taken]
            made.append(result)
    chosen: dict[str, list[Edit]] = {}
    for edit in taken:
        chosen.setdefault(edit.file, []).append(edit)
    return chosen, made


def edited(source: Source, edits: Sequence[Edit]) -> str | None:
    """Return the text with edits; None if a notebook cannot have them in its cells."""
    if is_notebook(source.name):
        return apply_to_notebook(source.text, edits)
    return apply_edits(source.text, edits)


def _editable(current: Mapping[str, Source], result: Result) -> bool:
    """Whether the edits of a finding can be made in the cells of notebooks."""
    names = {edit.file for edit in result.edits if is_notebook(edit.file)}
    return all(
        edited(current[name], [edit for edit in result.edits if edit.file == name]) is not None
        for name in names
    )


def diff_of(before: Source, after: str) -> str:
    """Return the unified diff of a change."""
    # Split only at line endings: a form feed is part of its line.
    old, new = (_with_ends(text) for text in (before.text, after))
    lines = difflib.unified_diff(old, new, f"a/{before.name}", f"b/{before.name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def write(files: Mapping[str, Text], texts: Mapping[str, str]) -> list[Diagnostic]:
    """Write changed files atomically; return diagnostics for those that cannot be written."""
    problems: list[Diagnostic] = []
    for name, text in texts.items():
        try:
            _replace(files[name], text)
        except DiagnosticError as error:
            problems += error.diagnostics
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"{name}: not fixed: {reason}"
            problems.append(Diagnostic(code="CC502", message=message))
    return problems


def _replace(file: Text, text: str) -> None:
    mode = file.path.stat().st_mode
    if not mode & 0o222 or not os.access(file.path, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    write_whole(file.path, text.encode(file.encoding), mode & 0o7777)


def _parses(source: Source, text: str) -> bool:
    """Whether a text is valid Python, if its source was."""
    if kind_of(source) != "python":
        return True
    if is_notebook(source.name):
        before, after = (cells_as_source(Source(source.name, t))[0] for t in (source.text, text))
        if before is None or after is None or not is_python(before.text):
            return after is not None
        text = after.text
    return is_python(text)


def _refused(name: str) -> Diagnostic:
    return Diagnostic(
        code="CC953",
        severity=Severity.WARNING,
        message=f"{name}: not changed: with the edits it would not be valid Python",
        hint="please report this with the file, if you can share it",
    )


def _with_ends(text: str) -> list[str]:
    lines = lines_of(text)
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
