"""The output of commands without side effects: `expr`, `echo`, counting devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crosscast_reading.readers.shell.arithmetic import calculate
from crosscast_reading.readers.shell.text import Piece, Word, joined, places_of, shown, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from crosscast_reading.readers.shell.expand import Expander

_COUNTS_FIELDS = re.compile(r"awk\s+-F\s*[\"']?,[\"']?\s+['\"]\{\s*print\s+NF;?\s*\}['\"]")
_COUNTS_LINES = re.compile(r"tr\s+[\"']?,[\"']?\s+[\"']\\n[\"']\s*\|\s*wc\s+-l")
_COUNTS_COMMAS = re.compile(r"grep\s+-o\s+[\"']?,[\"']?\s*\|\s*wc\s+-l")
_SELF = r"[\"']?\$(0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(\[0\])?(:-\$0)?\})[\"']?"
_DIRNAME = (
    r"(\$\(|`)\s*dirname (-- )?(\$\(\s*(realpath|readlink -f) )?" + _SELF + r"\s*+\)?\s*+(\)|`)"
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
    match node.children:
        case [_, command, _] if command.type == "pipeline":
            return _count(command, node, expander)
        case [_, command, _]:
            return _simple(command, node, expander)
    return None


def _simple(command: Node, node: Node, expander: Expander) -> Word | None:
    """Return the output of `echo`, `expr` and `pwd`."""
    place = expander.text.place(node)
    words = [w for c in command.children for w in expander.words(c)]
    match [text_of(word) for word in words]:
        case ["echo", "-n", *_]:
            return joined(words[2:], place)
        case ["echo", option, *_] if option is None or not option.startswith("-"):
            return joined(words[1:], place)
        case ["pwd"]:
            return (Piece(text=".", span=place),)
        case ["expr", *_]:
            value = calculate(" ".join(map(shown, words[1:])), lambda _: None)
            if value is not None:
                via = tuple(dict.fromkeys(p for word in words[1:] for p in places_of(word)))
                return (Piece(text=str(value), span=place, via=via[:4], origin="derived"),)
    return None


def _count(pipeline: Node, node: Node, expander: Expander) -> Word | None:
    """Return the number of comma-separated entries that a pipeline counts."""
    first = pipeline.children[0]
    words = [w for c in first.children for w in expander.words(c)]
    match [text_of(word) for word in words]:
        case ["echo", str(listed)] if listed:
            entries = len(listed.split(","))
        case _:
            return None
    rest = expander.text.slice(first.end_byte, pipeline.end_byte)
    if _COUNTS_FIELDS.search(rest) or _COUNTS_LINES.search(rest):
        number = entries
    elif _COUNTS_COMMAS.search(rest):
        number = entries - 1
    else:
        return None
    place = expander.text.place(node)
    return (Piece(text=str(number), span=place, via=places_of(words[1]), origin="derived"),)
