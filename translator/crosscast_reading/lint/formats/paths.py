"""Paths and URIs for code scanning services."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from urllib.parse import quote


def relative(file: str) -> tuple[str, bool]:
    """Return a path relative to the current folder with forward slashes, and whether it is below.

    A path outside of the folder is returned as an absolute path.
    """
    path = Path(os.path.normpath(file))
    if path.is_absolute():
        folder = Path.cwd()
        if not path.is_relative_to(folder):
            return path.as_posix(), False
        path = path.relative_to(folder)
    if path.parts and path.parts[0] == "..":
        return PurePath(os.path.normpath(path.absolute())).as_posix(), False
    return PurePath(path).as_posix(), True


def uri(file: str) -> tuple[str, bool]:
    """Return a path as a percent-encoded URI reference, and whether it is a relative one."""
    path, below = relative(file)
    encoded = quote(path.encode("utf-8", "surrogateescape"), safe="/")
    if below:
        # A colon in the first part would be read as a scheme; `quote` has encoded it.
        return encoded, True
    return f"file://{'' if encoded.startswith('/') else '/'}{encoded}", False
