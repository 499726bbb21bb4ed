"""The emitted LossScale by itself: bounds, growth to inf, and the step at which it grows."""

from __future__ import annotations

import ast
import math
import random
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.loss_scale import adjust, initial
from crosscast.plan.operations import UpdateScale
from frameworks.emitted_script import FLOAT16, tiny_recipe
from runtime_texts import run_module, settings_of

TARGETS = pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle", "jax"])
EDGE: dict[str, Any] = {
    "init_scale": 2.0**126,
    "growth_interval": 2,
    "hysteresis": 2,
    "max_scale": None,
}
FALLING: dict[str, Any] = {
    "init_scale": 4.0,
    "growth_interval": 2,
    "hysteresis": 2,
    "min_scale": 0.5,
}


def loss_scale(target: str, old: str = "", new: str = "", **scaling: Any) -> Any:
    """Return an instance of the emitted class, with one text replaced."""
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling={"mode": "dynamic", **scaling})
    (compiled,) = compile_recipe(recipe, [target], form="step")
    text = str(compiled.files["step.py"].text)
    assert old in text, old
    module = ast.parse(text.replace(old, new) if old else text)
    needed = [node for node in module.body if _is_needed(node)]
    space: dict[str, Any] = {"__name__": "builtins"}  # dataclasses look the module up
    exec(compile(ast.Module(needed, []), "step.py", "exec"), space)
    return space["LossScale"]()


def _is_needed(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(name, ast.Name) and name.id.isupper() for name in node.targets)
    if isinstance(node, ast.ImportFrom):
        return node.module in ("__future__", "dataclasses")
    if isinstance(node, ast.Import):
        return {name.name for name in node.names} <= {"math", "numpy"}
    return getattr(node, "name", "") in ("LossScale", "float32")


def course(machine: Any, skipped: list[bool]) -> list[float]:
    return [machine.adjust(skip) for skip in skipped]


@TARGETS
def test_the_scale_never_becomes_inf(target: str) -> None:
    assert course(loss_scale(target, **EDGE), [False] * 8)[-1] == 2.0**127
    faulty = loss_scale(target, "if math.isfinite(grown):", "if True:", **EDGE)
    assert course(faulty, [False] * 8)[-1] == math.inf


@TARGETS
def test_the_scale_never_becomes_zero(target: str) -> None:
    assert course(loss_scale(target, **FALLING), [True] * 600)[-1] == 0.5
    bounded = "max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)"
    faulty = loss_scale(target, bounded, bounded[4:-12], **FALLING)
    assert course(faulty, [True] * 600)[-1] == 0.0


@TARGETS
def test_a_run_without_a_lowest_scale_ends_before_the_scale_is_zero(target: str) -> None:
    falling = FALLING | {"min_scale": None}
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling={"mode": "dynamic", **falling})
    (compiled,) = compile_recipe(recipe, [target])
    files = {path: file.text for path, file in compiled.files.items()}
    assert 0.0 < last_scale(files, loss_scale(target, **falling)) < 2.0**-126
    guard = 'row["scale"] < 2.0**-126'
    assert guard in files["runtime/run.py"]
    files["runtime/run.py"] = files["runtime/run.py"].replace(guard, "False")
    assert last_scale(files, loss_scale(target, **falling)) == 0.0


def last_scale(files: dict[str, str], machine: Any) -> float:
    """Return the scale at which a run in which every window overflows is stopped."""
    module = run_module(files)
    run = module.Run(settings_of(files), SimpleNamespace())
    for window in range(600):
        row = {"window": window, "scale": machine.scale, "skipped": True}
        try:
            run.stop_if_hopeless(SimpleNamespace(), row)
        except module.Stop:
            return float(machine.scale)
        machine.adjust(True)
    return float(machine.scale)


@TARGETS
def test_the_scale_grows_on_clean_step_n(target: str) -> None:
    settings: dict[str, Any] = {"init_scale": 8.0, "growth_interval": 3, "hysteresis": 2}
    grows = [8.0, 8.0, 16.0, 16.0, 16.0, 32.0]
    assert course(loss_scale(target, **settings), [False] * 6) == grows
    late = loss_scale(target, ">= GROWTH_INTERVAL", "> GROWTH_INTERVAL", **settings)
    assert course(late, [False] * 6) != grows


@TARGETS
def test_only_overflows_in_a_row_back_off(target: str) -> None:
    settings: dict[str, Any] = {"init_scale": 8.0, "growth_interval": 9, "hysteresis": 2}
    pattern = [True, False, True, True]
    assert course(loss_scale(target, **settings), pattern) == [8.0, 8.0, 8.0, 4.0]
    reset = "self.good, self.bad = self.good + 1, 0"
    faulty = loss_scale(target, reset, "self.good = self.good + 1", **settings)
    assert course(faulty, pattern) == [8.0, 8.0, 4.0, 4.0]


@pytest.mark.parametrize("target", ["tensorflow", "paddle", "jax"])
@pytest.mark.parametrize("bounds", [{}, {"min_scale": None}, {"max_scale": 4096.0}])
def test_without_hysteresis_the_scale_moves_as_the_plan_says(
    target: str, bounds: dict[str, Any]
) -> None:
    settings = {"init_scale": 1024.0, "growth_interval": 2} | bounds
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling={"mode": "dynamic", **settings})
    machine, op = loss_scale(target, **settings), canonical_plan(recipe).get(UpdateScale)
    draws, wanted = random.Random(7), initial(op)
    for attempt in range(400):
        skipped = draws.random() < (0.6 if attempt // 100 % 2 else 0.1)
        wanted = adjust(op, wanted, finite=not skipped)
        assert machine.adjust(skipped) == wanted.scale
        assert (machine.good, wanted.bad) == (wanted.good, 0)
