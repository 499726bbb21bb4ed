"""Package versions pinned by a requirements file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from crosscast.messages.source import Source

_PIN = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z][\w.-]*+)(\[[^\]\n]*\])?[ \t]*===?[ \t]*(?P<version>\d[\w.+]*)", re.M
)
_WINDOW = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z][\w.-]*+)(\[[^\]\n]*\])?[ \t]*(?:~=[ \t]*(?P<near>\d[\w.]*)"
    r"|>=[ \t]*(?P<low>\d[\w.]*)[ \t]*,[ \t]*<=?[ \t]*\d"
    r"|<=?[ \t]*\d[\w.]*[ \t]*,[ \t]*>=[ \t]*(?P<low2>\d[\w.]*))",
    re.M,
)
"""A version range with an upper bound, represented by its lower bound."""
_SAME = {
    "tensorflow-gpu": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "paddlepaddle-gpu": "paddlepaddle",
}
"""Distributions that provide a package with another name."""


def is_requirements(name: str) -> bool:
    """Whether a file is a list of requirements, by its name."""
    path = PurePath(name)
    return path.suffix == ".txt" and path.name.startswith("requirements")


def pinned(sources: Iterable[Source]) -> dict[str, str]:
    """Return package to version, for exact pins and for ranges with an upper bound.

    The first file with a pin wins; a range is represented by its lower bound.
    """
    versions: dict[str, str] = {}
    for source in sources:
        for match in _PIN.finditer(source.text):
            name = match["name"].lower().replace("_", "-")
            versions.setdefault(_SAME.get(name, name), match["version"])
        for match in _WINDOW.finditer(source.text):
            name = match["name"].lower().replace("_", "-")
            version = match["near"] or match["low"] or match["low2"]
            versions.setdefault(_SAME.get(name, name), version)
    return versions
