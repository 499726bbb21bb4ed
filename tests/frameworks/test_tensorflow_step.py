"""The emitted TensorFlow step is the reference interpreter's, for every way to configure it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.canonical import canonical_plan
from crosscast.plan import Step
from crosscast.recipe import Recipe
from crosscast.reference import Trace
from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python
from frameworks.toy_training import make_toy

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

SGD = {"name": "sgd", "learning_rate": 0.05}
MOMENTUM = SGD | {"momentum": 0.9}
L2 = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]}
ADAM = {"name": "adam", "learning_rate": 0.05, "eps": 1e-3}
ADAMW = {"name": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}
NORM = {"kind": "global_norm", "max_norm": 1.0}
VALUE = {"kind": "value", "max_value": 0.2}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**17, "growth_interval": 3}
HYSTERESIS = DYNAMIC | {
    "hysteresis": 2,
    "backoff_factor": 0.25,
    "init_scale": 65536.0,
    "min_scale": 65536.0,
    "max_scale": 98304.0,
}
ODD = DYNAMIC | {"init_scale": 1e4, "growth_factor": 3.0, "backoff_factor": 0.3}
STATIC = {"mode": "static", "scale": 1024.0}
COSINE = {"name": "cosine", "warmup_steps": 4, "total_steps": 25, "end_lr": 0.01}
ATTEMPTS = {"name": "linear", "warmup_steps": 2, "total_steps": 25, "tick": "attempt"}
FLAT = {"name": "constant", "total_steps": 30}
BY_BATCH = {"normalize_by": "microbatch"}
FLUSH = {"tail": "flush"}
XLA = {"tensorflow": {"jit_compile": True}}


def half(scaling: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"precision": FLOAT16, "loss_scaling": scaling, **sections}


CASES: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": SGD},
    "sgd-l2-flush": {"optimizer": SGD | L2, "accumulation": FLUSH, "clipping": NORM},
    "sgd-dynamic-value": half(DYNAMIC, optimizer=SGD, clipping=VALUE),
    "momentum-cosine": {"optimizer": MOMENTUM, "schedule": COSINE, "accumulation": BY_BATCH},
    "momentum-l2-hysteresis": half(HYSTERESIS, optimizer=MOMENTUM | L2, clipping=NORM),
    "momentum-static-attempts": half(STATIC, optimizer=MOMENTUM, schedule=ATTEMPTS),
    "nesterov": {"optimizer": MOMENTUM | {"nesterov": True}, "schedule": COSINE},
    "nesterov-dynamic": half(
        DYNAMIC, optimizer=MOMENTUM | L2 | {"nesterov": True}, clipping=NORM | {"eps": 0.0}
    ),
    "adam": {"optimizer": ADAM, "schedule": FLAT, "clipping": VALUE},
    "adam-l2-everywhere": {"optimizer": ADAM | {"weight_decay": 0.1}, "clipping": NORM},
    "adam-l2-odd-scale": half(ODD, optimizer=ADAM | L2, accumulation=FLUSH | BY_BATCH),
    "adamw": {"optimizer": ADAMW, "clipping": NORM | {"eps": 0.01}},
    "adamw-everywhere": {"optimizer": ADAMW | {"no_decay": []}, "schedule": COSINE},
    "adamw-kernels-only": {"optimizer": ADAMW | {"no_decay": ["embedding", "bias", "layer_norm"]}},
    "adamw-no-decay": {"optimizer": ADAMW | {"weight_decay": 0.0}},
    "adamw-dynamic": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, schedule=ATTEMPTS),
    "adamw-hysteresis": half(HYSTERESIS, optimizer=ADAMW, schedule=COSINE),
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "adamw-bfloat16": {"precision": BFLOAT16, "optimizer": ADAMW, "clipping": NORM},
    "adamw-xla": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, overrides=XLA),
}
SCALED = [name for name, sections in CASES.items() if "loss_scaling" in sections]
EACH = pytest.mark.parametrize("name", CASES)


@dataclass(frozen=True)
class Ran:
    """One case: what the emitted step did, and what the reference says."""

    recipe: Recipe
    rows: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]
    compilations: dict[str, int]
    expected: Trace


def make_recipe(name: str) -> Recipe:
    batch = {"micro_batch_size": 2, "global_batch_size": 8}
    return tiny_recipe(**{"name": name, "batch": batch, **CASES[name]})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All cases, run in one process."""
    root = tmp_path_factory.mktemp("steps")
    recipes = {name: make_recipe(name) for name in CASES}
    toys = {name: make_toy(recipe) for name, recipe in recipes.items()}
    for name, recipe in recipes.items():
        toys[name].save(emit(recipe, "tensorflow", root / name, form="step"))
    program = Path(__file__).with_name("run_steps_tensorflow.py")
    found = run_python(program, "tensorflow", *(root / name for name in CASES))
    results = {}
    for name, recipe in recipes.items():
        with np.load(root / name / "steps.npz", allow_pickle=False) as file:
            arrays = dict(file)
        one = found[str(root / name)]
        expected = toys[name].expected(recipe)
        results[name] = Ran(recipe, one["rows"], arrays, one["compilations"], expected)
    return results


