"""Cache the bytecode of templates in the user's cache folder.

Bytecode is loaded only from files that belong to the user and that others cannot write: another
user cannot plant it. Where there is no such folder, templates are compiled in every process.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import stat
import sys
import tempfile
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache


def cache_folder() -> Path | None:
    """Return the user's folder for bytecode; it need not exist.

    None if the user has no home, or if files have no owners (Windows).
    """
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    has_owner = root.is_absolute() and hasattr(os, "geteuid")
    return root / "crosscast" / "templates" if has_owner else None


class TemplateCache(BytecodeCache):
    """One file of bytecode per template, named after the template's path.

    A file also holds a checksum of everything that its bytecode depends on: the text of the
    template, the versions of jinja2 and Python, and the module with the environment's options and
    filters: jinja2 evaluates filters of constants when it compiles a template.
    """

    def __init__(self, folder: Path, module: Path) -> None:
        self._folder = folder
        self._versions = sha1(importlib.util.MAGIC_NUMBER + jinja2.__version__.encode())
        self._versions.update(module.read_bytes())

    def get_source_checksum(self, source: str) -> str:
        """Return the checksum of a template's text and of what else its bytecode depends on."""
        checksum = self._versions.copy()
        checksum.update(source.encode())
        return checksum.hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if the cache has its bytecode."""
        content = _read_private(f"{self._folder}/{bucket.key}")
        checksum = bucket.checksum.encode()
        if content.startswith(checksum):
            with suppress(EOFError, ValueError, TypeError):  # a damaged file
                bucket.code = marshal.loads(memoryview(content)[len(checksum) :])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the bucket's bytecode, unless Python is told to write none or the disk refuses."""
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._folder) as unfinished:
                file = Path(unfinished) / bucket.key
                file.touch(mode=0o600)
                file.write_bytes(bucket.checksum.encode() + marshal.dumps(bucket.code))
                file.replace(self._folder / bucket.key)


def _read_private(file: str) -> bytes:
    """Return the content of a file of the user's that no other user may write; else nothing."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return b""
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return b""
        return os.read(descriptor, status.st_size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
