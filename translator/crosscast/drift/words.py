"""Changes between releases in words, for a terminal and for the docs page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from crosscast.drift.changes import Change, parameters_changed
from crosscast.drift.observations import ABSENT

_LONG = 60
_SHOWN = 4
"""Items of a long list that are printed."""


def lines_of(change: Change) -> Iterator[str]:
    """Yield a name with what a fact asks, and a line for each of its `steps_of`."""
    yield f"{change.name}: {change.text}" if change.text else change.name
    width = max(len(release) for release, _ in change.steps)
    for release, text in steps_of(change):
        yield f"  {release:<{width}}  {text}"


def steps_of(change: Change) -> Iterator[tuple[str, str]]:
    """Yield releases, each with its answer or with the parameters that a name lost and gained."""
    if change.kind == "behavior":
        for release, value in change.steps:
            yield release, value_text(value)
    else:
        for (_, before), (release, after) in zip(change.steps, change.steps[1:], strict=False):
            yield release, _step_text(before, after)


def _step_text(before: str | None, after: str | None) -> str:
    """Return the change of a signature from one release to the next, in words."""
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
    if len(text) > _LONG and isinstance(value, list) and len(value) > _SHOWN:
        begin, end = json.dumps(value[: _SHOWN - 1])[1:-1], json.dumps(value[-1])
        return f"[{begin}, ..., {end}] ({len(value)})"
    return text


def counts(changes: Sequence[Change]) -> str:
    """Return how many changes of each kind there are, in one line."""
    behavior = sum(change.kind == "behavior" for change in changes)
    added = sum(change.added for change in changes)
    removed = sum(change.removed and not change.added for change in changes)
    changed = len(changes) - behavior - added - removed
    return f"{behavior} of behavior, {changed} of parameters, {added} new names, {removed} gone"
