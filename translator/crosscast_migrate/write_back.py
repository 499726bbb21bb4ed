"""Writes the files that a migration in place changes and adds: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_migrate.in_place import InPlaceMigration
from crosscast_reading.sources.files import Text, path_of, write_together


def write_back(files: Mapping[str, Text], migrated: InPlaceMigration) -> list[Diagnostic]:
    """Write changed and added files; return why nothing was written (CC502), or nothing.

    Args:
        files: name to file, of all files read.
        migrated: the migration.
    """
    contents: dict[Path, bytes] = {}
    problems: list[Diagnostic] = []
    for name, text in migrated.texts.items():
        _prepare(contents, problems, files[name], text)
    for name, text in migrated.added.items():
        path = path_of(name)
        if not path.exists():
            contents[path.resolve()] = text.encode()
        elif path.read_bytes() != text.encode():
            problems.append(_unwritten(name, "the file exists with other content"))
    if not problems:
        try:
            write_together(contents)
        except DiagnosticError as error:
            problems += error.diagnostics
    return problems


def _prepare(
    contents: dict[Path, bytes], problems: list[Diagnostic], file: Text, text: str
) -> None:
    """Add what is to be written to `contents`, or why it cannot be to `problems`."""
    name, path = file.source.name, file.path.resolve()
    try:
        data = text.encode(file.encoding)
        if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
            problems.append(_unwritten(name, "the file is read-only"))
        elif path.read_bytes() != file.source.text.encode(file.encoding):
            problems.append(_unwritten(name, "the file was changed in the meantime"))
        elif contents.get(path, data) != data:
            problems.append(_unwritten(name, "two names of one file lead to different changes"))
        else:
            contents[path] = data
    except (OSError, UnicodeEncodeError) as error:
        problems.append(_unwritten(name, getattr(error, "strerror", None) or str(error)))


def _unwritten(name: str, why: str) -> Diagnostic:
    return Diagnostic(code="CC502", message=f"{name}: not written: {why}")
