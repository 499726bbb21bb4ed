"""Models of the example `gpt` that compute in other types, and rewrites that do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from changed_programs import Change, Edit, changes_in


@dataclass(frozen=True)
class TypePlant:
    """A change of a model. `kind` and `place`: parts of what is said of it, empty for a rewrite.

    `options`: of the autocast around the model.
    """

    name: str
    framework: str
    edits: tuple[Edit, ...]
    kind: str = ""
    place: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


def _plant(change: Change) -> TypePlant:
    framework, kind, place, options = map(change.field, range(4))
    return TypePlant(change.name, framework, change.edits, kind, place, json.loads(options or "{}"))


PLANTS, REWRITES = (
    tuple(map(_plant, changes))
    for changes in list(changes_in(Path(__file__).with_suffix(".diff")).values())[1:]
)
