"""The emitted PyTorch step is the reference interpreter's, for every way to configure it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import Trace
from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python
from frameworks.toy_training import FAULTS, make_toy
from tiers import cases, selected

pytestmark = pytest.mark.torch

SGD = {"name": "sgd", "learning_rate": 0.05}
MOMENTUM = SGD | {"momentum": 0.9}
NESTEROV = MOMENTUM | {"nesterov": True}
L2 = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]}
ADAM = {"name": "adam", "learning_rate": 0.05, "eps": 1e-3}
ADAMW = {"name": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}
NORM = {"kind": "global_norm", "max_norm": 1.0}
VALUE = {"kind": "value", "max_value": 0.2}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**14, "growth_interval": 3}
BOUNDS = DYNAMIC | {"min_scale": 6000.0, "max_scale": 2.0**15}
ODD = DYNAMIC | {"growth_factor": 1.5, "backoff_factor": 0.7}
FALLING = DYNAMIC | {"init_scale": 2.0**20}  # the first windows overflow by themselves
HYSTERESIS = DYNAMIC | {"hysteresis": 2, "min_scale": 1e4, "max_scale": 3e4}
PATIENT = FALLING | {"hysteresis": 3, "growth_factor": 1.5, "backoff_factor": 0.7}
INEXACT = DYNAMIC | {"init_scale": 9000.1, "min_scale": 5000.3, "max_scale": 20000.7}
STATIC = {"mode": "static", "scale": 1000.1}
COSINE = {"name": "cosine", "warmup_steps": 4, "total_steps": 25, "end_lr": 0.01}
ATTEMPTS = {"name": "linear", "warmup_steps": 2, "total_steps": 25, "tick": "attempt"}
FLAT = {"name": "constant", "total_steps": 30}
BY_BATCH = {"normalize_by": "microbatch"}
FLUSH = {"tail": "flush"}
PLAIN = {"torch": {"fused_optimizer": False}}


def half(scaling: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"precision": FLOAT16, "loss_scaling": scaling} | sections


CASES: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": SGD},
    "sgd-l2-flush": {"optimizer": SGD | L2, "accumulation": FLUSH, "clipping": NORM},
    "sgd-l2-everywhere": {"optimizer": SGD | {"weight_decay": 0.1}, "schedule": FLAT},
    "sgd-dynamic-value": half(DYNAMIC, optimizer=SGD, clipping=VALUE),
    "sgd-bounds": half(BOUNDS, optimizer=SGD),
    "sgd-floor": half(DYNAMIC | {"min_scale": 12e3}, optimizer=SGD),
    "sgd-no-floor": half(DYNAMIC | {"init_scale": 2.0, "min_scale": None}, optimizer=SGD),
    "momentum-cosine": {"optimizer": MOMENTUM, "schedule": COSINE, "accumulation": BY_BATCH},
    "momentum-falling": half(FALLING, optimizer=MOMENTUM, schedule=FLAT),
    "momentum-hysteresis": half(HYSTERESIS, optimizer=MOMENTUM | L2, clipping=NORM),
    "momentum-static": half(STATIC, optimizer=MOMENTUM, schedule=ATTEMPTS),
    "nesterov": {"optimizer": NESTEROV | L2, "schedule": COSINE},
    "nesterov-falling": half(FALLING, optimizer=NESTEROV | L2, clipping=NORM | {"eps": 0.0}),
    "adam": {"optimizer": ADAM, "schedule": FLAT, "clipping": VALUE},
    "adam-l2-everywhere": {"optimizer": ADAM | {"weight_decay": 0.1}, "clipping": NORM},
    "adam-l2-odd": half(ODD, optimizer=ADAM | L2, accumulation=FLUSH | BY_BATCH),
    "adam-patient": half(PATIENT, optimizer=ADAM, clipping=VALUE, schedule=COSINE),
    "adamw": {"optimizer": ADAMW, "clipping": NORM | {"eps": 1e-3}},
    "sgd-clipped-at-times": {"optimizer": SGD, "clipping": NORM | {"max_norm": 1.6, "eps": 0.0}},
    "adamw-everywhere": {"optimizer": ADAMW | {"no_decay": []}, "schedule": COSINE},
    "adamw-kernels-only": {"optimizer": ADAMW | {"no_decay": ["embedding", "bias", "layer_norm"]}},
    "adamw-no-decay": {"optimizer": ADAMW | {"weight_decay": 0.0}, "schedule": FLAT},
    "adamw-attempts": half(DYNAMIC, optimizer=ADAMW, clipping=NORM, schedule=ATTEMPTS),
    "adamw-falling": half(FALLING, optimizer=ADAMW, schedule=COSINE),
    "adamw-hysteresis": half(HYSTERESIS, optimizer=ADAMW, clipping=NORM | {"eps": 1e-3}),
    "adamw-inexact": half(INEXACT, optimizer=ADAMW),
    "adamw-inexact-patient": half(INEXACT | {"hysteresis": 2}, optimizer=ADAMW),
    "adamw-static": half(STATIC, optimizer=ADAMW, clipping=VALUE),
    "adamw-bfloat16": {"precision": BFLOAT16, "optimizer": ADAMW, "clipping": NORM},
    "stock": half(
        DYNAMIC, optimizer=ADAMW | {"no_decay": []}, clipping=NORM, schedule=FLAT, overrides=PLAIN
    ),
}
for _name in ("sgd-bounds", "nesterov-falling", "adam-l2-odd", "adamw", "adamw-hysteresis"):
    CASES[f"{_name}-plain"] = CASES[_name] | {"overrides": PLAIN}
GROUPS = {
    "groups": [
        {"parameters": ["ker*", "dense.*"], "rate_factor": 0.5},
        {"parameters": ["bias", "shift.*"], "weight_decay": 0.3},
    ]
}
NEVER_MATCHED = {"groups": [{"parameters": ["[!a-z]*"], "weight_decay": 0.5, "rate_factor": 2.0}]}
KERAS = {"rate_in_momentum": True}
EPS_HAT = {"eps_placement": "before_correction"}
RAW = {"bias_correction": False}
LAMB = {"name": "lamb", "learning_rate": 0.05, "weight_decay": 0.1}
LION = {"name": "lion", "learning_rate": 0.01, "weight_decay": 0.1, "no_decay": ["bias"]}
ADAFACTOR = {"name": "adafactor", "learning_rate": 0.05, "weight_decay": 0.1}
CUMULATIVE = HYSTERESIS | {"hysteresis_mode": "cumulative"}
EMA = {"ema": {"decay": 0.9}}
FULL = {"precision": FLOAT16 | {"mode": "full"}}
FULL_BFLOAT16 = {"precision": BFLOAT16 | {"mode": "full"}}
EACH_NORM = {"kind": "per_param_norm", "max_norm": 0.5}
EXEMPT = {"exempt": ["bias", "layer_norm"]}
TOKENS = {"normalize_by": "token"}
POLYNOMIAL = COSINE | {"name": "polynomial", "power": 2.5, "decay_from": "start"}
INVERSE = {"name": "inverse_sqrt", "warmup_steps": 4, "total_steps": 25}
CASES |= {
    "cumulative": half(CUMULATIVE, optimizer=ADAMW),
    "cumulative-3": half(FALLING | {"hysteresis": 3, "hysteresis_mode": "cumulative"}, **EMA),
    "tokens": {"accumulation": TOKENS, "optimizer": SGD},
    "tokens-carried": half(DYNAMIC, accumulation=TOKENS | {"tail": "carry"}, optimizer=ADAMW),
    "each-norm": {"clipping": EACH_NORM, "optimizer": MOMENTUM},
    "each-norm-own": half(DYNAMIC, clipping=EACH_NORM | {"eps": 0.0} | EXEMPT, optimizer=SGD),
    "norm-exempt": {"clipping": NORM | EXEMPT, "optimizer": ADAMW},
    "norm-exempt-own": {"clipping": NORM | {"exempt": ["embedding"], "eps": 0.01}},
    "value-exempt": half(DYNAMIC, clipping=VALUE | {"exempt": ["bias"]}, optimizer=SGD),
    "keras-momentum": {"optimizer": MOMENTUM | KERAS | L2, "schedule": COSINE},
    "keras-nesterov": half(FALLING, optimizer=NESTEROV | KERAS, schedule=COSINE),
    "eps-hat": {"optimizer": ADAMW | EPS_HAT | {"eps": 1e-2}},
    "eps-hat-adam": half(DYNAMIC, optimizer=ADAM | EPS_HAT | L2, schedule=COSINE),
    "raw-moments": {"optimizer": ADAMW | RAW},
    "raw-moments-adam": half(DYNAMIC, optimizer=ADAM | RAW | L2),
    "raw-moments-groups": half(DYNAMIC, optimizer=ADAMW | RAW | GROUPS),
    "lamb": {"optimizer": LAMB},
    "lamb-raw": half(DYNAMIC, optimizer=LAMB | RAW | {"always_adapt": False}, schedule=COSINE),
    "lamb-groups": {"optimizer": LAMB | GROUPS | {"always_adapt": False}},
    "lion": {"optimizer": LION},
    "lion-scaled": half(FALLING, optimizer=LION | GROUPS, clipping=NORM),
    "adafactor": {"optimizer": ADAFACTOR},
    "adafactor-fast": {"optimizer": ADAFACTOR | {"learning_rate": 0.5}},  # bounded by 1/sqrt(t)
    "adafactor-scaled": half(DYNAMIC, optimizer=ADAFACTOR | {"clip_threshold": 1.5} | GROUPS),
    "groups": {"optimizer": ADAMW | GROUPS, "schedule": COSINE},
    "groups-no-decay": {"optimizer": SGD | GROUPS},
    "groups-none": {"optimizer": SGD | {"weight_decay": 0.1} | NEVER_MATCHED},
    "ema": {"optimizer": ADAMW, **EMA},
    "ema-scaled": half(FALLING, optimizer=MOMENTUM, ema={"decay": 0.0}),
    "polynomial": {"optimizer": ADAMW, "schedule": POLYNOMIAL},
    "inverse-sqrt": {"optimizer": SGD, "schedule": INVERSE},
    "bert-decay": half(DYNAMIC, schedule=ATTEMPTS | {"decay_from": "start"}),
    "full": half(DYNAMIC, **FULL),
    "full-everything": half(
        HYSTERESIS, **FULL, **EMA, clipping=NORM | EXEMPT, optimizer=ADAMW | GROUPS
    ),
    "full-half-sums": half(FALLING, **FULL, accumulation={"dtype": "compute"}, optimizer=MOMENTUM),
    "full-bfloat16": {**FULL_BFLOAT16, "clipping": NORM | {"eps": 0.0}, "optimizer": LION},
    "full-bfloat16-sums": {
        **FULL_BFLOAT16,
        "accumulation": {"dtype": "compute"},
        "ema": {"decay": 0.5},
    },
}
# The same with torch.cuda.amp.
OLD = "@2.1"
for _name in ("momentum-falling", "nesterov", "sgd-floor", "adam-patient", "adamw-inexact"):
    CASES[f"{_name}{OLD}"] = CASES[_name]
for _name in ("adamw-static", "adamw-attempts", "sgd-bounds", "adamw-everywhere"):
    CASES[f"{_name}{OLD}"] = CASES[_name]
for _name in (
    "full-everything",
    "adafactor-fast",
    "adafactor-scaled",
    "lamb",
    "raw-moments-groups",
    "keras-nesterov",
):
    CASES[f"{_name}{OLD}"] = CASES[_name]
SCALED = [name for name, sections in CASES.items() if "loss_scaling" in sections]
MORE = {
    *("sgd", "sgd-l2-everywhere", "sgd-dynamic-value", "sgd-floor", "nesterov", "adam"),
    *("adam-l2-everywhere", "adamw-everywhere", "adamw-no-decay", "adamw-attempts"),
    *("adamw-falling", "adamw-inexact-patient", "adamw-static", "momentum-hysteresis"),
    *("adam-l2-odd-plain", "adamw-plain", "nesterov-falling-plain", "adamw-hysteresis-plain"),
    *("cumulative", "tokens", "each-norm", "norm-exempt", "value-exempt", "keras-momentum"),
    *("eps-hat", "raw-moments", "raw-moments-adam", "lamb-groups", "lion", "adafactor"),
    *("groups-no-decay", "ema", "full", "full-bfloat16", "sgd-floor@2.1", "adam-patient@2.1"),
    *("nesterov@2.1", "adamw-static@2.1", "adamw-attempts@2.1", "adamw-everywhere@2.1"),
    *("adafactor-fast@2.1", "lamb@2.1", "keras-nesterov@2.1", "momentum-falling@2.1"),
    *("sgd-l2-flush", "momentum-cosine", "sgd-bounds-plain", "groups", "bert-decay"),
    *("adafactor-scaled", "adamw-inexact@2.1", "sgd-bounds@2.1", "raw-moments-groups@2.1"),
}
"""Further combinations of what other cases exercise."""


def of_tier(names: Iterable[str]) -> list[Any]:
    """Return names of cases, each in its tier."""
    every = list(names)
    return cases(every, [name for name in every if name not in MORE], "more combinations")


EACH = pytest.mark.parametrize("name", of_tier(CASES))


@dataclass(frozen=True)
class Ran:
    """One case: what the emitted step did, and what the reference says."""

    rows: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]
    expected: Trace
    stock: list[dict[str, Any]]


def make_recipe(name: str) -> Recipe:
    batch = {"micro_batch_size": 2, "global_batch_size": 8}
    return tiny_recipe(**{"name": name.removesuffix(OLD), "batch": batch, **CASES[name]})


def target(name: str) -> str:
    return f"torch{OLD}" if name.endswith(OLD) else "torch"


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All cases that are asked for, run in one process."""
    root = tmp_path_factory.mktemp("steps")
    wanted = [name for name in selected(request, "name") if name in CASES] or CASES
    recipes = {name: make_recipe(name) for name in wanted}
    toys = {name: make_toy(recipe) for name, recipe in recipes.items()}
    for name, recipe in recipes.items():
        toys[name].save(emit(recipe, target(name), root / name, form="step"))
    program = Path(__file__).with_name("run_steps_torch.py")
    found = run_python(program, "torch", *(root / name for name in recipes))
    results = {}
    for name, recipe in recipes.items():
        with np.load(root / name / "steps.npz", allow_pickle=False) as file:
            arrays = dict(file)
        entry = found[str(root / name)]
        expected = toys[name].expected(recipe)
        results[name] = Ran(entry["rows"], arrays, expected, entry.get("stock", []))
    return results


