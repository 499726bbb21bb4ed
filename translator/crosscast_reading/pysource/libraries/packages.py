"""Packages that training programs import, and the framework that each is of.

A name of a program is judged by the package that it starts with: `torch.optim.AdamW` is of
PyTorch, `apex.amp.initialize` of something that is built on it.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import all_words

TABLE = tuple(row for words in all_words() for row in words.packages)
"""The frameworks that readers tell apart."""

OWN = frozenset(package for row in TABLE for package in row.own)
"""The packages of the frameworks themselves."""
KNOWN = OWN.union(*(row.known for row in TABLE))
"""Packages whose calls hide no training: readers know what each does."""
TRAINING = frozenset(
    package for row in TABLE if row.is_read for package in (*row.own, *row.known, *row.around)
)
"""A program whose training is read imports one of these packages."""
USUAL_NAMES = {name: row.own[0] for row in TABLE if row.own for name in (row.own[0], *row.aliases)}
"""The name that programs import a framework under, with its package: `tf` for `tensorflow`."""
_FRAMEWORK = {
    package: row.name
    for row in TABLE
    for package in (*row.own, *row.known, *row.around, *row.aliases)
}


def framework_of_name(name: str) -> str:
    """Return the framework that a dotted name is of; empty if it is of none or of several."""
    return _FRAMEWORK.get(package_of_name(name), "")


def is_of_framework(name: str) -> bool:
    """Whether a dotted name is one of a framework itself, not of what is built on it."""
    return package_of_name(name) in OWN


def is_foreign(name: str, framework: str) -> bool:
    """Whether a dotted name is of another framework than one."""
    return framework_of_name(name) not in ("", framework)


def package_of_name(name: str) -> str:
    """Return the package that a dotted name starts with: `torch` of `torch.optim.AdamW`."""
    return name.partition(".")[0]


def packages_of(framework: str) -> frozenset[str]:
    """Return the packages of a framework, with those that are built on it."""
    rows = (row for row in TABLE if row.name == framework)
    return frozenset(package for row in rows for package in (*row.own, *row.known, *row.around))
