"""The bugs: name, what it is, the recipe field it mistakes, and the levels that should see it.

One bug has one name in every framework; `bugs` reads the edits, written with `spelling`, from its
modules. Left out is what needs several processes (the sum instead of the mean over replicas is a
wrong division here, `sum_loss`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import cast

from crosscast_parity.checks.kinds import LEVELS, Level


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug in words.

    `field`: recipe path of which it is another value; empty if no value of one field says what it
    does. `expected`: levels that catch it; the first one says most about the cause. `half`: it
    exists in half precision only.
    """

    name: str
    title: str
    field: str
    expected: tuple[Level, ...]
    half: bool = False


def _bug(line: str) -> Bug:
    name, levels, field, title = re.split("  +", line)
    expected = tuple(cast("Level", level) for level in levels.split(" "))
    assert set(expected) <= {*LEVELS}, line
    return Bug(
        name=name.removesuffix("*"),
        title=title,
        field="" if field == "-" else field,
        expected=expected,
        half=name.endswith("*"),
    )


_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
GROUPS = {
    name: tuple(_bug(line) for line in lines.splitlines() if not line.startswith("#"))
    for name, lines in re.findall(r"^\[(\w+)\]\n((?:.+\n)*)", _TEXT, re.MULTILINE)
}
BUGS = {bug.name: bug for bug in chain.from_iterable(GROUPS.values())}
"""All bugs by name."""
