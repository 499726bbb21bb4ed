"""The emitted TensorFlow step is the reference interpreter's, for every way to configure it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import Trace
from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python
from frameworks.toy_training import make_toy
from tiers import cases, selected

pytestmark = pytest.mark.tensorflow

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
FULL = {"mode": "full", "compute_dtype": "float16"}
FULL_BFLOAT16 = {"mode": "full", "compute_dtype": "bfloat16"}
OWN_SUMS = {"dtype": "compute"}
CUMULATIVE = HYSTERESIS | {"hysteresis_mode": "cumulative", "min_scale": 1.0}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.7}
INSIDE = MOMENTUM | {"rate_in_momentum": True}
BEFORE = {"eps_placement": "before_correction"}
RAW = {"bias_correction": False}
LAMB = {"name": "lamb", "learning_rate": 0.05, "weight_decay": 0.1}
LION = {"name": "lion", "learning_rate": 0.01}
ADAFACTOR = {"name": "adafactor", "learning_rate": 0.05}
POLYNOMIAL = {"name": "polynomial", "power": 2.0, "warmup_steps": 3, "total_steps": 25}
ROOT = {"name": "inverse_sqrt", "warmup_steps": 3, "total_steps": 25}
START = {"name": "linear", "warmup_steps": 3, "total_steps": 25, "decay_from": "start"}
EMA = {"decay": 0.9}
GROUPS = {
    "groups": [
        {"parameters": ["*gam?a*", "*bet[a]*"], "rate_factor": 0.25},
        {"parameters": ["*kernel*", "*gamma*"], "weight_decay": 0.3, "rate_factor": 2.0},
        {"parameters": ["*embed*"], "weight_decay": 0.0},
    ]
}
FEW = {"exempt": ["layer_norm", "bias"]}
EMBEDDINGS = {"exempt": ["embedding"]}
TOKENS = {"normalize_by": "token"}


def full(precision: dict[str, Any], **sections: Any) -> dict[str, Any]:
    scaling = {"loss_scaling": DYNAMIC} if precision is FULL else {}
    return {"precision": precision, **scaling, **sections}


CASES |= {
    "sgd-cumulative-tokens": half(CUMULATIVE, optimizer=SGD, accumulation=TOKENS),
    "sgd-each-norm": {"optimizer": SGD | GROUPS, "clipping": EACH_NORM, "ema": EMA},
    "sgd-l2-groups-exempt": {"optimizer": SGD | L2 | GROUPS, "clipping": NORM | FEW},
    "momentum-inside": {"optimizer": INSIDE, "schedule": COSINE, "clipping": VALUE | EMBEDDINGS},
    "momentum-inside-l2": half(STATIC, optimizer=INSIDE | L2, schedule=POLYNOMIAL),
    "nesterov-inside": half(DYNAMIC, optimizer=INSIDE | {"nesterov": True}, schedule=ROOT),
    "nesterov-inside-groups": {
        "optimizer": INSIDE | {"nesterov": True, "weight_decay": 0.1} | GROUPS,
        "schedule": START,
    },
    "adam-before": half(DYNAMIC, optimizer=ADAM | BEFORE, schedule=COSINE),
    "adam-before-l2": {"optimizer": ADAM | BEFORE | L2, "accumulation": TOKENS},
    "adam-raw": half(CUMULATIVE, optimizer=ADAM | RAW, clipping=EACH_NORM | {"eps": 0.0} | FEW),
    "adamw-before": half(DYNAMIC, optimizer=ADAMW | BEFORE, ema=EMA),
    "adamw-before-everywhere": {"optimizer": ADAMW | BEFORE | {"no_decay": []}, "clipping": NORM},
    "adamw-raw-before": {"optimizer": ADAMW | RAW | BEFORE, "schedule": START},
    "adamw-groups": half(DYNAMIC, optimizer=ADAMW | GROUPS, clipping=NORM | EMBEDDINGS, ema=EMA),
    "adamw-full": full(FULL, optimizer=ADAMW, clipping=NORM),
    "adamw-full-sums": full(FULL, optimizer=ADAMW | GROUPS, accumulation=OWN_SUMS, ema=EMA),
    "adamw-full-bfloat16": full(FULL_BFLOAT16, optimizer=ADAMW, accumulation=OWN_SUMS),
    "sgd-full": full(FULL, optimizer=SGD, clipping=EACH_NORM),
    "lamb": {"optimizer": LAMB, "clipping": NORM},
    "lamb-dynamic": half(DYNAMIC, optimizer=LAMB | {"always_adapt": False}, schedule=COSINE),
    "lamb-raw-everywhere": {"optimizer": LAMB | RAW | {"no_decay": []}, "schedule": ROOT},
    "lamb-no-decay": {"optimizer": LAMB | {"weight_decay": 0.0, "always_adapt": False}},
    "lamb-groups": half(CUMULATIVE, optimizer=LAMB | GROUPS | {"always_adapt": False}),
    "lion": half(DYNAMIC, optimizer=LION, clipping=NORM),
    "lion-decay": {"optimizer": LION | L2, "schedule": COSINE, "ema": EMA},
    "lion-groups": {"optimizer": LION | GROUPS, "accumulation": TOKENS},
    "adafactor": {"optimizer": ADAFACTOR, "schedule": COSINE},
    "adafactor-dynamic": half(DYNAMIC, optimizer=ADAFACTOR | L2, clipping=NORM),
    "adafactor-odd": {
        "optimizer": ADAFACTOR
        | {"beta2_decay": -0.5, "eps": [0.01, 0.5], "clip_threshold": 1.5}
        | GROUPS,
        "accumulation": BY_BATCH,
    },
    "adafactor-full": full(FULL, optimizer=ADAFACTOR, ema=EMA),
}
# The same with Keras 2.
OLD = "@2.15"
for _name in ("sgd", "sgd-cumulative-tokens", "momentum-l2-hysteresis", "nesterov-inside"):
    CASES[f"{_name}{OLD}"] = CASES[_name]
for _name in ("adam-raw", "adam-before", "adamw-groups", "adamw-full-sums", "adamw-xla"):
    CASES[f"{_name}{OLD}"] = CASES[_name]
for _name in ("lamb-dynamic", "lion-decay", "adafactor-dynamic", "sgd-l2-groups-exempt"):
    CASES[f"{_name}{OLD}"] = CASES[_name]
SCALED = [name for name, sections in CASES.items() if "loss_scaling" in sections]
MORE = {
    *("adam-l2-everywhere", "adam-before-l2", "adamw-everywhere", "adamw-kernels-only"),
    *("adamw-no-decay", "adamw-before-everywhere", "momentum-inside-l2", "nesterov-inside-groups"),
    *("lamb-raw-everywhere", "lamb-no-decay", "lamb-groups", "lion-groups", "adafactor-odd"),
    *("nesterov", "adamw", "adamw-hysteresis", "adamw-static", "adamw-before", "sgd-full", "lion"),
    *("adafactor-full", "adafactor", "sgd", "sgd-dynamic-value", "adamw-full-bfloat16"),
    *("lamb", "nesterov-inside", "sgd-l2-flush", "momentum-cosine", "adamw-full"),
    *("sgd-l2-groups-exempt", "adam", "adamw-raw-before", "adamw-groups"),
}
"""Further combinations of what other cases exercise."""
QUICK = [name for name in CASES if not name.endswith(OLD) and name not in MORE] + [f"adam-raw{OLD}"]


def of_tier(names: Iterable[str]) -> list[Any]:
    """Return names of cases, each in its tier."""
    every = list(names)
    quick = [name for name in every if name in QUICK]
    return cases(every, quick=quick, reason="more combinations, and the same recipes with Keras 2")


EACH = pytest.mark.parametrize("name", of_tier(CASES))


@dataclass(frozen=True)
class Ran:
    """One case: what the emitted step did, and what the reference says."""

    recipe: Recipe
    rows: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]
    compilations: dict[str, int]
    refused: dict[str, str]
    expected: Trace


def make_recipe(name: str) -> Recipe:
    batch = {"micro_batch_size": 2, "global_batch_size": 8}
    return tiny_recipe(**{"name": name.removesuffix(OLD), "batch": batch, **CASES[name]})


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All cases that are asked for, run in one process for each generation of Keras."""
    root = tmp_path_factory.mktemp("steps")
    recipes = {name: make_recipe(name) for name in selected(request, "name") or CASES}
    toys = {name: make_toy(recipe) for name, recipe in recipes.items()}
    for name, recipe in recipes.items():
        target = f"tensorflow{OLD}" if name.endswith(OLD) else "tensorflow"
        toys[name].save(emit(recipe, target, root / name, form="step"))
    program = Path(__file__).with_name("run_steps_tensorflow.py")
    new = [root / name for name in recipes if not name.endswith(OLD)]
    old = [root / name for name in recipes if name.endswith(OLD)]
    found = run_python(program, "tensorflow", *new, timeout=600)
    found |= run_python(program, "tf_keras", "--keras2", *old, timeout=600)
    results = {}
    for name, recipe in recipes.items():
        with np.load(root / name / "steps.npz", allow_pickle=False) as file:
            arrays = dict(file)
        entry = found[str(root / name)]
        expected = toys[name].expected(recipe)
        results[name] = Ran(
            recipe, entry["rows"], arrays, entry["compilations"], entry["refused"], expected
        )
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
    loose = key == "loss" and ran[name].recipe.precision.mode != "none"
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
    moments = {key for key in case.arrays if not key.startswith(("parameters/", "ema/"))}
    wanted = {f"{s}/{n}" for s, tensors in case.expected.state.moments.items() for n in tensors}
    assert moments == wanted
    for key in moments:
        slot, parameter = key.split("/")
        expected = np.stack([row.moments[slot][parameter] for row in case.expected.rows])
        np.testing.assert_allclose(case.arrays[key], expected, rtol=2e-6, atol=1e-6, err_msg=key)


