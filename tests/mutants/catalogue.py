"""The bugs: name, what it is, the recipe field it mistakes, and the levels that should see it.

One bug has one name in every framework; `bugs` reads the edits, written with `spelling`, from its
modules. Left out is what needs several processes (the sum instead of the mean over replicas is a
wrong division here, `sum_loss`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
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


def groups_in(text: str) -> Mapping[str, tuple[Bug, ...]]:
    """Return the bugs of a catalogue by group.

    Raises:
        ValueError: A line is no bug, a level is unknown, a group is empty, or a name stands twice.
    """
    _, *parts = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)
    groups: dict[str, tuple[Bug, ...]] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        lines = [line for line in body.splitlines() if line and not line.startswith("#")]
        if not lines or name in groups:
            raise ValueError(f"two groups {name!r}, or no bug in it")
        groups[name] = tuple(map(_bug, lines))
    names = Counter(bug.name for bug in chain.from_iterable(groups.values()))
    if max(names.values(), default=0) != 1:
        raise ValueError(f"no bugs, or two of one name: {names.most_common(1)}")
    return groups


def _bug(line: str) -> Bug:
    parts = re.split("  +", line)
    levels = parts[1].split(" ") if len(parts) == 4 else []
    if not levels or not {*levels} <= {*LEVELS}:
        raise ValueError(f"no name, levels, field and title: {line!r}")
    name, _, field, title = parts
    return Bug(
        name=name.removesuffix("*"),
        title=title,
        field="" if field == "-" else field,
        expected=tuple(cast("Level", level) for level in levels),
        half=name.endswith("*"),
    )


GROUPS = groups_in(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
BUGS = {bug.name: bug for bug in chain.from_iterable(GROUPS.values())}
"""All bugs by name."""
