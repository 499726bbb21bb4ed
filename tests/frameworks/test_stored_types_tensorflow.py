"""Emitted Keras models compute and store in the types that recipes of version 2 say."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.recipe.document import Recipe
from crosscast.recipe.policies import POLICIES
from crosscast.recipe.predicates import stores_half
from frameworks.emitted_script import TINY, tiny_recipe
from frameworks.subprocesses import run_python
from tiers import Lazy, cases, selected

pytestmark = pytest.mark.tensorflow

CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "residual")
STORED = ("half", "float32", "float32_stored_half")
VALUES = (*itertools.repeat(STORED, 4), ("half", "float32"))
LIMITS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
"""How far gradients may be apart: their parts are rounded, and added in another order."""


def recipe_of(mode: str, half: str, ops: tuple[str, ...], dropout: float) -> Any:
    return tiny_recipe(
        version=2,
        model=TINY["model"] | {"layers": 2, "dropout": dropout},
        precision={
            "mode": mode,
            "compute_dtype": half,
            "ops": dict(zip(CLASSES, ops, strict=True)),
        },
        loss_scaling={"mode": "none"},
    )


def combinations() -> dict[str, Any]:
    """Every combination of types, in turn in both half types, with and without dropout."""
    found = {}
    for mode in ("mixed", "full"):
        for number, ops in enumerate(itertools.product(*VALUES)):
            half = ("float16", "bfloat16")[number % 2]
            recipe = recipe_of(mode, half, ops, 0.1 * (number // 2 % 2))
            if stores_half(recipe) and (mode == "mixed" or ops[0] == "half"):
                found[f"{mode} {' '.join(ops)}"] = recipe
    return found


ALL = combinations()


def named(policy: str, mode: str = "mixed") -> str:
    types = POLICIES[policy]
    return f"{mode} {' '.join(types[name] for name in CLASSES)}"


QUICK = [
    named("stored_half"),
    named("stored_half", "full"),
    named("autocast"),
    " ".join(("mixed", *["float32_stored_half"] * 4, "float32")),
]


BATCH = 20
"""Models in one process; all of them would take longer than a test may."""


@pytest.fixture(scope="module")
def measured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Any]:
    """What the program found out about recipes, by name; a batch of them in one process."""
    names = list(dict.fromkeys((*QUICK, *selected(request, "name"))))

    def computed(number: str) -> Any:
        batch = int(number)
        folder = tmp_path_factory.mktemp("stored")
        jobs = {
            name: job(ALL[name], folder / f"{place}.py")
            for place, name in enumerate(names[batch * BATCH : (batch + 1) * BATCH])
        }
        (folder / "jobs.json").write_text(json.dumps(jobs))
        program = Path(__file__).with_name("run_stored_types_tensorflow.py")
        return run_python(program, "tensorflow", folder / "jobs.json", timeout=550)

    batches: Lazy[Any] = Lazy(computed)
    return Lazy(lambda name: batches[str(names.index(name) // BATCH)][name])


def job(recipe: Recipe, path: Path) -> dict[str, Any]:
    """Write the model of a recipe, and return what the program has to know of it."""
    (compiled,) = compile_recipe(recipe, ["tensorflow"])
    path.write_text(compiled.files["model.py"].text)
    script = compiled.files["train.py"].text
    (policy,) = re.findall(r'^DTYPE_POLICY = "(.*)"$', script, re.MULTILINE)
    precision = recipe.precision
    return {
        "model": str(path),
        "policy": policy,
        "half": precision.compute_dtype,
        "ops": precision.ops.model_dump(),
    }


@pytest.mark.parametrize("name", cases(ALL, QUICK, "every combination of types"))
def test_every_operation_computes_and_stores_as_the_recipe_says(
    measured: Mapping[str, Any], name: str
) -> None:
    found = measured[name]
    assert found["types"][0] == found["types"][1]
    assert found["different"] == 0
    assert found["gradients"] < LIMITS[ALL[name].precision.compute_dtype]


def test_the_softmax_of_the_script_has_the_gradient_of_float32(measured: Mapping[str, Any]) -> None:
    for name in QUICK:
        found, half = measured[name]["softmax"], ALL[name].precision.compute_dtype
        assert (found is None) == (ALL[name].precision.ops.reductions != "float32_stored_half")
        if found:
            assert (found["type"], found["rounded once"]) == (half, True)
            assert found["error"] < LIMITS[half] / 2
            assert found["of padding"] == 0.0


@pytest.mark.parametrize("function", ["normalized", "gelu"])
def test_functions_of_the_script_round_what_float64_gives(
    measured: Mapping[str, Any], function: str
) -> None:
    seen = 0
    for recipe in QUICK:
        found, half = measured[recipe][function], ALL[recipe].precision.compute_dtype
        ops = ALL[recipe].precision.ops
        norm, point = ops.reductions == "float32_stored_half", ops.pointwise != "float32"
        assert (found is not None) == (norm if function == "normalized" else point)
        if found:
            seen += 1
            assert found["types"][:2] == [half, half]
            assert set(found["types"][2:]) <= {"float32"}  # of the weights
            assert found["rounded otherwise"] < 0.005  # natively, a third of those of GELU
            assert found["errors"][0] < LIMITS[half] / 4
            assert all(error < 1e-5 for error in found["errors"][1:])
    assert seen > 1