AVERAGED = [name for name, sections in CASES.items() if "ema" in sections]


@pytest.mark.parametrize("name", of_tier(AVERAGED))
def test_averages_after_every_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    for parameter in case.expected.state.parameters:
        expected = np.stack([row.ema[parameter] for row in case.expected.rows])
        found = case.arrays[f"ema/{parameter}"]
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6, err_msg=parameter)


def test_tokens_are_in_the_trace(ran: dict[str, Ran]) -> None:
    for name, case in ran.items():
        if case.recipe.accumulation.normalize_by == "token":
            found, expected = column(case, "tokens")
            assert found == expected
            assert set(found) == {0, 2, 4}
        else:
            assert "tokens" not in case.rows[0], name


@EACH
def test_the_optimizer_counts_updates(ran: dict[str, Ran], name: str) -> None:
    assert [row["iterations"] for row in ran[name].rows] == column(ran[name], "updates")[1]


@pytest.mark.parametrize("name", of_tier(SCALED))
def test_nothing_moves_in_a_skipped_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    skipped = [row["window"] for row in case.rows if row["skipped"]]
    assert {5, 9, 10, 11} <= set(skipped)
    for window in skipped:
        for key, array in case.arrays.items():
            assert array[window].tobytes() == array[window - 1].tobytes(), (window, key)


