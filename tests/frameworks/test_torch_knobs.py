"""Emitted PyTorch scripts with half weights, chosen types, averages and optimizers of their own."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.targets.backend import Form
from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe
from frameworks.script_runs import Run
from frameworks.subprocesses import run_python, warm
from frameworks.torch_lab import DROPOUT, DYNAMIC, SCALED, SGD, Lab
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

RATE = {"learning_rate": 1e-3}
FULL = SCALED | {"precision": FLOAT16 | {"mode": "full"}}
EMA = {"ema": {"decay": 0.9}}
EXEMPT = {"kind": "global_norm", "max_norm": 0.1, "exempt": ["layer_norm"]}
GROUPS = {
    "groups": [
        {"parameters": ["bert.embeddings.*"], "rate_factor": 0.0},
        {"parameters": ["classifier.*"], "rate_factor": 3.0, "weight_decay": 0.1},
    ]
}
TWO = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "losses")
RESUMED: dict[str, dict[str, Any]] = {
    "everything": FULL
    | EMA
    | {
        "model": DROPOUT,
        "clipping": EXEMPT,
        "optimizer": {"name": "adamw", **RATE, **GROUPS},
        "loss_scaling": DYNAMIC | {"hysteresis": 2, "hysteresis_mode": "cumulative"},
        "activation_checkpointing": True,
    },
    "stored half": SCALED
    | {
        "version": 2,
        "model": DROPOUT,
        "ema": {"decay": 0.9},
        "clipping": EXEMPT,
        "optimizer": {"name": "adamw", **RATE, **GROUPS},
        "loss_scaling": DYNAMIC,
    },
    "half sums": FULL
    | {"accumulation": {"dtype": "compute"}, "optimizer": SGD | {"momentum": 0.9}},
    "keras momentum": {"optimizer": SGD | {"momentum": 0.9, "rate_in_momentum": True}},
    "raw moments": {"optimizer": {"name": "adamw", **RATE, "bias_correction": False}},
    "lamb": {"optimizer": {"name": "lamb", **RATE}},
    "lion": {"optimizer": {"name": "lion", **RATE}, **EMA},
    "adafactor": {"optimizer": {"name": "adafactor", **RATE}},
    "own adafactor": {"optimizer": {"name": "adafactor", **RATE}},
}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def same_weights(run: Run, other: Run, file: str = "model.safetensors") -> None:
    found, expected = load_file(run.output / file), load_file(other.output / file)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert array.tobytes() == expected[name].tobytes(), name


@pytest.mark.parametrize(
    "name",
    cases(
        RESUMED,
        quick=["everything", "stored half"],
        reason="resuming with every optimizer and form",
    ),
)
def test_resuming_changes_nothing(lab: Lab, name: str) -> None:
    target = "torch@2.1" if name.startswith("own") else "torch"
    script = lab.script_for(target, "run", **RESUMED[name])
    whole, _, last = lab.ended(
        script,
        ("whole", "--windows", 12),
        ("parts", "--windows", 7),
        ("parts", "--windows", 12, "--resume"),
    )
    assert whole.trace == last.trace
    assert whole.status["eval"] == last.status["eval"]
    assert whole.trace[-1]["updates"] > 2
    same_weights(whole, last)
    if "ema" in RESUMED[name]:
        same_weights(whole, last, "ema.safetensors")


@exhaustive("averages that are evaluated; `make test` has test_averages")
def test_the_average_is_evaluated_beside_the_weights(lab: Lab) -> None:
    script = lab.script("run", **EMA)
    (run,) = lab.ended(script, ("out",))
    averages = load_file(run.output / "ema.safetensors")
    assert averages.keys() == run.weights.keys()
    status = run.status["eval"]
    assert status.keys() == {"loss", "accuracy", "ema_loss", "ema_accuracy"}
    assert status["ema_loss"] != status["loss"]
    file = run.output / "ema.safetensors"
    frozen = {"name": "constant", "total_steps": 1, "warmup_steps": 1}  # its one rate is 0
    (again,) = lab.ended(lab.script("still", schedule=frozen), ("out", "--weights", file))
    assert again.status["eval"]["loss"] == status["ema_loss"]


def test_frozen_groups_and_factors(lab: Lab) -> None:
    script = lab.script("run", optimizer={"name": "adamw", **RATE, **GROUPS})
    (first, last) = lab.ended(script, ("a", "--windows", 1), ("b", "--windows", 8))
    for name, array in first.weights.items():
        moved = np.abs(array - last.weights[name]).max() > 0
        assert moved == (not name.startswith("bert.embeddings.")), name


@pytest.mark.parametrize(
    "precision",
    cases([{}, {"precision": BFLOAT16}], quick=[{"precision": BFLOAT16}], reason="in float32, too"),
    ids=["float32", "bfloat16"],
)
def test_recomputed_activations_change_nothing(lab: Lab, precision: dict[str, Any]) -> None:
    sections = {"model": DROPOUT, **precision}
    (kept,) = lab.ended(lab.script("kept", **sections), ("out", "--windows", 5))
    again = lab.script("again", activation_checkpointing=True, **sections)
    assert "checkpoint(layer" in again.with_name("model.py").read_text()
    (recomputed,) = lab.ended(again, ("out", "--windows", 5))
    assert recomputed.trace == kept.trace
    same_weights(recomputed, kept)


def test_half_weights_train_like_float32_ones(lab: Lab) -> None:
    (plain,) = lab.ended(lab.script("plain"), ("out",))
    (full,) = lab.ended(lab.script("full", precision=BFLOAT16 | {"mode": "full"}), ("out",))
    losses = [[row["loss"] for row in run.trace] for run in (plain, full)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.02)
    assert losses[1] != losses[0]
    assert {array.dtype for array in full.weights.values()} == {np.dtype("float32")}
    rounded = full.weights["classifier.weight"].view(np.uint32) & 0xFFFF
    assert rounded.any()  # the masters hold more than bfloat16 can


@exhaustive("half weights in two processes")
def test_two_processes_with_half_weights_train_as_one(lab: Lab) -> None:
    # Processes multiply the loss by their number: at the edge of overflow they part.
    sections = FULL | EMA | {"optimizer": SGD, "clipping": EXEMPT | {"eps": 0.0}}
    sections["loss_scaling"] = DYNAMIC | {"init_scale": 1024.0}
    (single,) = lab.ended(lab.script("one", **sections), ("out",))
    script = lab.script("two", **sections, **TWO)
    output = lab.folder / "two" / "out"
    done = lab.shell(script.with_name("launch.sh"), *lab.flags, "--output", output)
    assert done.returncode == 0, done.stderr
    double = Run(output, 0, "", "")
    for row, other in zip(single.trace, double.trace, strict=True):
        for key in ("scale", "skipped", "updates", "rows"):
            assert row[key] == other[key]
        assert other["loss"] == pytest.approx(row["loss"], rel=1e-5)
    for file in ("model.safetensors", "ema.safetensors"):
        found, expected = load_file(double.output / file), load_file(single.output / file)
        for name, array in found.items():
            np.testing.assert_allclose(array, expected[name], atol=2e-5, err_msg=name)


# Rank 0 starts with other weights and statistics than rank 1; both write what they end with.
RANKS_MODEL = """
import atexit
import os

