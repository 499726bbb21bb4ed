"""The lint settings in pyproject.toml: `[tool.crosscast.lint]`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import DiagnosticError, failure

NAME = "pyproject.toml"
_KEYS = ("select", "ignore", "exclude", "per-file-ignores")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of a project. Words are codes, code prefixes, names of rules, or ALL."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: str = ""
    """The folder of the file; patterns are relative to it."""


def find_config(start: Path) -> Config:
    """Return the settings of the nearest pyproject.toml with any, in a folder or its parents.

    Raises:
        DiagnosticError: CC952 for invalid settings.
    """
    for folder in (start.absolute(), *start.absolute().parents):
        path = folder / NAME
        if path.is_file():
            table = _table(path)
            if table is not None:
                return _config(table, path)
    return Config()


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        text = path.read_bytes().decode("utf-8")
        if "crosscast" not in text:
            return None
        data: Any = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _fail(f"{path}: {error}") from None
    for key in ("tool", "crosscast", "lint"):
        data = data.get(key) if isinstance(data, dict) else None
    if data is None:
        return None
    if not isinstance(data, dict):
        raise _fail(f"{path}: tool.crosscast.lint is not a table")
    return data


def _config(table: Mapping[str, Any], path: Path) -> Config:
    for key in table:
        if key not in _KEYS:
            import difflib

            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it may have {', '.join(_KEYS)}"
            raise _fail(f"{path}: tool.crosscast.lint has no setting {key!r}", hint)
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise _fail(f"{path}: per-file-ignores is not a table of lists")
    return Config(
        select=_words(table.get("select", []), "select", path),
        ignore=_words(table.get("ignore", []), "ignore", path),
        exclude=_words(table.get("exclude", []), "exclude", path),
        per_file={
            pattern: _words(words, f"per-file-ignores of {pattern}", path)
            for pattern, words in per_file.items()
        },
        root=str(path.parent),
    )


def _words(value: Any, name: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise _fail(f"{path}: {name} is not a list of strings")
    return tuple(value)


def _fail(message: str, hint: str = "") -> DiagnosticError:
    return failure("CC952", message, hint)