@EACH
def test_counts_scales_and_rates_are_exact(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    counted = ("tokens",) if "tokens" in case.rows[0] else ()
    for key in ("window", "n_micro", "rows", "skipped", "updates", "scale", "lr", *counted):
        expected = [getattr(row, key) for row in case.expected.rows]
        assert [row[key] for row in case.rows] == expected, key


@EACH
def test_losses_and_norms(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    for key in ("loss", "grad_norm"):
        found = np.array([row[key] for row in case.rows])
        expected = np.array([getattr(row, key) for row in case.expected.rows])
        finite = np.isfinite(expected)  # of an overflow one says inf, the other nan
        assert (np.isfinite(found) == finite).all()
        np.testing.assert_allclose(found[finite], expected[finite], rtol=2e-6, atol=2e-6)


@EACH
def test_parameters_and_moments_after_every_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    rows = case.expected.rows
    kept = {f"{slot}/{n}" for slot, tensors in rows[0].moments.items() for n in tensors}
    kept |= {f"{kind}/{n}" for kind in ("parameters", "ema") for n in getattr(rows[0], kind)}
    assert kept <= case.arrays.keys()
    for key, found in case.arrays.items():
        slot, parameter = key.split("/")
        if key not in kept:
            assert np.isnan(found).all(), f"{key}: a moment the optimizer does not need"
            continue
        tensors = [getattr(row, slot, None) or row.moments[slot] for row in rows]
        expected = np.stack([tensor[parameter] for tensor in tensors])
        # Moments are made by the first update, or at the first attempt; until then they are 0.
        early = np.array([row.updates == 0 for row in rows])
        early &= np.isnan(found).reshape(len(rows), -1).all(axis=1)
        found[early] = 0.0
        size = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * size, err_msg=key)


@pytest.mark.parametrize("name", of_tier(SCALED))
def test_nothing_moves_in_a_skipped_window(ran: dict[str, Ran], name: str) -> None:
    case = ran[name]
    skipped = [row["window"] for row in case.rows if row["skipped"]]
    assert {window for window, _ in FAULTS} <= set(skipped)
    for window in skipped:
        if case.rows[window]["updates"]:
            for key, array in case.arrays.items():
                assert array[window].tobytes() == array[window - 1].tobytes(), (window, key)


def test_the_cases_reach_the_edges_of_the_scale(ran: dict[str, Ran]) -> None:
    scales = {name: [row["scale"] for row in ran[name].rows] for name in SCALED if name in ran}
    assert (min(scales["sgd-bounds"]), max(scales["sgd-bounds"])) == (6000.0, 2.0**15)
    assert (min(scales["adamw-hysteresis"]), max(scales["adamw-hysteresis"])) == (15e3, 3e4)
    assert min(scales["adam-patient"]) < 2.0**19
    assert len(set(scales["momentum-static"])) == 1
    assert [row["skipped"] for row in ran["momentum-falling"].rows][:3] == [True] * 3
    assert ran["momentum-falling"].rows[-1]["updates"] > 10


def test_some_windows_are_clipped_and_some_are_not(ran: dict[str, Ran]) -> None:
    norms = [row["grad_norm"] for row in ran["sgd-clipped-at-times"].rows]
    assert min(norms) < 1.5 < 1.7 < max(norms)


def test_a_stock_recipe_is_bit_equal_to_a_loop_written_by_hand(ran: dict[str, Ran]) -> None:
    case = ran["stock"]
    assert len(case.stock) == len(case.rows)
    for number, (row, stock) in enumerate(zip(case.rows, case.stock, strict=True)):
        assert row["scale"] == stock["scale"]
        assert repr(row["grad_norm"]) == repr(stock["grad_norm"])
        for name, values in stock["weights"].items():
            found = case.arrays[f"parameters/{name}"][number]
            np.testing.assert_array_equal(found, np.array(values, np.float32))


ALL_EXEMPT = {"exempt": ["embedding"]}
EDGES: dict[str, dict[str, Any]] = {
    "stock": {"clipping": NORM | ALL_EXEMPT},
    "own": {"clipping": NORM | ALL_EXEMPT | {"eps": 0.0}},
    "each": {"clipping": EACH_NORM | ALL_EXEMPT},
    "each-own": {"clipping": EACH_NORM | ALL_EXEMPT | {"eps": 0.0}},
    "value": {"clipping": VALUE | ALL_EXEMPT},
    "none": {},
}
HALVES = {"half": FULL_BFLOAT16, "half@2.1": FULL_BFLOAT16}
NORMS_OF_2_4 = {"half": [], "half@2.1": ["RMSNorm"]}


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Steps whose gradients are few, and steps with half weights, run in one process."""
    root = tmp_path_factory.mktemp("edges")
    old = {f"{name}{OLD}": sections for name, sections in EDGES.items()}
    cases = EDGES | old | HALVES
    for name, sections in cases.items():
        recipe = tiny_recipe(**({"optimizer": SGD} | sections))
        emit(recipe, target(name), root / name, form="step")
    program = Path(__file__).with_name("run_edges_torch.py")
    found = run_python(program, "torch", *(root / name for name in cases))
    return {name: found[str(root / name)] for name in cases}


@pytest.mark.parametrize("old", ["", OLD])
@pytest.mark.parametrize("name", EDGES)
def test_the_norm_of_no_gradients_is_zero(edges: dict[str, Any], name: str, old: str) -> None:
    norms = edges[f"{name}{old}"]["norms"]
    assert norms[3:] == [0.0] * 3  # no gradients at all
    exempt = name != "none"
    assert [norm == 0.0 for norm in norms[:3]] == [exempt] * 3


@pytest.mark.parametrize("name", HALVES)
def test_normalization_layers_keep_float32_weights(edges: dict[str, Any], name: str) -> None:
    # nn.RMSNorm came with 2.4: scripts for older versions cannot name it.
    expected = [*NORMS_OF_2_4[name], "Conv2d", "Embedding", "Linear"]
    assert edges[name]["halves"] == expected


@EACH
def test_the_plan_of_the_backend_means_what_the_canonical_one_does(name: str) -> None:
    recipe = make_recipe(name)
    toy = make_toy(recipe)
    (compiled,) = compile_recipe(recipe, [target(name)], form="step")
    if compiled.plan != canonical_plan(recipe):  # equal ones mean the same
        assert repr(toy.expected(recipe, compiled.plan).rows) == repr(toy.expected(recipe).rows)
