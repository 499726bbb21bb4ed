"""Parameter expansion `${...}` of known texts, and the values of variables where they are used."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import replace

from crosscast.messages.diagnostics import Span
from crosscast_reading.readers.shell.text import Piece, ShellText, Word


def raw(text: ShellText, start: int, end: int) -> Word:
    """Return text verbatim, one piece per line."""
    pieces: list[Piece] = []
    at = start
    for line in text.slice(start, end).splitlines(keepends=True):
        size = len(line.encode("utf-8", "replace"))
        pieces.append(Piece(text=line, span=text.span(at, at + len(line.rstrip("\n")))))
        at += size
    return tuple(pieces)


def used(word: Word, place: Span, *, quoted: bool) -> Word:
    """Return the value of a variable where it is used."""
    return tuple(
        replace(
            piece,
            via=piece.via if place in piece.via else (*piece.via[-6:], place),
            origin="shell_variable" if piece.origin == "literal" else piece.origin,
            splits=not quoted,
        )
        for piece in word
    )


def edited(text: str, rest: str) -> str | None:
    """Return a text after an operator of `${...}`, None if the operator is not understood."""
    if "$" in rest or "`" in rest:
        return None
    if replaced := re.fullmatch(r"/(/?)((?:\\.|[^/\\])+)(?:/(.*))?", rest, re.S):
        pattern = _pattern(replaced[2].replace("\\", ""))
        return re.sub(pattern, lambda _: replaced[3] or "", text, count=0 if replaced[1] else 1)
    if cut := re.fullmatch(r":\s*(\d+)(?::\s*(\d+))?", rest):
        start = int(cut[1])
        return text[start : start + int(cut[2])] if cut[2] else text[start:]
    if trimmed := re.fullmatch(r"(##?|%%?)(.+)", rest, re.S):
        glob = re.compile(_pattern(trimmed[2]) + r"\Z")
        ends = range(len(text) + 1)
        if trimmed[1].startswith("#"):
            order = reversed(ends) if len(trimmed[1]) == 2 else iter(ends)
            return next((text[i:] for i in order if glob.match(text[:i])), text)
        order = iter(ends) if len(trimmed[1]) == 2 else reversed(ends)
        return next((text[:i] for i in order if glob.match(text[i:])), text)
    if rest in ("^^", ",,"):
        return text.upper() if rest == "^^" else text.lower()
    return None


def _pattern(glob: str) -> str:
    return fnmatch.translate(glob).removesuffix(r"\Z").removesuffix(r"\z")
