"""No update is off by 1 % of its own step unseen, unless float32 itself knows it no better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step
from crosscast.recipe.document import Recipe
from crosscast.reference import optimizer_formulas
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.recordings.observations import Observation
from replay_fakes import Arrays, Recorder, by_name, micro_batches, stress

FALLS = 1e-3
"""How much smaller the gradients of a window are than those of the window before it."""
OPTIMIZERS = {
    "adafactor": "{name: adafactor, learning_rate: 1e-2, beta2_decay: 0.0}",
    "adafactor, nearly 1": "{name: adafactor, learning_rate: 1e-2, beta2_decay: -1.0e-9}",
    "adafactor, usual": "{name: adafactor, learning_rate: 1e-2}",
    "adamw": "{name: adamw, learning_rate: 1e-3, betas: [1.0e-6, 1.0e-6]}",
    "lamb": "{name: lamb, learning_rate: 1e-3, betas: [1.0e-6, 1.0e-6]}",
    "sgd": "{name: sgd, learning_rate: 100.0, momentum: 1.0e-6}",
}


def recipe_with(optimizer: str) -> Recipe:
    return stress(
        optimizer=optimizer,
        precision="{mode: none}",
        loss_scaling="{mode: none}",
        clipping="{kind: none}",
    )


def falling(recipe: Recipe, size: float = 1.0, **spoil: Any) -> Observation:
    """Record windows whose gradients fall, so that old moments are far larger than new ones."""
    recorder = Recorder(canonical_plan(recipe), **spoil)
    windows = [
        recorder.window(number, micro_batches(0, number, (4, 4, 4), size * FALLS**number))
        for number in range(4)
    ]
    return Observation(windows=tuple(windows))


def cancelling(
    op: Step,
    weight: np.ndarray,
    gradient: np.ndarray,
    slots: Mapping[str, np.ndarray],
    rate: float,
    t: int,
    decay: float,
) -> optimizer_formulas.Updated:
    """Adafactor for vectors, with the moments moved by a difference in float32."""
    exact = optimizer_formulas._adafactor(op, weight, gradient, slots, rate, t, decay)
    if weight.dtype != np.float32 or weight.ndim > 1:
        return exact
    held = slots["variance"]
    variance = held + np.float32(t**op.beta2_decay) * (gradient * gradient - held)
    direction = gradient / np.sqrt(np.maximum(variance, op.factored_eps[0] ** 2))
    spread = np.sqrt(np.mean(direction**2))
    length = max(op.factored_eps[1], np.sqrt(np.mean(weight**2)))
    step = length * min(rate, t**-0.5) / max(1.0, spread / op.clip_threshold)
    new = (weight * (1.0 - rate * decay) - step * direction).astype(np.float32)
    return new, {"variance": variance}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_float32_follows_gradients_that_fall(optimizer: str) -> None:
    """Else the noise of float32 would excuse every script that cancels."""
    op = canonical_plan(recipe_with(optimizer)).find(Step)
    assert op is not None
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (4,)):
        slots = optimizer_formulas.slot_shapes(op, shape)
        held: dict[str, dict[str, np.ndarray]] = {
            kind: {name: np.zeros(size, kind) for name, size in slots.items()}
            for kind in ("float32", "float64")
        }
        for t in range(1, 4):
            gradient = (rng.standard_normal(shape) * FALLS ** (t - 1)).astype("f4")
            moved = {}
            for kind, own in held.items():
                weight, pushed = np.zeros(shape, kind), gradient.astype(kind)
                moved[kind], held[kind] = optimizer_formulas.update(
                    op, weight, pushed, own, rate=0.1, t=t, decay=0.0
                )
            np.testing.assert_allclose(moved["float32"], moved["float64"], rtol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_faithful_runs_with_gradients_that_fall_pass(optimizer: str) -> None:
    recipe = recipe_with(optimizer)
    checks = by_name(replay_run(recipe, falling(recipe)))
    assert checks["update"].result == "pass"
    assert "update of every tensor" not in checks


@pytest.mark.parametrize("decay", ["0.0", "-1.0e-9"])
def test_moments_moved_by_a_difference_are_found(
    monkeypatch: pytest.MonkeyPatch, decay: str
) -> None:
    recipe = recipe_with(f"{{name: adafactor, learning_rate: 1e-2, beta2_decay: {decay}}}")
    formulas = optimizer_formulas._FORMULAS
    monkeypatch.setattr(optimizer_formulas, "_FORMULAS", formulas | {"adafactor": cancelling})
    observed = falling(recipe)
    monkeypatch.setattr(optimizer_formulas, "_FORMULAS", formulas)
    assert by_name(replay_run(recipe, observed))["update"].result == "fail"


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("size", [1.0, 1e-12])
def test_one_tensor_that_is_off_by_one_percent_is_found(optimizer: str, size: float) -> None:
    """Whatever its size: the limit is of the tensor's own step."""
    recipe = recipe_with(optimizer)
    for name in ("classifier.bias", "bert.encoder.layer.0.output.dense.weight"):
        held: Arrays = {}

        def late(number: int, parameters: Arrays, name: str = name, held: Arrays = held) -> None:
            if number == 2:
                step = parameters[name] - held[name]
                parameters[name] = (held[name] + 1.011 * step).astype(np.float32)
            held[name] = parameters[name].copy()

        observed = falling(recipe, size=size, after_window=late)
        before, after = observed.windows[2].before[name], observed.windows[2].after[name]
        checks = by_name(replay_run(recipe, observed))
        resolved = np.abs(after - before) > 300 * np.spacing(np.abs(before))
        if resolved.mean() > 0.9:
            assert checks["update"].result == "fail", name


def test_where_float32_knows_no_better_the_sentence_says_so() -> None:
    """With an epsilon of next to nothing, squares of tiny gradients are lost in float32."""
    recipe = recipe_with("{name: adamw, learning_rate: 1e-3, eps: 1.0e-30}")

    def spoil(number: int, parameters: Arrays) -> None:
        parameters["classifier.bias"][:] += np.float32(1e-2) * (number == 2)

    tiny = falling(recipe, size=1e-19, after_window=spoil)
    checks = by_name(replay_run(recipe, tiny))
    assert checks["update of every tensor"].result == "not tested"
    assert "float32 rounds off more than 1% of" in checks["update of every tensor"].wording
    usual = recipe_with("{name: adamw, learning_rate: 1e-3}")
    spoilt = falling(usual, size=1e-19, after_window=spoil)
    assert by_name(replay_run(usual, spoilt))["update"].result != "pass"
