"""Variants of a recipe that need less memory and train the same.

The rows of a window never change: micro_batch_size x accumulation.steps x processes stays the
global batch, and the schedule counts windows. The mean of a window:

- `normalize_by: sample` and `token` divide sums by the size of the window, for any split.
- `microbatch` is a mean of means. While all micro-batches are equally long it is the mean over the
  rows. In a short last window of an epoch (`tail: flush*`) the last micro-batch may be shorter and
  then weighs more for each of its rows, which another split cannot repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Literal

from crosscast.recipe import rules
from crosscast.recipe.document import BertModel, Recipe

Meaning = Literal["same", "as_sample", "differs"]
"""Effect of a split on the mean of a window: none; none if expressed as a mean over rows; a change
of the short window at the end of an epoch."""
HALF_BYTES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to run the recipe."""

    micro_batch_size: int
    steps: int
    checkpointing: bool
    mode: str
    """`precision.mode`."""
    compute_dtype: str
    meaning: Meaning


def divisors(number: int) -> list[int]:
    """Return the divisors of a number in ascending order."""
    low = [index for index in range(1, isqrt(number) + 1) if number % index == 0]
    return sorted({*low, *(number // divisor for divisor in low)})


def own(recipe: Recipe) -> Candidate:
    """Return the unchanged recipe."""
    return Candidate(
        micro_batch_size=recipe.batch.micro_batch_size,
        steps=recipe.accumulation.steps,
        checkpointing=recipe.activation_checkpointing,
        mode=recipe.precision.mode,
        compute_dtype=recipe.precision.compute_dtype,
        meaning="same",
    )


def candidates(
    recipe: Recipe, *, native: Collection[str] = HALF_BYTES, precision: bool = False
) -> Iterator[Candidate]:
    """Yield every way to run a recipe.

    Args:
        recipe: The recipe.
        native: Half types that the device has; a recipe in another one cannot run there.
        precision: Also change the precision, which changes numbers.
    """
    rows = recipe.batch.global_batch_size // recipe.processes
    for mode, dtype in _precisions(recipe, native, precision):
        for checkpointing in _checkpointings(recipe):
            for micro in divisors(rows):
                yield Candidate(
                    micro_batch_size=micro,
                    steps=rows // micro,
                    checkpointing=checkpointing,
                    mode=mode,
                    compute_dtype=dtype,
                    meaning=meaning_of(recipe, micro),
                )


def _precisions(
    recipe: Recipe, native: Collection[str], precision: bool
) -> Iterator[tuple[str, str]]:
    mode, dtype = recipe.precision.mode, recipe.precision.compute_dtype
    runs = mode == "none" or dtype in native
    if runs:
        yield mode, dtype
    if precision and (mode == "none" or not runs):
        yield from (
            ("mixed" if mode == "none" else mode, half_type)
            for half_type in HALF_BYTES[::-1]
            if half_type in native
        )


def _checkpointings(recipe: Recipe) -> tuple[bool, ...]:
    """Only the layers of the shipped BERT are known to support checkpointing (CC210)."""
    if isinstance(recipe.model, BertModel):
        return (False, True)
    return (recipe.activation_checkpointing,)


def meaning_of(recipe: Recipe, micro: int) -> Meaning:
    """Return the effect of another micro-batch size on the mean of a window."""
    accumulation, now = recipe.accumulation, recipe.batch.micro_batch_size
    if micro == now or accumulation.normalize_by != "microbatch":
        return "same"
    if accumulation.tail in ("drop", "carry"):  # all windows are full
        return "same"
    short = _short_window(recipe)
    if short is None:
        return "differs"
    if short < recipe.processes:  # none, or too short for all processes and dropped
        return "same"
    before = _row_weights(recipe, short, now, by_row=False)
    if before == _row_weights(recipe, short, micro, by_row=False):
        return "same"
    return "as_sample" if before == _row_weights(recipe, short, micro, by_row=True) else "differs"


Runs = list[tuple[int, Fraction]]
"""Runs of rows with equal weight: their number and the weight in the mean."""


def _row_weights(recipe: Recipe, short: int, micro: int, *, by_row: bool) -> list[Runs]:
    """Return the weights of a short window's rows, for both possible lengths on a process.

    `by_row`: for a mean over rows, otherwise for a mean of the means of micro-batches.
    """
    processes, whole = recipe.processes, recipe.batch.global_batch_size
    renormalized = recipe.accumulation.tail == "flush_renormalized"
    longer = short % processes
    shares = (-(-short // processes), short // processes)
    if by_row:
        weight = Fraction(1, short if renormalized else whole)
        return [[(share, weight)] for share in shares]
    counts = [-(-share // micro) for share in shares]
    micro_batches = longer * counts[0] + (processes - longer) * counts[1]
    number = micro_batches if renormalized else whole // micro
    return [_merged(share, micro, number) for share in shares]


def _merged(rows: int, micro: int, number: int) -> Runs:
    full, rest = rows // micro * micro, rows % micro
    return [
        (count, Fraction(1, size * number))
        for count, size in ((full, micro), (rest, rest))
        if count
    ]


def _short_window(recipe: Recipe) -> int | None:
    """Rows of the short window of an epoch; 0 if there is none, None if unknown."""
    if recipe.data.source != "synthetic":
        return None
    full, short = divmod(recipe.data.train_rows, recipe.batch.global_batch_size)
    return short if recipe.schedule.total_steps > full else 0


def changes(recipe: Recipe, candidate: Candidate) -> dict[str, Any]:
    """Return the fields that a candidate changes, by dotted path."""
    wanted = {
        "batch.micro_batch_size": candidate.micro_batch_size,
        "accumulation.steps": candidate.steps,
        "activation_checkpointing": candidate.checkpointing,
        "precision.mode": candidate.mode,
        "precision.compute_dtype": candidate.compute_dtype,
    }
    now = {
        "batch.micro_batch_size": recipe.batch.micro_batch_size,
        "accumulation.steps": recipe.accumulation.steps,
        "activation_checkpointing": recipe.activation_checkpointing,
        "precision.mode": recipe.precision.mode,
        "precision.compute_dtype": recipe.precision.compute_dtype,
    }
    changed: dict[str, Any] = {path: value for path, value in wanted.items() if value != now[path]}
    if candidate.meaning == "as_sample":
        changed["accumulation.normalize_by"] = "sample"
    needs_scale = candidate.compute_dtype == "float16"
    if needs_scale != recipe.scaling_on and "precision.compute_dtype" in changed:
        changed["loss_scaling.mode"] = "dynamic" if needs_scale else "none"
    return changed


def changed_recipe(recipe: Recipe, candidate: Candidate) -> Recipe | None:
    """Return the recipe of a candidate; None if its fields do not fit together."""
    data: dict[str, Any] = recipe.model_dump()
    for path, value in changes(recipe, candidate).items():
        section, _, name = path.rpartition(".")
        if section == "loss_scaling":
            data[section] = {name: value}  # modes have different fields
        elif section:
            data[section] = {**data[section], name: value}
        else:
            data[name] = value
    result = Recipe.model_validate(data)
    return None if rules.check(result) else result
