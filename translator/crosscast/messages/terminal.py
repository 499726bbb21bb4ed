"""The one place that everything printed passes: untrusted text cannot control the terminal.

Messages quote names of files, lines of source and what programs printed. Escape sequences in them
could recolor, erase or rewrite what a command says, and marks of writing direction could reorder
it. They are shown as `\\x1b` instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_CONTROLS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
"""C0 and C1 controls but tab and newline, marks of writing direction, invisible characters."""
_ESCAPED = re.compile(f"[{_CONTROLS}]")
_UNSTYLED = re.compile(f"(\\x1b\\[[0-9;]{{0,40}}m)|[{_CONTROLS}]")
"""The same, with colors and weights of letters, as rich writes them to a terminal."""


def escaped(text: str) -> str:
    """Return a text with its control characters as `\\x1b` or `\\u202e`; lines and tabs stay."""
    return _ESCAPED.sub(_escape, text)


def escaped_in_page(value: Any) -> Any:
    """Return a value of an HTML template with controls as on a terminal; markup stays markup."""
    if not isinstance(value, str):
        return value
    text = escaped(value)
    return type(value)(text) if hasattr(value, "__html__") else text


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


class EscapingStream:
    """A text stream that writes what is printed without control characters."""

    def __init__(self, stream: TextIO, *, styled: bool = False) -> None:
        self.stream = stream
        """What it writes to."""
        self.styled = styled
        """Whether a terminal is given styles, for text that was escaped before it was styled."""

    def write(self, text: str) -> int:
        """Write a text; return its length, as text streams do."""
        if self.styled and self.stream.isatty():
            self.stream.write(_UNSTYLED.sub(lambda match: match[1] or _escape(match), text))
        else:
            self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def plain_stream(stream: TextIO) -> TextIO:
    """Return the stream itself, for documents in pipes and what moves the cursor."""
    return stream.stream if isinstance(stream, EscapingStream) else stream


def styled_stream(stream: TextIO) -> TextIO:
    """Return the stream for the styles of text that is escaped already."""
    return cast(TextIO, EscapingStream(plain_stream(stream), styled=True))


def print_document(text: str) -> None:
    """Print a document to stdout: exactly into a pipe or a file, escaped on a terminal."""
    print(text, end="", file=sys.stdout if sys.stdout.isatty() else plain_stream(sys.stdout))


@contextmanager
def escaping(*, styled: bool = False) -> Iterator[None]:
    """Escape what is printed to stdout and stderr meanwhile; `styled` as for the streams."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast(
            TextIO,
            stream if stream is None else EscapingStream(plain_stream(stream), styled=styled),
        )
        for stream in before
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