def column(case: Ran, key: str) -> tuple[list[Any], list[Any]]:
    return [row[key] for row in case.rows], [getattr(row, key) for row in case.expected.rows]


@EACH
@pytest.mark.parametrize("key", ["window", "n_micro", "rows", "skipped", "updates"])
def test_counts_and_skips(ran: dict[str, Ran], name: str, key: str) -> None:
    found, expected = column(ran[name], key)
    assert found == expected


@EACH
@pytest.mark.parametrize("key", ["scale", "lr"])
def test_scales_and_rates(ran: dict[str, Ran], name: str, key: str) -> None:
    found, expected = column(ran[name], key)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@EACH
@pytest.mark.parametrize("key", ["loss", "grad_norm"])
def test_losses_and_norms(ran: dict[str, Ran], name: str, key: str) -> None:
    found, expected = column(ran[name], key)
    if key == "grad_norm":  # of an overflow one says inf, the other nan, by the order of sums
        found, expected = ([x if np.isfinite(x) else None for x in c] for c in (found, expected))
        assert [x is None for x in found] == [x is None for x in expected]
        found, expected = ([x for x in c if x is not None] for c in (found, expected))
    # A parameter that differs by one bit may round to the next half.
    loose = key == "loss" and ran[name].recipe.precision.mode == "mixed"
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-3 if loose else 2e-6)


@EACH
def test_parameters_after_every_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    for parameter in case.expected.state.parameters:
        expected = np.stack([row.parameters[parameter] for row in case.expected.rows])
        found = case.arrays[f"parameters/{parameter}"]
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6, err_msg=parameter)


@EACH
def test_moments_after_every_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    moments = {key for key in case.arrays if not key.startswith("parameters/")}
    wanted = {f"{s}/{n}" for s, tensors in case.expected.state.moments.items() for n in tensors}
    assert moments == wanted
    for key in moments:
        slot, parameter = key.split("/")
        expected = np.stack([row.moments[slot][parameter] for row in case.expected.rows])
        np.testing.assert_allclose(case.arrays[key], expected, rtol=2e-6, atol=1e-6, err_msg=key)


@EACH
def test_the_optimizer_counts_updates(ran: dict[str, Ran], name: str) -> None:
    assert [row["iterations"] for row in ran[name].rows] == column(ran[name], "updates")[1]


@pytest.mark.parametrize("name", SCALED)
def test_nothing_moves_in_a_skipped_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    skipped = [row["window"] for row in case.rows if row["skipped"]]
    assert {5, 9, 10, 11} <= set(skipped)
    for window in skipped:
        for key, array in case.arrays.items():
            assert array[window].tobytes() == array[window - 1].tobytes(), (window, key)


def test_the_cases_reach_the_edges_of_the_scale(ran: dict[str, Ran]) -> None:
    scales = {name: {row["scale"] for row in ran[name].rows} for name in SCALED}
    assert scales["adamw-hysteresis"] == {65536.0, 98304.0}
    natural = [row["window"] for row in ran["adamw-dynamic"].rows if row["skipped"]]
    assert set(natural) - {5, 9, 10, 11}, "no scaled gradient overflowed float16 by itself"


@EACH
def test_short_windows_do_not_compile_again_and_again(ran: dict[str, Ran], name: str) -> None:
    counts = ran[name].compilations
    assert counts["micro_step"] <= 3  # full micro-batches, another size, any size
    assert counts["window_step"] == counts["clear"] == 1


def test_the_cases_cover_every_optimizer(ran: dict[str, Ran]) -> None:
    steps = [canonical_plan(case.recipe).find(Step) for case in ran.values()]
    assert {step.optimizer for step in steps if step} == {"sgd", "adam", "adamw"}
