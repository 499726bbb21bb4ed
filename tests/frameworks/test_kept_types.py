"""Correct runs pass the checks of types: every policy, class, attention and mode."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.planning.runs import fuses_attention
from crosscast_parity.recordings.observations import read_observation
from frameworks import observe_runs
from frameworks.emitted_script import TINY, emit, tiny_recipe, write_rows
from tiers import Lazy, cases, selected

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
HALVES = ("float16", "bfloat16")
ATTENTIONS = ("fused", "explicit")
CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "residual")
SCALING = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 2}
AT_ONCE = 12
"""Runs of one process."""


def _recipe(version: int, dtype: str, mode: str, **more: Any) -> Recipe:
    model = TINY["model"] | {n: more.pop(n) for n in ("dropout", "attention") if n in more}
    scaling = {"loss_scaling": SCALING} if dtype == "float16" else {}
    precision = {"mode": mode, "compute_dtype": dtype} | more
    return tiny_recipe(version=version, model=model, precision=precision, **scaling)


def _recipes() -> Iterator[tuple[str, Recipe]]:
    for dtype, mode, rate in itertools.product(HALVES, ("mixed", "full"), (0.0, 0.1)):
        yield f"1 {dtype} {mode} {rate}", _recipe(1, dtype, mode, dropout=rate)
        for attention in ATTENTIONS:
            name = f"2 {dtype} {mode} {rate} {attention}"
            yield name, _recipe(2, dtype, mode, dropout=rate, attention=attention)
    policies = ("float32_stream", "autocast", "keras")
    for dtype, policy, attention in itertools.product(HALVES, policies, ATTENTIONS):
        more = {"policy": policy, "attention": attention, "dropout": 0.1}
        yield f"{policy} {dtype} {attention}", _recipe(2, dtype, "mixed", **more)
    types = [(kind, dtype) for kind in CLASSES for dtype in ("half", "float32")]
    types += [(kind, "float32_stored_half") for kind in CLASSES[:-1]]
    for number, (kind, stored) in enumerate(types):
        dtype, mode = HALVES[number % 2], ("mixed", "full")[number // 2 % 2]
        for attention in ATTENTIONS:
            more = {"ops": {kind: stored}, "attention": attention, "dropout": 0.1}
            yield f"{kind} {stored} {dtype} {mode} {attention}", _recipe(2, dtype, mode, **more)


RECIPES = dict(_recipes())
QUICK = ["2 float16 mixed 0.1 fused", "2 bfloat16 full 0.1 fused"]
REFUSED = {
    ("tensorflow", f"matmul float32_stored_half float16 full {attention}")
    for attention in ATTENTIONS
}
"""Half weights of dense layers that compute in float32 are beyond the policies of Keras."""
RUNS = list(itertools.product(FRAMEWORKS, RECIPES))
SLOW = [("jax", name) for name in QUICK[1:]]
"""XLA compiles each of them for seconds."""


def as_id(run: tuple[str, str]) -> str:
    return "-".join(run)


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Folders of observed runs of one framework, by the name of the recipe."""
    asked = selected(request, "run")

    def trained(framework: str) -> dict[str, Path]:
        folder = tmp_path_factory.mktemp(framework)
        write_rows(folder / "train.npz", 32)
        write_rows(folder / "eval.npz", 8, seed=1)
        plans = []
        for name in (name for name in RECIPES if (framework, name) in asked):
            if (framework, name) in REFUSED:
                with pytest.raises(DiagnosticError):
                    emit(RECIPES[name], framework, folder / name)
                continue
            emit(RECIPES[name], framework, folder / name)
            plans.append(observe_runs.Plan(name, name, 1, record=range(1), manifest=True))
        for start in range(0, len(plans), AT_ONCE):
            some = plans[start : start + AT_ONCE]
            output = observe_runs.session(framework, folder, some, emulate=True)
        return {plan.name: output / plan.name / "observed" for plan in plans}

    return Lazy(trained)


@pytest.mark.parametrize(
    "run",
    cases(
        [pytest.param(run) for run in RUNS],
        quick=[run for run in itertools.product(FRAMEWORKS, QUICK) if run not in SLOW],
        reason="more types of operations",
    ),
    ids=as_id,
)
def test_a_right_run_is_not_accused(observed: Any, run: tuple[str, str]) -> None:
    framework, name = run
    if (framework, name) in REFUSED:
        assert name not in observed[framework]
        return
    recipe, seen = RECIPES[name], read_observation(observed[framework][name])
    fused = fuses_attention(framework, recipe)
    checks = check_dtypes(recipe, seen, emulated=True, fused=fused)
    assert seen.manifest is not None
    assert seen.manifest.order
    failed = [f"{check.name}: {check.wording}" for check in checks if check.result == "fail"]
    assert failed == []
