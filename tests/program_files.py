"""Markdown files of programs: entries of a title, a program, and values in JSON by name.

## keras fit

```python tensorflow
...
```

- optimizer.momentum: 0.8

Below the first heading may stand prose. Anything else is an error: no program is left out in
silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ENTRY = re.compile(r"^## (.+)\n\n```\w+ (\S+)\n((?:(?!```).*\n)*)```\n((?:\n?- .*\n)*)", re.M)
_VALUE = re.compile(r"- (\S+): (.*)")
_FILE = re.compile(r"^```\w+ (\S+)\n((?:(?!```).*\n)*)```", re.M)


@dataclass(frozen=True)
class Entry:
    """A program. `of`: the end of its info string; `values`: by name, lists are tuples."""

    title: str
    of: str
    text: str
    values: Mapping[str, Any]


def entries_of(path: Path) -> list[Entry]:
    """Return the programs of a file.

    Raises:
        ValueError: There is something else in it, or one title twice, or no program.
    """
    text = path.read_text(encoding="utf-8")
    found = _ENTRY.findall(text)
    prose, *others = _ENTRY.sub("\0", text).split("\0")
    stray = re.search(r"^(##|```|- ).*", prose, re.M) or re.search(r"\S.*", "".join(others))
    _refuse(path, stray, [title for title, *_ in found])
    return [
        Entry(title, framework, program, _values(path, lines))
        for title, framework, program, lines in found
    ]


def _values(path: Path, lines: str) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    for line in filter(None, lines.splitlines()):
        value = _VALUE.fullmatch(line)
        if value is None or value[1] in values:
            raise ValueError(f"{path.name}: no value, or one of a name before: {line!r}")
        read = json.loads(value[2])
        values[value[1]] = tuple(read) if isinstance(read, list) else read
    return values


def files_in(path: Path) -> dict[str, str]:
    """Return the files of a program by name.

    Raises:
        ValueError: A block of code has no name, or that of another, or there is none.
    """
    text = path.read_text(encoding="utf-8")
    found = _FILE.findall(text)
    stray = re.search(r"^```.*", _FILE.sub("", text), re.M)
    _refuse(path, stray, [name for name, _ in found])
    return dict(found)


def _refuse(path: Path, stray: re.Match[str] | None, names: Sequence[str]) -> None:
    """Refuse what belongs to no program, and names that are not unique or not there."""
    if stray:
        raise ValueError(f"{path.name}: belongs to no program: {stray[0]!r}")
    if not names or len({*names}) < len(names):
        raise ValueError(f"{path.name}: no programs, or two of one name: {names}")
