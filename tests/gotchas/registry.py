"""What a naive translation of a training script gets wrong, and the tests that prove we do not.

`register.txt` names them: below the title of a mistake stand tests by their path below tests/ and
their function, and behind `danger:` the probes. Tests in tests/gotchas take the adaptation out of
the emitted code, or the refusal out of the tables, and see the result change; probes show that the
danger is real in the framework as it is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Gotcha:
    """One mistake. `tests` fail when the adaptation is removed, `probes` when the danger is."""

    number: int
    title: str
    tests: tuple[str, ...]
    probes: tuple[str, ...] = ()


def _gotchas(text: str) -> list[Gotcha]:
    found = []
    for part in re.split(r"^(?=\d)", text, flags=re.MULTILINE)[1:]:
        heading, *names = (line.strip() for line in part.splitlines())
        number, _, title = heading.partition(". ")
        probes = tuple(n.removeprefix("danger: ") for n in names if n.startswith("danger: "))
        tests = tuple(name for name in names if not name.startswith("danger: "))
        found.append(Gotcha(int(number), title, tests, probes))
    return found


GOTCHAS = _gotchas(Path(__file__).with_name("register.txt").read_text(encoding="utf-8"))
