"""Flags that bash does not pass on because the command ended before them.

A backslash joins lines only as the very last character. With a blank after it, or a blank and a
comment, bash passes that blank (and the words of the comment) as arguments and ends the command;
the flags in the next lines are then tried as commands of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_reading.readers.shell.text import ShellText

if TYPE_CHECKING:
    from tree_sitter import Node

_FLAG_LINE = re.compile(r"--?[A-Za-z][\w.-]*")
_JUNK = re.compile(r"\\[ \t\r][^\n]*$", re.M)
_COMMENT = re.compile(r"(^|\s)#[^\n]*")


@dataclass(frozen=True, slots=True)
class Lost:
    """Flags that never reach the program."""

    span: Span
    """The place of the first of them."""
    cause: Span
    """The place where the command ends."""
    why: str
    flags: tuple[str, ...]
    joined: str
    """The command on one line with all of its flags."""
    start_byte: int
    end_byte: int


def lost_flags(root: Node, text: ShellText) -> list[Lost]:
    """Return the groups of flags in the position of a command."""
    groups: list[Lost] = []
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        statements = [c for c in node.children if c.is_named and c.type != "comment"]
        index = 0
        while index + 1 < len(statements):
            last = index
            while last + 1 < len(statements) and _is_flag(statements[last + 1], text):
                last += 1
            if last > index:
                groups.append(_lost(statements[index : last + 1], text))
            index = last + 1
    return sorted(groups, key=lambda lost: lost.start_byte)


def lost_diagnostics(
    root: Node, text: ShellText, trains: Callable[[str], bool]
) -> list[Diagnostic]:
    """Return errors for flags lost by commands that start programs."""
    return [
        Diagnostic(
            code="CC920",
            message=f"bash ends the command here, {lost.why}: {_listed(lost.flags)} never reach "
            "the program and are tried as commands",
            severity=Severity.ERROR,
            span=lost.cause,
            hint=f"in one line: {lost.joined}",
        )
        for lost in lost_flags(root, text)
        if trains(lost.joined)
    ]


def glued_diagnostics(root: Node, text: ShellText) -> list[Diagnostic]:
    """Return warnings for words that a line continuation joins without a blank."""
    diagnostics: list[Diagnostic] = []
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type != "command":
            continue
        for child, other in zip(node.children, node.children[1:], strict=False):
            gap = text.slice(child.end_byte, other.start_byte)
            if gap == "\\\n" and text.of(other).startswith("-"):
                glued = f"{text.of(child)}{text.of(other)}"
                diagnostics.append(
                    Diagnostic(
                        code="CC931",
                        message=f"bash joins the lines without a blank: it passes {glued}",
                        severity=Severity.WARNING,
                        span=text.span(child.start_byte, child.end_byte),
                        hint=f"write a blank before the backslash: {text.of(child)} \\",
                    )
                )
    return diagnostics


def _is_flag(node: Node, text: ShellText) -> bool:
    """Return whether a statement starts with a flag instead of a command."""
    while node.type in ("redirected_statement", "pipeline", "list"):
        node = node.children[0]
    return node.type == "command" and bool(_FLAG_LINE.match(text.of(node)))


def _lost(statements: list[Node], text: ShellText) -> Lost:
    victim, first, last = statements[0], statements[1], statements[-1]
    gap = text.slice(victim.end_byte, first.start_byte)
    flags = [word for node in statements[1:] for word in text.of(node).split() if word[:1] == "-"]
    whole = text.slice(victim.start_byte, last.end_byte)
    whole = _COMMENT.sub(" ", whole.replace("\\\r\n", "\\\n").replace("\\\n", " \n"))
    joined = " ".join(re.sub(r"\\(?=\s|$)", " ", whole).split())
    junk = _JUNK.search(gap.split("\n", 1)[0])
    if junk is not None:
        start = victim.end_byte + len(gap[: junk.start()].encode("utf-8", "replace"))
        cause = text.span(start, start + len(junk.group().encode("utf-8", "replace")))
        comment = "#" in junk.group()
        why = "because a comment" if comment else "because a blank"
        why += " follows the backslash"
    else:
        cause = text.span(max(victim.end_byte - 1, 0), victim.end_byte)
        why = "because no backslash joins the lines"
        if "#" in gap:
            why = "because a comment stands between the lines"
    return Lost(
        span=text.place(first),
        cause=cause,
        why=why,
        flags=tuple(flags),
        joined=joined[:2000],
        start_byte=victim.start_byte,
        end_byte=last.end_byte,
    )


def _listed(flags: tuple[str, ...]) -> str:
    shown = ", ".join(flags[:8])
    return shown if len(flags) <= 8 else f"{shown} and {len(flags) - 8} more"
