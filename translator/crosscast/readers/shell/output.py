"""The output of commands without side effects: `expr`, `echo`, counting devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crosscast.readers.shell.arithmetic import calculate
from crosscast.readers.shell.text import Piece, Word, joined, places_of, shown, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from crosscast.readers.shell.expand import Expander

_COUNTS_FIELDS = re.compile(r"awk\s+-F\s*[\"']?,[\"']?\s+['\"]\{\s*print\s+NF;?\s*\}['\"]")
_COUNTS_LINES = re.compile(r"tr\s+[\"']?,[\"']?\s+[\"']\\n[\"']\s*\|\s*wc\s+-l")
_COUNTS_COMMAS = re.compile(r"grep\s+-o\s+[\"']?,[\"']?\s*\|\s*wc\s+-l")
_SELF = r"[\"']?\$(0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(\[0\])?(:-\$0)?\})[\"']?"
_DIRNAME = (
    r"(\$\(|`)\s*dirname (-- )?(\$\(\s*(realpath|readlink -f) )?" + _SELF + r"\s*\)?\s*(\)|`)"
)
_HERE = re.compile(
    rf"{_DIRNAME}|(\$\(|`)\s*cd (-P )?(-- )?[\"']?{_DIRNAME}[\"']?(/\.)?( >/dev/null( 2>&1)?)?"
    r"\s*(&&|;)\s*pwd( -P)?\s*(\)|`)"
)
"""Expressions for the folder of the script."""


def output_of(node: Node, expander: Expander) -> Word | None:
    """Return the output of a command substitution, None if unknown."""
    if _HERE.fullmatch(" ".join(expander.text.of(node).split())):
        return (Piece(text=".", span=expander.text.place(node)),)
    inner = [c for c in node.children if c.is_named and c.type != "comment"]
    if len(inner) != 1:
        return None
    text = expander.text
    command = inner[0]
    if command.type == "pipeline":
        return _count(command, node, expander)
    if command.type != "command":
        return None
    words = [w for c in command.children for w in expander.words(c)]
    name = text_of(words[0]) if words else None
    if name == "echo":
        rest = words[1:]
        if rest and text_of(rest[0]) in ("-n", "-e"):
            rest = rest[1:]
        return joined(rest, text.place(node))
    if name != "expr":
        return None
    formula = " ".join(shown(word) for word in words[1:])
    value = calculate(formula, lambda _: None) if all(map(_known, words)) else None
    if value is None:
        return None
    via = tuple(dict.fromkeys(p for word in words[1:] for p in places_of(word)))
    return (Piece(text=str(value), span=text.place(node), via=via[:4], origin="derived"),)


def _count(pipeline: Node, node: Node, expander: Expander) -> Word | None:
    """Return the number of comma-separated entries that a pipeline counts."""
    first = next((c for c in pipeline.children if c.is_named), None)
    if first is None or first.type != "command":
        return None
    words = [w for c in first.children for w in expander.words(c)]
    if len(words) != 2 or text_of(words[0]) != "echo" or not (listed := text_of(words[1])):
        return None
    rest = expander.text.slice(first.end_byte, pipeline.end_byte)
    entries = len(listed.split(","))
    if _COUNTS_FIELDS.search(rest) or _COUNTS_LINES.search(rest):
        number = entries
    elif _COUNTS_COMMAS.search(rest):
        number = entries - 1
    else:
        return None
    place = expander.text.place(node)
    return (Piece(text=str(number), span=place, via=places_of(words[1]), origin="derived"),)


def _known(word: Word) -> bool:
    return text_of(word) is not None
