"""The command `crosscast server`."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

from crosscast.messages.missing_packages import package_missing


def server() -> None:
    """Serve an editor by the Language Server Protocol, on standard input and output."""
    try:
        from crosscast.server.connection import Input
        from crosscast.server.protocol import make_server
    except ModuleNotFoundError as error:
        raise package_missing("the server needs", error, "server") from None
    make_server().start_io(cast(BinaryIO, Input(sys.stdin.buffer)))
