"""Changes between releases in words, for a terminal and for the docs page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from crosscast.drift.changes import Change, parameters_changed
from crosscast.drift.observations import ABSENT

_LONG = 60


def behavior_lines(change: Change) -> Iterator[str]:
    """Yield what a fact asks, and a line for each release with another answer."""
    yield f"{change.name}: {change.text}"
    width = max(len(release) for release, _ in change.steps)
    for release, value in change.steps:
        yield f"  {release:<{width}}  {value_text(value)}"


def signature_lines(change: Change) -> Iterator[str]:
    """Yield a name, and for each release the parameters that it lost and gained."""
    yield change.name
    width = max(len(release) for release, _ in change.steps)
    for (_, before), (release, after) in zip(change.steps, change.steps[1:], strict=False):
        yield f"  {release:<{width}}  {step_text(before, after)}"


def step_text(before: str | None, after: str | None) -> str:
    """Return what happened to a signature from one release to the next."""
    if before is ABSENT:
        return "new"
    if after is ABSENT:
        return "gone"
    return " ".join(parameters_changed(before, after)) or "another order"


def value_text(value: Any) -> str:
    """Return an answer in one line; a long list by its beginning and its end."""
    if isinstance(value, str):
        return value
    text = json.dumps(value)
    if len(text) > _LONG and isinstance(value, list):
        begin, end = json.dumps(value[:3])[1:-1], json.dumps(value[-1])
        return f"[{begin}, ..., {end}] ({len(value)})"
    return text


def counts(found: Sequence[Change]) -> str:
    """Return how many changes of each kind there are, in one line."""
    behavior = sum(change.kind == "behavior" for change in found)
    added = sum(change.added for change in found)
    removed = sum(change.removed and not change.added for change in found)
    changed = len(found) - behavior - added - removed
    return f"{behavior} of behavior, {changed} of parameters, {added} new names, {removed} gone"
