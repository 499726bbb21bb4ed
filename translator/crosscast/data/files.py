"""Write the files of a command atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crosscast.messages.diagnostics import Collector, Diagnostic, DiagnosticError


def write_files(contents: Mapping[Path, bytes], *, force: bool = False) -> None:
    """Write every file to a temporary file next to it, then move all of them into place.

    Missing folders are created. A reader never sees an incomplete file.

    Args:
        contents: the bytes of each file by its path.
        force: replace files that exist.

    Raises:
        DiagnosticError: CC501 for each file that exists if `force` is false; CC502 for an error of
            the system. Nothing has changed then, except that with `force` some files may have been
            replaced if a move fails, which is the last step.
    """
    if not force:
        _refuse_existing(contents)
    pending = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in contents}
    try:
        for path, temporary in pending.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(contents[path])
        for path, temporary in pending.items():
            temporary.replace(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC502", message=message)) from error
    finally:
        for temporary in pending.values():
            _discard(temporary)


def _refuse_existing(paths: Mapping[Path, bytes]) -> None:
    collect = Collector()
    for path in paths:
        if os.path.lexists(path):
            message = f"{path} already exists"
            collect.add(Diagnostic(code="CC501", message=message, hint="--force replaces it"))
    collect.raise_errors()


def _discard(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        # The folder may be a file or missing; the first error is the relevant one.
        return
