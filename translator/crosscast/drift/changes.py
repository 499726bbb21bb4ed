"""What changed between two observed releases of a package."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from crosscast.drift.observations import (
    ABSENT,
    UNKNOWN,
    Kind,
    Observations,
    observations,
    packages,
)
from crosscast.messages.diagnostics import failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A name or a fact that is not the same in all releases from one to another."""

    kind: Kind
    name: str
    text: str
    """What a fact asks; empty for a signature."""
    steps: tuple[tuple[str, Any], ...]
    """Release and value: of the first release, then wherever the value changed."""

    @property
    def added(self) -> bool:
        """Whether the first release does not have the name."""
        return self.kind == "signature" and self.steps[0][1] is ABSENT

    @property
    def removed(self) -> bool:
        """Whether the last release does not have the name."""
        return self.kind == "signature" and self.steps[-1][1] is ABSENT


def observed(package: str) -> Observations:
    """Return the observations of a package.

    Raises:
        DiagnosticError: nothing was observed of it (CC980).
    """
    if package not in packages():
        message = f"no releases of {package!r} were observed"
        raise failure("CC980", message, f"observed are {', '.join(packages())}")
    return observations(package)


def release_of(history: Observations, wanted: str) -> str:
    """Return the newest observed release that a version is, or begins: 3.4 is 3.4.1.

    Raises:
        DiagnosticError: none of them was observed (CC980).
    """
    for release in reversed(history.releases):
        if release == wanted or release.startswith(f"{wanted}."):
            return release
    message = f"{history.package} {wanted} was not observed"
    raise failure("CC980", message, f"observed are {', '.join(history.releases)}")


def changes(history: Observations, since: str, until: str, pattern: str = "*") -> list[Change]:
    """Return the changes from one observed release to a later one.

    Args:
        history: the observations.
        since: the first release.
        until: the last release.
        pattern: glob pattern of names; a word stands for all names that contain it.
    """
    if not any(sign in pattern for sign in "*?["):
        pattern = f"*{pattern}*"
    between = history.releases[history.releases.index(since) : history.releases.index(until) + 1]
    result = []
    for timeline in history.timelines:
        if not fnmatchcase(timeline.name.lower(), pattern.lower()):
            continue
        first = timeline.at(since, history.releases)
        later = [(at, value) for at, value in timeline.values if at in between and at != since]
        if later and first is not UNKNOWN:
            steps = ((since, first), *later)
            result.append(
                Change(kind=timeline.kind, name=timeline.name, text=timeline.text, steps=steps)
            )
    return result


def parameters_changed(before: str, after: str) -> Iterator[str]:
    """Yield the parameters that a signature lost (`-name`) and gained (`+name=default`)."""
    old, new = _split(before), _split(after)
    for line in difflib.ndiff(old, new):
        if line[0] in "-+":
            yield f"{line[0]}{line[2:]}"


def _split(signature: str) -> list[str]:
    """Split a signature at the commas that are outside of brackets and strings."""
    parts, depth, quoted, start = [], 0, "", 0
    for place, sign in enumerate(signature):
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "'\"":
            quoted = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and not depth:
            parts.append(signature[start:place].strip())
            start = place + 1
    return [part for part in (*parts, signature[start:].strip()) if part]
