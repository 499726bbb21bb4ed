"""Programs whose readings are proven by a run, and misreadings that a run contradicts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = re.compile(r"^## (.+)\n\n```python (\w+)\n((?:(?!```).*\n)*)```\n((?:\n?- .*\n)*)", re.M)


@dataclass(frozen=True)
class Program:
    """A script; `misread`: wrong values of fields of its recipe."""

    framework: str
    text: str
    misread: Mapping[str, Any]


def _misread(lines: str) -> Mapping[str, Any]:
    values = {path: json.loads(text) for path, text in re.findall(r"^- (\S+): (.*)$", lines, re.M)}
    return {k: tuple(value) if isinstance(value, list) else value for k, value in values.items()}


_TEXT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
PROGRAMS = {
    name: Program(framework, text, _misread(lines))
    for name, framework, text, lines in _PROGRAM.findall(_TEXT)
}
