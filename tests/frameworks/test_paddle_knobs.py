"""Emitted Paddle scripts of unusual recipes: what they resume, and what they have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import tiers
from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks import paddle_cases as cases
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe
from frameworks.paddle_lab import DYNAMIC, Lab, finished, same
from frameworks.step_cases import ADAMW, EPS_HAT, INSIDE, NORM, TOKENS

pytestmark = pytest.mark.paddle

DROPOUT: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
GROUPS = {
    "groups": [
        {"parameters": ["bert.embeddings.*"], "rate_factor": 0.5},
        {"parameters": ["*.layer.[01].*.bias"], "weight_decay": 0.3},
    ]
}
SLOW = {"learning_rate": 1e-3}
TYPES = {"pointwise": "compute", "reductions": "compute", "embeddings": "compute"}
ALL_HALF = {"ops": TYPES | {"losses": "compute"}}
RECOMPUTED: dict[str, Any] = {"activation_checkpointing": True}
NO_HALF = "--use_fp16=false"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


RESUMED: dict[str, dict[str, Any]] = {
    "lion with average": {"optimizer": cases.LION | SLOW | GROUPS, **cases.EMA, **DROPOUT},
    "adafactor": {"optimizer": cases.ADAFACTOR | {"learning_rate": 0.01}, **RECOMPUTED},
    "epsilon hat": {"optimizer": ADAMW | SLOW | EPS_HAT | GROUPS},
    "lamb": {"optimizer": cases.LAMB | GROUPS, "clipping": NORM | cases.BUT_BIAS},
    "rate inside": {"optimizer": INSIDE, "accumulation": TOKENS},
}


@pytest.mark.parametrize(
    "name", tiers.cases(RESUMED, quick=["lion with average"], reason="resuming with more recipes")
)
def test_resuming_changes_nothing(lab: Lab, name: str) -> None:
    whole, *_, last = lab.ended(
        lab.script("run", **RESUMED[name]),
        ("whole", "--windows", 10),
        ("parts", "--windows", 4),
        ("parts", "--windows", 10, "--resume"),
    )
    same(whole, last)
    averaged = "average" in name
    assert (whole.output / "ema.safetensors").exists() == averaged
    expected = {"loss", "accuracy"} | ({"ema_loss", "ema_accuracy"} if averaged else set())
    assert whole.status["eval"].keys() == expected


def test_resuming_a_scaled_run_with_average_and_cumulative_hysteresis(lab: Lab) -> None:
    scaling = DYNAMIC | {"hysteresis": 2, "hysteresis_mode": "cumulative"}
    script = lab.script(
        "run", precision=FLOAT16, loss_scaling=scaling, optimizer=cases.LION | SLOW, **cases.EMA
    )
    whole, *_, last = finished(
        lab.with_scaler(
            script,
            ("whole", "--windows", 12),
            ("parts", "--windows", 5),
            ("parts", "--windows", 12, "--resume"),
            faults=("0:1=inf", "3:0=inf", "4:0=nan", "6:2=inf"),
        )
    )
    assert [row["window"] for row in whole.trace if row["skipped"]] == [0, 3, 4, 6]
    same(whole, last)


def test_the_average_is_that_of_the_weights(lab: Lab) -> None:
    script = lab.script("run", **cases.EMA)
    orders = [(str(count), "--windows", count) for count in (1, 2, 3)]
    initial, *_ = lab.ended(lab.script("first", schedule=FROZEN), ("out", "--windows", 1))
    runs = lab.ended(script, *orders)
    expected = initial.weights
    for run in runs:
        expected = {n: 0.7 * expected[n] + 0.3 * array for n, array in run.weights.items()}
        for name, array in load_file(run.output / "ema.safetensors").items():
            np.testing.assert_allclose(array, expected[name], atol=1e-7, err_msg=name)


TYPED: list[dict[str, Any]] = [
    {"precision": FLOAT16 | ALL_HALF},
    {"precision": FLOAT16 | {"ops": {"matmul": "float32"}}, **DROPOUT},
    {"precision": {"mode": "full", "compute_dtype": "float16"}, **RECOMPUTED},
]
FROZEN = {"name": "linear", "warmup_steps": 3, "total_steps": 20}  # the first rate is 0


@pytest.mark.parametrize(
    "sections",
    tiers.cases([{}, DROPOUT], quick=[DROPOUT], reason="without dropout, too"),
    ids=["plain", "dropout"],
)
def test_checkpointed_activations_change_nothing(lab: Lab, sections: dict[str, Any]) -> None:
    traces = []
    for name, more in (("kept", {}), ("recomputed", RECOMPUTED)):
        (run,) = lab.ended(lab.script(name, **sections, **more), ("out", "--windows", 5))
        traces.append(run.trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize(
    "sections",
    tiers.cases(TYPED, quick=TYPED[-1:], reason="more types that a CPU does not have"),
    ids=["half", "no products", "half weights"],
)
def test_without_half_the_types_change_nothing(lab: Lab, sections: dict[str, Any]) -> None:
    sections = sections | {"loss_scaling": DYNAMIC}
    plain = {key: value for key, value in sections.items() if key == "model"}
    (run,) = lab.ended(lab.script("plain", **plain), ("out", "--windows", 5))
    (typed,) = lab.ended(lab.script("typed", **sections), ("out", "--windows", 5, NO_HALF))
    assert [row["loss"] for row in typed.trace] == [row["loss"] for row in run.trace]
    assert typed.weights.keys() == run.weights.keys()


STORED: dict[str, dict[str, Any]] = {
    "copies": {"precision": FLOAT16, "loss_scaling": DYNAMIC},
    "types": {"precision": BFLOAT16 | {"ops": {"pointwise": "float32", "losses": "half"}}},
    "weights": {"precision": BFLOAT16 | {"mode": "full"}},
}


@pytest.mark.parametrize(
    "name", tiers.cases(STORED, quick=["copies"], reason="more types that a CPU does not have")
)
def test_without_half_nothing_is_stored_in_it(lab: Lab, name: str) -> None:
    two = {"version": 2, **DROPOUT}
    (run,) = lab.ended(lab.script("plain", **two), ("out", "--windows", 5))
    flag = NO_HALF if "loss_scaling" in STORED[name] else "--use_bf16=false"
    script = lab.script("stored", **two, **STORED[name])
    (stored,) = lab.ended(script, ("out", "--windows", 5, flag))
    assert [row["loss"] for row in stored.trace] == [row["loss"] for row in run.trace]
    assert stored.weights.keys() == run.weights.keys()


@pytest.mark.parametrize("ops", [ALL_HALF, {}], ids=["types", "weights"])
def test_half_is_not_pretended_on_cpu(lab: Lab, ops: dict[str, Any]) -> None:
    mode = "mixed" if ops else "full"
    (run,) = lab.main(lab.script("run", precision=BFLOAT16 | ops | {"mode": mode}), ("out",))
    assert (run.code, run.traceback, run.status["status"]) == (3, "", "cannot_run")


TWO: dict[str, Any] = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
BATCH: dict[str, Any] = {"batch": {"micro_batch_size": 2, "global_batch_size": 16}}
SHARED: dict[str, dict[str, Any]] = {
    "recomputed": RECOMPUTED | {"accumulation": TOKENS, **cases.EMA},
    "half weights": {"precision": {"mode": "full", "compute_dtype": "bfloat16"}},
    "half copies": {"version": 2, "precision": BFLOAT16},
}


FACTORY = """
import paddle
from paddle import nn


