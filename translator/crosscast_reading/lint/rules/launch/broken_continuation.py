"""CL920: flags that bash does not pass on, because a line continuation is broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.readers.shell.lost_flags import Lost
    from crosscast_reading.readers.shell.text import ShellText

_PROGRAM = re.compile(r"\.py\b|\bpython|torchrun|deepspeed|accelerate|fleetrun|-m \w")
_TRAINS = re.compile(
    r"train|tune|torchrun|deepspeed|accelerate|fleetrun|epoch|batch|learning_?rate|-lr\b|fp16|bf16"
    r"|[-_]amp\b|optim|run_\w{1,60}\.py|warmup",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#")


def check(subject: Subject) -> Iterator[Finding]:
    """Check the shell scripts that launch a program."""
    for source in subject.sources:
        if kind_of(source) == "shell":
            yield from _in_script(source)


def _in_script(source: Source) -> Iterator[Finding]:
    from crosscast_reading.readers.shell.lost_flags import lost_flags
    from crosscast_reading.readers.shell.reader import TooSlowError, root_of

    try:
        root, text = root_of(source)
    except TooSlowError:  # the reader says so
        return
    for lost in lost_flags(root, text):
        if not _PROGRAM.search(lost.joined) or not _TRAINS.search(lost.joined):
            continue
        shown = ", ".join(lost.flags[:6]) + (", ..." if len(lost.flags) > 6 else "")
        edits = _repair(source, text, lost)
        yield Finding(
            span=lost.cause,
            message=f"the command ends here {lost.why}: {shown} never reach the program and are "
            "run as commands",
            hint="move the comment above the command; the backslash must be the last character"
            if "comment" in lost.why
            else "end the line with a backslash and nothing else",
            related=(lost.span,),
            edits=edits,
        )


def _repair(source: Source, text: ShellText, lost: Lost) -> tuple[Edit, ...]:
    """Return the edit that joins the lines; comments among them go above the command."""
    start, end = text.span(lost.start_byte), text.span(lost.end_byte)
    indent = start.text[: start.column - 1]
    if indent.strip() or not lost.joined:
        return ()
    comments: list[str] = []
    lines: list[str] = []
    for line in text.slice(lost.start_byte, lost.end_byte).split("\n"):
        comment = _COMMENT.search(line)
        code = line[: comment.start()] if comment else line
        if comment:
            comments.append(f"{line[comment.start() :].rstrip()}\n{indent}")
        code = code.rstrip(" \t").removesuffix("\\").rstrip()
        if code:
            lines.append(code)
    if " ".join(" ".join(lines).split()) != lost.joined:
        return ()  # for example because of quotes
    return (
        Edit(
            file=source.name,
            line=start.line,
            column=start.column,
            end_line=end.line,
            end_column=end.column,
            text="".join(comments) + " \\\n".join(lines),
        ),
    )


RULE = Rule("CL920", check)