def test_the_cases_reach_the_edges_of_the_scale(ran: dict[str, Ran]) -> None:
    scales = {name: {row["scale"] for row in ran[name].rows} for name in SCALED if name in ran}
    assert scales["momentum-l2-hysteresis"] == {65536.0, 98304.0}
    natural = [row["window"] for row in ran["adamw-dynamic"].rows if row["skipped"]]
    assert set(natural) - {5, 9, 10, 11}, "no scaled gradient overflowed float16 by itself"


@EACH
def test_short_windows_do_not_compile_again_and_again(ran: dict[str, Ran], name: str) -> None:
    counts = ran[name].compilations
    assert counts["micro_step"] <= 3  # full micro-batches, another size, any size
    # Optimizers of Keras 2 make their variables in the first of two passes, here of a short window.
    stock_keras2 = name.endswith(OLD) and name.startswith("sgd") and "l2" not in name
    assert counts["window_step"] == (2 if stock_keras2 else 1)
    assert counts["full_window"] == 1  # short windows have none
    assert counts.keys() == {"micro_step", "window_step", "full_window"}


def test_another_policy_than_the_recipes_is_refused(ran: dict[str, Ran]) -> None:
    for name, case in ran.items():
        found = {"none": "float32", "full": case.recipe.half}
        wanted = found.get(case.recipe.precision.mode, f"mixed_{case.recipe.half}")
        assert set(case.refused) == {"float32", "mixed_float16", "float16"} - {wanted}, name
        for policy, message in case.refused.items():
            assert message == (
                f"the dtype policy of Keras is {policy}, not {wanted}: "
                "set it before you build the model"
            )


def test_the_cases_cover_every_optimizer(ran: dict[str, Ran]) -> None:
    steps = [canonical_plan(case.recipe).find(Step) for case in ran.values()]
    assert {step.optimizer for step in steps if step} == {
        *("sgd", "adam", "adamw"),
        *("lamb", "lion", "adafactor"),
    }
