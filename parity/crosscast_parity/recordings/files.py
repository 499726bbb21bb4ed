"""Files that a contestant may have written: plain, small enough, JSON that can be printed."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO


def open_plain(path: Path) -> BinaryIO:
    """Open a regular file for reading, without waiting for the writer of a named pipe.

    Raises:
        OSError: It cannot be opened or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a plain file")
    return os.fdopen(descriptor, "rb")


def read_json(path: Path, most: int) -> Any:
    """Read a JSON document.

    Args:
        path: Its file.
        most: Largest number of bytes.

    Raises:
        ValueError: In words that follow the name of the file: what is wrong with it.
    """
    try:
        with open_plain(path) as stream:
            raw = stream.read(most + 1)
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from None
    if len(raw) > most:
        raise ValueError(f"is larger than {most} bytes")
    return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """Return a JSON document whose texts are Unicode: no half of a surrogate pair.

    Raises:
        ValueError: It is none; the words follow the name of the file.
    """
    try:
        document = json.loads(raw.decode("utf-8"))
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    return document