import torch
from torch import nn

from safetensors.torch import save_file


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        rank = int(os.environ["RANK"])
        generator = torch.Generator().manual_seed(rank)
        self.embed = nn.Embedding(128, 8)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)
        self.register_buffer("shift", torch.full((3,), float(rank)))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator)
        atexit.register(self.dump, f"{os.environ['DUMPS']}/{rank}.safetensors")

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.norm(self.embed(input_ids).mean(1).float())) + self.shift

    def dump(self, path):
        tensors = dict(self.named_parameters()) | {"shift": self.shift}
        masters = {n: getattr(t, "master", t).detach() for n, t in tensors.items()}
        save_file({n: t.clone() for n, t in masters.items()}, path)
"""
RANKS_LOOP = """
import os

import torch
from own_models.ranks import Own

import step

torch.manual_seed(0)
torch.distributed.init_process_group("gloo")
model, ids = Own(), torch.arange(8).reshape(4, 2) + 8 * int(os.environ["RANK"])
optimizer = step.make_optimizer(model)
model = torch.nn.parallel.DistributedDataParallel(model)
state = step.TrainState(model, optimizer, torch.device("cpu"))
inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ids)


def loss_fn(model, batch):
    labels = batch.pop("labels")
    return torch.nn.functional.cross_entropy(model(**batch).float(), labels, reduction="sum")


for _ in range(3):
    step.train_window(state, [inputs | {"labels": ids[:, 0] % 3}], loss_fn)
state.model = model = model.module  # as step.py's docstring says
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("form", "mode"),
    cases(
        product(["script", "step"], ["full", "mixed"]),
        quick=[],
        reason="custom models in two processes",
    ),
)
def test_processes_start_with_the_weights_of_the_first(lab: Lab, mode: str, form: Form) -> None:
    own = {"kind": "custom", "factory": {"torch": "own_models.ranks:Own"}}
    sections = {"model": own, "precision": BFLOAT16 | {"mode": mode}, **TWO}
    folder = emit(tiny_recipe(**sections), "torch", lab.folder / "run", form)
    package = folder / "own_models"
    package.mkdir()
    (package / "ranks.py").write_text(RANKS_MODEL)
    (folder / "loop.py").write_text(RANKS_LOOP)
    command: tuple[object, ...] = (
        folder / "launch.sh",
        *lab.flags,
        *("--output", folder / "out", "--windows", 3),
    )
    if form == "step":
        options = ("--standalone", "--nproc-per-node", 2)
        command = (warm("torch"), "-m", "torch.distributed.run", *options, folder / "loop.py")
    done = lab.shell(*command, DUMPS=str(folder))
    assert done.returncode == 0, done.stderr
    first, second = (load_file(folder / f"{rank}.safetensors") for rank in range(2))
    assert first["shift"].max() == 0.0
    for name, array in first.items():
        assert array.dtype == np.float32
        assert array.tobytes() == second[name].tobytes(), name
    if form == "script":
        for name, array in load_file(folder / "out" / "model.safetensors").items():
            assert name not in first or array.tobytes() == first[name].tobytes(), name


