"""Markdown files of programs: entries of a title, a program, and values in JSON by name.

## keras fit

```python tensorflow
...
```

- optimizer.momentum: 0.8
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ENTRY = re.compile(r"^## (.+)\n\n```\w+ (\S+)\n((?:(?!```).*\n)*)```\n((?:\n?- .*\n)*)", re.M)

_FILE = re.compile(r"^```\w+ (\S+)\n((?:(?!```).*\n)*)```", re.M)


@dataclass(frozen=True)
class Entry:
    """A program. `of`: the end of its info string; `values`: by name, lists are tuples."""

    title: str
    of: str
    text: str
    values: Mapping[str, Any]


def entries_of(path: Path) -> list[Entry]:
    """Return the programs of a file."""
    found = _ENTRY.findall(path.read_text(encoding="utf-8"))
    return [
        Entry(title, framework, text, _values(lines)) for title, framework, text, lines in found
    ]


def _values(lines: str) -> Mapping[str, Any]:
    values = {name: json.loads(text) for name, text in re.findall(r"^- (\S+): (.*)$", lines, re.M)}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def files_in(path: Path) -> dict[str, str]:
    """Return the files of a program by name."""
    return dict(_FILE.findall(path.read_text(encoding="utf-8")))
