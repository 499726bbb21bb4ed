"""Answers train the same: the reference interpreter runs the recipe and its candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.fit.candidates import candidates, changed_recipe, meaning_of
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Tensors
from crosscast.reference.interpreter import Forward, MicroBatch, run
from property_settings import examples
from recipe_texts import recipe_of

INPUTS = 3
CLEAR = 1e-6
"""Relative change of the weights that is no rounding."""


class Data:
    """Rows with up to two labels each, and a linear model with a loss per label."""

    def __init__(self, rows: int) -> None:
        rng = np.random.default_rng(rows)
        self.inputs = rng.standard_normal((rows, INPUTS))
        self.wanted = rng.standard_normal(rows)
        self.tokens = rng.integers(0, 3, rows)

    def micro_batch(self, rows: np.ndarray, unit: str) -> Forward:
        counts = self.tokens[rows] if unit == "token" else np.ones(len(rows))

        def evaluate(parameters: Tensors) -> MicroBatch:
            errors = self.inputs[rows] @ parameters["w"] - self.wanted[rows]
            loss = float(np.sum(counts * errors**2) / 2)
            gradient = (counts * errors) @ self.inputs[rows]
            divisor = len(rows) if unit == "microbatch" else 1
            return MicroBatch(
                loss / divisor, {"w": gradient / divisor}, len(rows), int(counts.sum())
            )

        return Forward(len(rows), evaluate, int(counts.sum()))


def windows(recipe: Recipe, rows: int) -> list[np.ndarray]:
    """Rows of every window of the run, as docs/reference/emitted-scripts.md says."""
    whole, tail = recipe.batch.global_batch_size, recipe.accumulation.tail
    found: list[np.ndarray] = []
    left = np.array([], dtype=int)
    for epoch in range(10_000):
        order = np.random.default_rng([recipe.seed, epoch]).permutation(rows)
        order = np.concatenate([left, order]) if tail == "carry" else order
        cut = [order[i : i + whole] for i in range(0, len(order), whole)]
        left = np.array([], dtype=int)
        if len(cut[-1]) < whole:
            last = cut.pop()
            if tail == "carry":
                left = last
            elif tail != "drop" and len(last) >= recipe.processes:
                cut.append(last)
        found += cut
        if len(found) >= recipe.schedule.total_steps:
            return found[: recipe.schedule.total_steps]
    raise AssertionError("no window")


def trained(recipe: Recipe, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Final weights and the loss of every window, in float64."""
    micro, unit = recipe.batch.micro_batch_size, recipe.accumulation.normalize_by
    work = []
    for rows in windows(recipe, len(data.wanted)):
        shares = [rows[rank :: recipe.processes] for rank in range(recipe.processes)]
        cut = [[share[i : i + micro] for i in range(0, len(share), micro)] for share in shares]
        work.append([[data.micro_batch(data_rank, unit) for data_rank in rank] for rank in cut])
    start = {"w": np.array([1.0, -2.0, 0.5])}
    trace = run(canonical_plan(recipe), start, work, arithmetic="float64")
    return trace.state.parameters["w"], np.array([row.loss for row in trace.rows])


def close(first: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> bool:
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(first, other, strict=True))


@st.composite
def drawn(draw: st.DrawFn) -> tuple[Recipe, int]:
    micro, steps = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    processes = draw(st.sampled_from((1, 1, 2, 3)))
    window = micro * steps * processes
    rows = draw(st.integers(window, max(window, 60)) | st.integers(1, 60))
    unit = draw(st.sampled_from(("sample", "microbatch", "microbatch", "token")))
    tails = ["flush_renormalized", "drop", "carry", *(["flush"] if unit != "token" else [])]
    tail = draw(st.sampled_from(tails))
    if rows < window and (tail == "drop" or rows < processes):
        rows = window
    optimizer = draw(
        st.sampled_from(
            (
                "{name: sgd, learning_rate: 0.05, momentum: 0.9}",
                "{name: adamw, learning_rate: 0.05}",
                "{name: lamb, learning_rate: 0.05}",
            )
        )
    )
    clipping = draw(st.sampled_from(("{kind: none}", "{kind: global_norm, max_norm: 0.5}")))
    recipe = recipe_of(
        data=f"{{source: synthetic, train_rows: {rows}}}",
        batch=f"{{micro_batch_size: {micro}}}",
        accumulation=f"{{steps: {steps}, normalize_by: {unit}, tail: {tail}}}",
        distributed=f"{{strategy: data_parallel, processes_per_node: {processes}}}",
        optimizer=optimizer,
        clipping=clipping,
        schedule=f"{{name: cosine, total_steps: {draw(st.integers(1, 12))}, warmup_steps: 0}}",
    )
    return recipe, rows


