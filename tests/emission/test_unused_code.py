"""What a recipe does not use is not printed: a schedule, hysteresis, a highest loss scale."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.targets.backend import Form
from frameworks.emitted_script import FLOAT16, tiny_recipe

TARGETS = ("torch", "tensorflow", "tensorflow@2.15", "paddle", "paddle@fleet")
FORMS: tuple[Form, ...] = ("script", "step")
ALL = [(t, f) for t in TARGETS for f in FORMS if (t, f) != ("paddle@fleet", "step")]
EVERY = pytest.mark.parametrize(("target", "form"), ALL)
CONSTANT = {"name": "constant", "total_steps": 9}
SETS_RATE = {
    "torch": 'group["lr"] =',
    "tensorflow": "state.optimizer.learning_rate",
    "tensorflow@2.15": "state.optimizer.learning_rate",
    "paddle": "set_lr(",
    "paddle@fleet": "state.rate.",
}
OWN_MODEL = {
    "model": {
        "kind": "custom",
        "factory": {"torch": "mine:make", "tensorflow": "mine:make", "paddle": "mine:make"},
    }
}


def text_of(target: str, form: Form = "script", **sections: Any) -> str:
    """Return the text of the script or of the step."""
    (compiled,) = compile_recipe(tiny_recipe(**sections), [target], form=form, strict=False)
    return compiled.files["train.py" if form == "script" else "step.py"].text


def scaled(target: str, form: Form, **settings: Any) -> str:
    scaling = {"mode": "dynamic", "init_scale": 1024.0} | settings
    return text_of(target, form, precision=FLOAT16, loss_scaling=scaling)


@EVERY
def test_a_constant_rate_is_its_constant(target: str, form: Form) -> None:
    text = text_of(target, form, schedule=CONSTANT)
    assert "def learning_rate" not in text
    assert '"lr": LEARNING_RATE,' in text
    assert SETS_RATE[target] not in text


@EVERY
def test_any_other_rate_is_a_function(target: str, form: Form) -> None:
    for schedule in (CONSTANT | {"warmup_steps": 1}, CONSTANT | {"name": "cosine"}):
        text = text_of(target, form, schedule=schedule)
        assert "def learning_rate" in text
        assert SETS_RATE[target] in text
        assert "LEARNING_RATE," not in text.partition('"lr": ')[2]


def test_groups_of_a_constant_rate_are_made_with_their_own() -> None:
    groups = [{"parameters": ["*.bias"], "rate_factor": 0.5}]
    optimizer = {"name": "adamw", "learning_rate": 1e-3, "groups": groups}
    text = text_of("torch", optimizer=optimizer, schedule=CONSTANT)
    assert "rate = LEARNING_RATE * factor" in text
    assert "rate_factor" not in text
    # Without bias correction every window has another rate.
    text = text_of("torch", optimizer=optimizer | {"bias_correction": False}, schedule=CONSTANT)
    assert 'group["lr"] = LEARNING_RATE * group["rate_factor"] * first / second' in text
    # The correction of epsilon leaves the rate alone.
    placed = optimizer | {"eps_placement": "before_correction"}
    text = text_of("torch", optimizer=placed, schedule=CONSTANT)
    assert 'group["eps"] = EPS / second' in text
    assert 'group["lr"]' not in text


@pytest.mark.parametrize("target", ["accelerate", "fabric", "lightning"])
def test_layers_on_pytorch_step_a_constant_factor(target: str) -> None:
    (compiled,) = compile_recipe(tiny_recipe(schedule=CONSTANT), [target], strict=False)
    (text,) = (file.text for path, file in compiled.files.items() if path.endswith(".py"))
    assert "learning_rate(" not in text
    assert "LambdaLR(optimizer, lambda position: 1.0)" in text


@EVERY
def test_a_scale_that_backs_off_at_once_counts_no_overflows(target: str, form: Form) -> None:
    if target == "torch":
        assert "LossScale" not in scaled(target, form)
    elif (target, form) == ("paddle", "script"):  # --decr_every_n_nan_or_inf decides
        assert "self.bad >= self.hysteresis" in scaled(target, form)
    else:
        text = scaled(target, form)
        assert "HYSTERESIS" not in text
        assert ".bad" not in text
        assert "bad:" not in text
        assert "counts clean steps in a row." in text


@EVERY
@pytest.mark.parametrize("mode", ["consecutive", "cumulative"])
def test_hysteresis_is_counted(target: str, form: Form, mode: str) -> None:
    text = scaled(target, form, hysteresis=2, hysteresis_mode=mode)
    assert "\nHYSTERESIS = 2  # overflowed steps" in text
    assert "bad: int = 0" in text


@EVERY
def test_only_a_highest_scale_bounds_growth(target: str, form: Form) -> None:
    assert "MAX_SCALE" not in scaled(target, form, hysteresis=2)
    bounded = scaled(target, form, hysteresis=2, max_scale=4096.0)
    assert "min(grown, MAX_SCALE)" in bounded


def functions_of(text: str) -> set[str]:
    return {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("target", "processes"), [("tensorflow", 1), ("tensorflow", 2), ("tensorflow@2.15", 1)]
)
def test_own_models_are_checked_and_seeded_by_the_runtime(target: str, processes: int) -> None:
    several = {"strategy": "data_parallel", "processes_per_node": 2}
    sections: dict[str, Any] = OWN_MODEL | ({"distributed": several} if processes > 1 else {})
    text = text_of(target, **sections)
    assert functions_of(text).isdisjoint({"check_model", "reseed"})
    names = "check_model, reseed" if target == "tensorflow" else "check_model"
    assert f"from runtime.state import {names}\n" in text
    rank = ", run.rank" if processes > 1 else ""
    seeded = f"reseed(state.model, SETTINGS.seed, state.windows{rank})"
    assert (seeded in text) == (target == "tensorflow")
