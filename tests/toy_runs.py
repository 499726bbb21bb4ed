"""Runs of the toy by a script that is the reference interpreter, but for what a test changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Op, Plan
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import DataRow, State, initial, step
from crosscast_parity.inside.toy import plain
from crosscast_parity.planning.stages import toy_stages
from crosscast_parity.toy.bounds import tensors
from crosscast_parity.toy.compare import Report, Seen, compare
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.model import ROLES, SHAPES, Toy, make_toy

COLUMNS = ("window", "n_micro", "rows", "tokens", "loss", "lr", "grad_norm", "scale", "skipped")
Steps = Callable[[Plan, int], Plan]
"""What a script means in a window, given what its recipe means."""
Left = Callable[[State, State, DataRow], tuple[State, DataRow]]
"""What a window leaves, given the state before it and what the reference makes of both."""


def as_meant(plan: Plan, number: int) -> Plan:
    return plan


def as_left(before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
    return after, row


@dataclass(frozen=True)
class ToyTrained:
    """A run of the toy, and its comparison with the recipe that it claims to follow."""

    recipe: Recipe
    toy: Toy
    seen: Seen
    report: Report


def toy_trained(
    recipe: Recipe, *, active: bool = False, steps: Steps = as_meant, left: Left = as_left
) -> ToyTrained:
    """Train the toy of a check, of the recipe's own values or with every feature active."""
    if (steps, left) == (as_meant, as_left):
        clean = _clean(recipe.model_dump_json(), active)
        return replace(clean, seen=copied(clean.seen))
    return _trained(recipe, active, steps, left)


@cache
def _clean(recipe: str, active: bool) -> ToyTrained:
    return _trained(Recipe.model_validate_json(recipe), active, as_meant, as_left)


def _trained(recipe: Recipe, active: bool, steps: Steps, left: Left) -> ToyTrained:
    stage = toy_stages()[int(active)]
    derived = stage.derive(recipe)
    toy, plan = make_toy(derived, course_of(derived, stage)), canonical_plan(derived)
    seen = train(plan, toy, steps, left)
    return ToyTrained(derived, toy, seen, compare(plan, toy, seen, "torch"))


def copied(seen: Seen) -> Seen:
    """Return rows and tensors that may be changed: others hold the arrays, too."""
    return replace(
        seen,
        rows=[dict(row) for row in seen.rows],
        counters=list(seen.counters),
        tensors=[dict(held) for held in seen.tensors],
    )


def train(plan: Plan, toy: Toy, steps: Steps = as_meant, left: Left = as_left) -> Seen:
    """Return what a worker would have seen."""
    state, rows, held = initial(plan, toy.parameters), [], []
    counters: list[tuple[int | None, int | None]] = []
    for number in range(len(toy.windows)):
        state, row = left(state, *step(steps(plan, number), state, toy.work(number), ROLES))
        rows.append({name: getattr(row, name) for name in (*COLUMNS, "updates")})
        counters.append((state.scale.good, state.scale.bad))
        held.append({name: np.array(array) for name, array in tensors(state).items()})
    return Seen(rows, counters, held, {name: name for name in SHAPES})


def write_steps(seen: Seen, folder: Path) -> None:
    """Write what `inside.toy` leaves in the folder of a run."""
    there = folder / "steps"
    there.mkdir(parents=True)
    told = {"names": seen.names, "float32_betas": seen.float32_betas}
    answer = {"rows": seen.rows, "counters": seen.counters, **told}
    (there / "steps.json").write_text(json.dumps(plain(answer)))
    keys = {key for held in seen.tensors for key in held}
    numbers = {key: [n for n, held in enumerate(seen.tensors) if key in held] for key in keys}
    arrays = {
        key: np.stack([seen.tensors[n][key] for n in found]) for key, found in numbers.items()
    }
    arrays |= {f"windows/{key}": np.array(found) for key, found in numbers.items()}
    np.savez(there / "steps.npz", **arrays)  # type: ignore[arg-type]


def with_op(plan: Plan, kind: type[Op], **changes: object) -> Plan:
    """Return a plan with other settings of one of its operations."""

    def change(op: Op) -> Op:
        return replace(op, **changes) if isinstance(op, kind) else op

    return Plan(micro=tuple(map(change, plan.micro)), window=tuple(map(change, plan.window)))
