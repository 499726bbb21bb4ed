"""The connection of the language server to its editor: what arrives may be anything."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol, lsp_method

MAX_BYTES = 64 << 20
"""Longer messages are left out: no document of an editor is as long."""
_LENGTH = re.compile(rb"Content-Length: ([0-9]+)\r\n\Z")


class Input:
    """Standard input without messages that are too long to be held."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """Return a header, an empty one in place of a length that is out of bounds.

        The text of such a message is read like headers, and what is no header is passed over.
        """
        line = self._stream.readline(MAX_BYTES)
        match = _LENGTH.search(line)
        if match is None:
            return line
        digits = match[1].lstrip(b"0")
        allowed = 0 < len(digits) <= 9 and int(digits) <= MAX_BYTES
        return match.group() if allowed else b"Ignored: 1\r\n"

    def read(self, length: int) -> bytes:
        """Return the body of a message."""
        return self._stream.read(length)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Protocol(LanguageServerProtocol):
    """The protocol with one start: a second one would lose the open documents."""

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Answer the first request to start; refuse the others."""
        if self._workspace is not None:
            raise JsonRpcInvalidRequest("the server has been initialized")
        return (yield from super().lsp_initialize(params))