def build_model():
    paddle.seed(paddle.distributed.get_rank() + 100)  # other weights in every process
    return nn.Sequential(Inputs(), nn.Linear(8, 4), nn.BatchNorm1D(4), nn.Linear(4, 3))


class Inputs(nn.Layer):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return input_ids.astype("float32") / 100
"""
DIGESTS = """
import sys
import train
from crosscast_parity.inside.emitted import arguments_of, prepared
from runtime.device import select_device
from runtime.state import model_arrays

flags = sys.argv[1:]
device = select_device(arguments_of(train, flags), train.SETTINGS)
arrays = model_arrays(prepared(train, device, flags)).values()
sums = [float(abs(array.astype("float64")).sum()) for array in arrays]
print("SUMS", sums, flush=True)
"""


def test_processes_begin_with_the_weights_of_the_first_one(lab: Lab) -> None:
    sections: dict[str, Any] = {"precision": {"mode": "full", "compute_dtype": "bfloat16"}}
    sections["model"] = {"kind": "custom", "factory": {"paddle": "own:build_model"}}
    script = lab.script("two", **TWO, **BATCH, **sections)
    (lab.folder / "own.py").write_text(FACTORY)
    (script.with_name("digest.py")).write_text(DIGESTS)
    launch = script.with_name("launch.sh")
    launch.write_text(launch.read_text().replace("train.py", "digest.py"))
    order = ("--device", "cpu", "--output", lab.folder / "out", "--use_bf16=false")
    done = lab.shell("bash", launch, *lab.flags, *order)
    logs = sorted((lab.folder / "runs/tiny-paddle/log").glob("workerlog.*"))
    sums = [[li for li in log.read_text().splitlines() if li.startswith("SUMS")] for log in logs]
    assert len(sums) == 2, done.stdout + done.stderr
    assert sums[0] == sums[1] != []


@pytest.mark.parametrize(
    "name", tiers.cases(SHARED, quick=[], reason="two processes; see test_paddle_launch")
)
def test_two_processes_train_as_one(lab: Lab, name: str) -> None:
    sections = SHARED[name] | {"clipping": NORM | {"max_norm": 0.3} | cases.BUT_BIAS}
    flag = ("--use_bf16=false",) if "precision" in sections else ()
    model = tiny_recipe().model
    assert isinstance(model, BertModel)
    initial = lab.folder / "start.safetensors"
    save(initial, bert_weights(model, 3, 0.02))
    order = ("--weights", initial, "--windows", 8, *flag)
    (whole,) = lab.ended(lab.script("one", **sections), ("out", *order))
    launch = lab.script("two", **TWO, **BATCH, **sections).with_name("launch.sh")
    output = lab.folder / "two" / "out"
    done = lab.shell("bash", launch, *lab.flags, "--device", "cpu", "--output", output, *order)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (output / "trace.jsonl").read_text().splitlines()]
    for key in ("loss", "grad_norm", "rows", "lr"):
        found, expected = (np.array([row[key] for row in some]) for some in (rows, whole.trace))
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=key)
    for array_name, array in load_file(output / "model.safetensors").items():
        np.testing.assert_allclose(array, whole.weights[array_name], rtol=0, atol=1e-5)