def test_operations_compute_in_the_chosen_types(tmp_path: Path) -> None:
    compute = dict.fromkeys(CLASSES, "compute")
    chosen: dict[str, dict[str, Any]] = {
        "stock": {"precision": FLOAT16},
        "full": {"precision": FLOAT16 | {"mode": "full"}},
        "all": {"precision": FLOAT16 | {"ops": compute}},
        "none": {"precision": FLOAT16 | {"ops": dict.fromkeys(CLASSES, "float32")}},
    }
    for name in CLASSES:
        others = dict.fromkeys(CLASSES, "float32") | {name: "compute"}
        chosen[name] = {"precision": FLOAT16 | {"ops": others}}
    for name, sections in chosen.items():
        emit(tiny_recipe(model=DROPOUT, **sections), "torch", tmp_path / name)
    program = Path(__file__).with_name("run_types_torch.py")
    found = run_python(program, "torch", *(tmp_path / name for name in chosen))
    belongs = {
        "linear": "matmul",
        "matmul": "matmul",
        "gelu": "pointwise",
        "tanh": "pointwise",
        "dropout": "pointwise",
        "softmax": "reductions",
        "layer_norm": "reductions",
        "lookup": "embeddings",
        "cross_entropy": "losses",
    }
    for name, sections in chosen.items():
        recipe = tiny_recipe(**sections)
        types = recipe.precision.ops.model_dump()
        expected = {
            op: ["float16" if types[kind] == "half" else "float32"] for op, kind in belongs.items()
        }
        assert found[str(tmp_path / name)] == {"cpu": expected, "cuda": expected}, name


@pytest.mark.parametrize(
    "unit", cases(["sample", "microbatch", "token"], quick=["token"], reason="means of half losses")
)
def test_losses_of_rows_in_half_are_summed_in_float32(tmp_path: Path, unit: str) -> None:
    precision = BFLOAT16 | {"ops": {"losses": "compute"}}
    recipe = tiny_recipe(precision=precision, accumulation={"normalize_by": unit})
    folder = emit(recipe, "torch", tmp_path)
    program = Path(__file__).with_name("run_half_losses_torch.py")
    found = run_python(program, "torch", folder)[str(folder)]
    rows = np.array(found["rows"])
    assert rows.sum() != pytest.approx(float(np.float32(rows.sum()).astype(np.float16)), abs=0.01)
    expected = rows.mean() if unit == "microbatch" else rows.sum()
    assert found["loss"] == pytest.approx(expected, rel=1e-6)
    assert found["evaluate"] == pytest.approx(rows.mean(), rel=1e-6)


@pytest.mark.parametrize(
    "precision",
    cases([FLOAT16, BFLOAT16], quick=[FLOAT16], reason="bfloat16 as float16"),
    ids=["float16", "bfloat16"],
)
def test_a_model_all_in_half_trains(lab: Lab, precision: dict[str, Any]) -> None:
    sections = {"precision": precision | {"ops": dict.fromkeys(CLASSES, "compute")}}
    if precision is FLOAT16:
        sections["loss_scaling"] = DYNAMIC | {"init_scale": 1024.0}
    (run,) = lab.ended(lab.script("run", **sections), ("out",))
    rows = run.trace
    assert rows[-1]["updates"] > 15
    assert rows[-1]["loss"] < rows[0]["loss"]


def test_rows_without_a_label_count_neither_for_the_loss_nor_for_the_evaluation(lab: Lab) -> None:
    with np.load(lab.train, allow_pickle=False) as file:
        rows = dict(file)
    rows["labels"][::2] = -100
    np.savez(lab.folder / "half.npz", **rows)
    kept = {name: array[1::2] for name, array in rows.items()}
    np.savez(lab.folder / "kept.npz", **kept)
    flags = ("--windows", 1, "--train", lab.folder / "half.npz", "--eval", lab.folder / "half.npz")
    sections = {"accumulation": {"normalize_by": "token", "tail": "carry"}, "optimizer": SGD}
    sections |= {"batch": {"micro_batch_size": 4, "global_batch_size": 44}}
    (run,) = lab.ended(lab.script("run", **sections), ("out", *flags))
    (row,) = run.trace
    assert (row["rows"], row["tokens"]) == (44, 22)
    other = ("--windows", 1, "--train", lab.folder / "kept.npz", "--eval", lab.folder / "kept.npz")
    sections = {"optimizer": SGD, "batch": {"micro_batch_size": 4, "global_batch_size": 24}}
    (plain,) = lab.ended(lab.script("plain", **sections), ("out", *other))
    assert row["loss"] == pytest.approx(plain.trace[0]["loss"], rel=1e-6)
    assert run.status["eval"]["loss"] == pytest.approx(plain.status["eval"]["loss"], rel=1e-6)
    assert run.status["eval"]["accuracy"] == plain.status["eval"]["accuracy"]