@settings(max_examples=examples(60))
@given(drawn())
def test_every_candidate_that_says_so_trains_the_same(case: tuple[Recipe, int]) -> None:
    recipe, rows = case
    data = Data(rows)
    before = trained(recipe, data)
    seen = set()
    for candidate in candidates(recipe):
        if candidate.micro_batch_size in seen:
            continue
        seen.add(candidate.micro_batch_size)
        other = changed_recipe(recipe, candidate)
        assert other is not None
        assert other.batch.global_batch_size == recipe.batch.global_batch_size
        assert other.schedule == recipe.schedule
        if candidate.meaning == "differs":
            continue
        assert close(trained(other, data), before), candidate
        unchanged = other.accumulation.normalize_by == recipe.accumulation.normalize_by
        assert unchanged == (candidate.meaning == "same")


MEANS: list[Any] = [
    # rows, micro, steps, tail, other micro, what it means
    (20, 2, 4, "flush_renormalized", 4, "same"),  # a short window of 4 rows
    (20, 2, 4, "flush_renormalized", 8, "same"),  # in one micro-batch of 4: the same mean
    (20, 2, 4, "flush", 8, "as_sample"),
    (22, 2, 4, "flush_renormalized", 4, "as_sample"),  # 6 rows: 4 and 2
    (22, 4, 2, "flush_renormalized", 2, "differs"),
    (22, 4, 2, "flush_renormalized", 1, "differs"),
    (22, 4, 2, "flush", 2, "differs"),
    (22, 4, 2, "drop", 2, "same"),
    (22, 4, 2, "carry", 2, "same"),
    (24, 4, 2, "flush_renormalized", 2, "same"),
    (7, 8, 1, "flush_renormalized", 4, "as_sample"),
]


@pytest.mark.parametrize(("rows", "micro", "steps", "tail", "other", "meaning"), MEANS)
def test_means_of_micro_batches(
    rows: int, micro: int, steps: int, tail: str, other: int, meaning: str
) -> None:
    recipe = recipe_of(
        data=f"{{source: synthetic, train_rows: {rows}}}",
        batch=f"{{micro_batch_size: {micro}}}",
        accumulation=f"{{steps: {steps}, normalize_by: microbatch, tail: {tail}}}",
        optimizer="{name: sgd, learning_rate: 0.05}",
    )
    assert meaning_of(recipe, other) == meaning
    (candidate,) = [
        variant
        for variant in candidates(recipe)
        if variant.micro_batch_size == other and not variant.checkpointing
    ]
    changed = changed_recipe(recipe, candidate)
    assert changed is not None
    data = Data(rows)
    before, after = trained(recipe, data), trained(changed, data)
    assert close(after, before) == (meaning != "differs")
    if meaning == "differs":  # and clearly so
        assert np.max(np.abs(after[0] / before[0] - 1)) > CLEAR


def test_a_short_window_that_the_run_does_not_reach() -> None:
    changes: dict[str, str] = {
        "data": "{source: synthetic, train_rows: 22}",
        "batch": "{micro_batch_size: 4}",
        "accumulation": "{steps: 2, normalize_by: microbatch}",
    }
    short = recipe_of(**changes, schedule="{name: linear, total_steps: 2}")
    assert meaning_of(short, 2) == "same"
    longer = recipe_of(**changes, schedule="{name: linear, total_steps: 3}")
    assert meaning_of(longer, 2) == "differs"


def test_rows_of_npz_files_are_not_known() -> None:
    recipe = recipe_of(
        data="{source: npz, train: a.npz, eval: b.npz, sequence_length: 32}",
        accumulation="{steps: 2, normalize_by: microbatch}",
    )
    assert meaning_of(recipe, 2) == "differs"
    assert meaning_of(recipe, 4) == "same"  # as it is
