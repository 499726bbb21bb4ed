"""What a lifted recipe says of a field, beside what the program does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from crosscast_reading.lift.drafting import NAMES, Lifted

Verdict = Literal["right", "FILL IN", "wrong", "unjudged"]
WITHOUT_TRAINING = (
    *(*NAMES, "model", "data", "metrics", "launch", "tracking", "overrides"),
    "loss.target",
)
"""Beginnings of fields that say nothing of the training step, or name code of the user."""
NO_EFFECT = "*"
"""The true value of a field that changes nothing in the program: any value is right."""
HEADS = ("name", "kind", "mode", "strategy")
ROWS = (
    "batch.micro_batch_size",
    "accumulation.steps",
    "distributed.nodes",
    "distributed.processes_per_node",
)
"""What the rows of an update are computed from, where the recipe leaves them out."""


def judged(lifted: Lifted, truth: Mapping[str, Any]) -> Iterator[tuple[str, Verdict, Any]]:
    """Yield field, verdict and value for every field that the truth names or the recipe says.

    Args:
        lifted: What was read.
        truth: Field to its true value; None where the program decides at run time or a recipe
            has no word for it, `none` for an absent value, `{"one_of": [...]}` for values that
            do the same, `*` where nothing depends on it.
    """
    full = _flat(lifted.recipe.model_dump(mode="json")) if lifted.recipe is not None else {}
    for path, value in truth.items():
        filled = lifted.fields.get(path)
        if filled is not None:
            said: Any = filled.value
            left_open = filled.how == "assumed"
        else:
            if path not in full:
                continue
            said, left_open = full[path], _head_is_open(path, lifted)
        if left_open:
            yield path, "FILL IN", said
        else:
            yield path, "right" if agrees(said, value) else "wrong", said
    for path, filled in lifted.fields.items():
        said_for_sure = filled.how != "assumed" and not path.startswith(WITHOUT_TRAINING)
        if said_for_sure and path not in truth:
            left_open = _head_is_open(path, lifted)
            yield path, "FILL IN" if left_open else "unjudged", filled.value


def agrees(said: Any, true: Any) -> bool:
    """Whether a value is the true one."""
    if true == NO_EFFECT:
        return True
    if isinstance(true, Mapping):
        return any(agrees(said, each) for each in true["one_of"])
    if true is None:
        return False
    if true == "none" and said is None:
        return True
    if isinstance(true, list):
        return (
            isinstance(said, list | tuple)
            and len(said) == len(true)
            and all(agrees(one, other) for one, other in zip(said, true, strict=True))
        )
    if isinstance(true, bool) or isinstance(said, bool):
        return said is true
    if isinstance(true, int | float) and isinstance(said, int | float):
        return math.isclose(said, true, rel_tol=1e-6)
    return bool(said == true)


def _head_is_open(path: str, lifted: Lifted) -> bool:
    """Whether the name or kind of a section is a FILL IN, which covers the rest of it."""
    section = path.rpartition(".")[0]
    heads = [f"{section}.{head}" for head in HEADS]
    if path == "batch.global_batch_size":
        heads = [*ROWS]
    elif path == "schedule.warmup_ratio":
        heads.append("schedule.warmup_steps")
    filled = (lifted.fields.get(head) for head in heads)
    return any(head is not None and head.how == "assumed" for head in filled)


def _flat(nested: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat
