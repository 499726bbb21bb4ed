"""What was observed in releases of a package: data in `observed/`, read and written here.

A file has the releases in order, and for every name and every fact its values, each with the first
release it was observed in. It is written by `make drift`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Kind = Literal["behavior", "signature"]
ABSENT = None
"""Signature of a name that a release does not have."""
UNKNOWN = object()
"""Answer of a release that was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was observed of a fact or a name, release after release."""

    kind: Kind
    name: str
    """Dotted name for a signature, `group/name` for a fact."""
    text: str = ""
    """What the fact asks; empty for a signature."""
    values: tuple[tuple[str, Any], ...]
    """First release with a value, and the value; in order, no two neighbors are equal."""

    def at(self, release: str, releases: Sequence[str]) -> Any:
        """Return the value in an observed release; `UNKNOWN` for a fact that was not asked."""
        until = releases.index(release)
        latest: Any = ABSENT if self.kind == "signature" else UNKNOWN
        for since, value in self.values:
            if releases.index(since) <= until:
                latest = value
        return latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Everything observed of a package."""

    package: str
    releases: tuple[str, ...]
    """The releases that were observed, oldest first."""
    timelines: tuple[Timeline, ...]


@dataclass(slots=True, kw_only=True)
class Observation:
    """What one release showed."""

    signatures: dict[str, str] = field(default_factory=dict)
    """Dotted name to its parameters; names that the release does not have are missing."""
    facts: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """`group/name` to what is asked and the answer."""


@cache
def packages() -> tuple[str, ...]:
    """Return the packages with observations."""
    observed = files("crosscast.drift").joinpath("observed").iterdir()
    return tuple(sorted(path.name.removesuffix(".json") for path in observed))


@cache
def observations(package: str) -> Observations:
    """Return the observations of one of `packages()`."""
    text = files("crosscast.drift").joinpath("observed", f"{package}.json").read_text("utf-8")
    return decoded(package, json.loads(text))


def decoded(package: str, data: Mapping[str, Any]) -> Observations:
    """Return observations from the content of a file."""
    facts = [
        Timeline(kind="behavior", name=name, text=fact["text"], values=_pairs(fact["values"]))
        for name, fact in data["behavior"].items()
    ]
    names = [
        Timeline(kind="signature", name=name, values=_pairs(values))
        for name, values in data["signatures"].items()
    ]
    return Observations(
        package=package, releases=tuple(data["releases"]), timelines=(*facts, *names)
    )


def by_release(history: Observations) -> dict[str, Observation]:
    """Return observations release by release."""
    each: dict[str, Observation] = {}
    for release in history.releases:
        each[release] = Observation()
        for timeline in history.timelines:
            value = timeline.at(release, history.releases)
            if value is UNKNOWN or (value is ABSENT and timeline.kind == "signature"):
                continue
            if timeline.kind == "behavior":
                each[release].facts[timeline.name] = (timeline.text, value)
            else:
                each[release].signatures[timeline.name] = value
    return each


def encoded(each: Mapping[str, Observation]) -> dict[str, Any]:
    """Return the content of a file from the observations of releases, oldest first.

    A fact that a release was not asked is unknown there: it has no value before it was asked.
    """
    behavior: dict[str, Any] = {}
    for release, seen in each.items():
        for name, (text, value) in seen.facts.items():
            fact = behavior.setdefault(name, {"text": text, "values": []})
            fact["text"] = text
            if not fact["values"] or fact["values"][-1][1] != value:
                fact["values"].append([release, value])
    signatures: dict[str, list[list[Any]]] = {}
    for name in sorted({name for seen in each.values() for name in seen.signatures}):
        values: list[list[Any]] = []
        for release, seen in each.items():
            value = seen.signatures.get(name, ABSENT)
            if values[-1:] and values[-1][1] == value:
                continue
            if values or value is not ABSENT:
                values.append([release, value])
        signatures[name] = values
    return {"releases": list(each), "behavior": behavior, "signatures": signatures}


def _pairs(values: Sequence[Sequence[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((since, value) for since, value in values)
