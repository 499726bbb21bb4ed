"""The emitted Paddle script from end to end: what a run writes, resumes, shares and refuses."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import TINY, tiny_recipe
from frameworks.paddle_lab import DYNAMIC, SCALED, Lab, finished, same
from frameworks.script_runs import Run
from tiers import cases

pytestmark = pytest.mark.paddle

ROW = ["window", "n_micro", "rows", "loss", "lr", "grad_norm", "scale", "skipped", "updates"]
DROPOUT: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
MOMENTUM = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.01}
AVERAGE: dict[str, Any] = {"ema": {"decay": 0.9}}
NORM: dict[str, Any] = {"clipping": {"kind": "global_norm", "max_norm": 0.3}}
HYSTERESIS = DYNAMIC | {"hysteresis": 2}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def start(lab: Lab) -> tuple[str, Path]:
    """The flag that lets every framework start with the same weights."""
    model = tiny_recipe().model
    assert isinstance(model, BertModel)
    save(lab.folder / "start.safetensors", bert_weights(model, 3, 0.02))
    return ("--weights", lab.folder / "start.safetensors")


def test_a_run_leaves_trace_weights_and_status(lab: Lab) -> None:
    (run,) = lab.ended(lab.script("run"), ("out",))
    rows, status = run.trace, run.status
    assert all(sorted(row) == sorted(ROW) for row in rows)
    assert [row["window"] for row in rows] == list(range(20))
    assert [(row["rows"], row["n_micro"]) for row in rows[:4]] == [
        (16, 4),
        (16, 4),
        (12, 3),
        (16, 4),
    ]
    assert {(row["scale"], row["skipped"]) for row in rows} == {(1.0, False)}
    assert [row["updates"] for row in rows] == list(range(1, 21))
    assert rows[-1]["loss"] < rows[0]["loss"]
    model = tiny_recipe().model
    assert isinstance(model, BertModel)
    assert {n: a.shape for n, a in run.weights.items()} == bert_shapes(model)
    assert status.pop("eval").keys() == {"loss", "accuracy"}
    assert status.pop("versions").keys() == {"paddle", "numpy"}
    counts = {"windows": 20, "updates": 20, "exit_code": 0}
    assert status == {"status": "finished", "message": "", "device": "cpu"} | counts


RESUMED: dict[str, dict[str, Any]] = {
    "adamw with dropout": DROPOUT,
    "adam with L2": {
        "optimizer": TINY["optimizer"] | {"name": "adam", "no_decay": ["bias"]},
        "accumulation": {"tail": "carry"},
    },
    "momentum": {
        "optimizer": MOMENTUM,
        "schedule": {"name": "cosine", "total_steps": 15, "tick": "attempt"},
        "data": TINY["data"] | {"shuffle": False},
    },
    "sgd": {"optimizer": {"name": "sgd", "learning_rate": 0.05}},
}


@pytest.mark.parametrize(
    "name", cases(RESUMED, quick=["adamw with dropout"], reason="resuming with more recipes")
)
def test_resuming_changes_nothing(lab: Lab, name: str) -> None:
    whole, *_, last = lab.ended(
        lab.script("run", **RESUMED[name]),
        ("whole", "--windows", 14),
        ("parts", "--windows", 5),
        ("parts", "--windows", 8, "--resume", "--checkpoint-every", 2),
        ("parts", "--windows", 14, "--resume"),
    )
    same(whole, last)


@pytest.mark.parametrize(
    "scaling",
    cases(
        [HYSTERESIS, {"mode": "static", "scale": 512.0}],
        quick=[HYSTERESIS],
        reason="resuming with a static scale",
    ),
    ids=["in a skip streak", "static"],
)
def test_resuming_a_scaled_run_changes_nothing(lab: Lab, scaling: dict[str, Any]) -> None:
    script = lab.script("run", **DROPOUT, **SCALED | {"loss_scaling": scaling})
    faults = ("0:1=inf", "3:0=inf", "4:0=nan", "5:2=inf")
    whole, *_, last = finished(
        lab.with_scaler(
            script,
            ("whole", "--windows", 12),
            ("parts", "--windows", 1),
            ("parts", "--windows", 5, "--resume"),
            ("parts", "--windows", 12, "--resume"),
            faults=faults,
        )
    )
    assert [row["window"] for row in whole.trace if row["skipped"]] == [0, 3, 4, 5]
    same(whole, last)


def test_a_scale_that_collapses_ends_the_run(lab: Lab) -> None:
    script = lab.script("run", **SCALED, schedule={"name": "constant", "total_steps": 60})
    faults = [f"{window}:0=inf" for window in range(60)]
    (run,) = lab.with_scaler(script, ("out",), faults=faults)
    assert (run.code, run.traceback) == (1, "")
    assert run.status["status"] == "stopped"
    assert "25 windows were skipped" in run.stderr
    assert [row["scale"] for row in run.trace[:12]] == [*(2.0**k for k in range(10, -1, -1)), 1.0]
    assert len(run.trace) == 35
    assert run.status["updates"] == 0


@pytest.mark.parametrize("sections", [{}, SCALED], ids=["float32", "float16 switched off"])
def test_a_loss_that_is_not_finite_ends_the_run(lab: Lab, sections: dict[str, Any]) -> None:
    script = lab.script("run", **sections, optimizer=MOMENTUM | {"learning_rate": 2.0**32})
    (run,) = lab.main(script, ("out", "--use_fp16=false"))
    assert (run.code, run.traceback) == (1, "")
    assert run.status["status"] == "stopped"
    assert "not finite" in run.stderr
    assert run.trace[-1]["loss"] is None


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for key in ROW:
        ours, theirs = ([row[key] for row in rows] for rows in (found, expected))
        if key in ("loss", "lr", "grad_norm"):
            np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-5, err_msg=key)
        else:
            assert ours == theirs, key


ALIKE: dict[str, dict[str, Any]] = {
    "adamw": NORM,
    "momentum": NORM | {"optimizer": MOMENTUM},
    "adafactor": {"optimizer": {"name": "adafactor", "learning_rate": 1e-2}, **AVERAGE},
    "lamb": {"optimizer": {"name": "lamb", "learning_rate": 1e-2}},
}


@pytest.mark.parametrize(
    "name", cases(ALIKE, quick=[], reason="beside PyTorch; see test_three_frameworks")
)
@pytest.mark.torch
def test_float32_is_what_torch_does_and_checkpoints_are_exchanged(
    lab: Lab, start: tuple[str, Path], name: str
) -> None:
    scripts = {t: lab.script(t, t, **ALIKE[name]) for t in ("torch", "paddle")}
    runs: dict[str, list[Run]] = {}
    for framework, script in scripts.items():
        orders = (("whole", *start), ("parts", *start, "--windows", 7))
        runs[framework] = lab.ended(script, *orders, framework=framework)
    taken = {}
    for first, other in (("torch", "paddle"), ("paddle", "torch")):
        folder = lab.folder / first / "taken"
        folder.mkdir()
        shutil.copy(runs[other][1].output / "checkpoint.safetensors", folder)
        (taken[first],) = lab.ended(scripts[first], ("taken", "--resume"), framework=first)
    rows = runs["torch"][0].trace
    assert_same(runs["paddle"][0].trace, rows)
    assert_same(taken["paddle"].trace, rows[7:])
    assert_same(taken["torch"].trace, rows[7:])


@pytest.mark.torch
def test_a_loss_scale_survives_the_way_from_torch_and_back(lab: Lab) -> None:
    sections = SCALED | {"loss_scaling": DYNAMIC | {"init_scale": 2.0**20}}
    torch_script = lab.script("torch", "torch", **sections)
    whole, torch_run = lab.ended(
        torch_script, ("whole", "--windows", 7), ("out", "--windows", 6), framework="torch"
    )
    assert {row["skipped"] for row in torch_run.trace} == {True, False}
    expected = whole.trace[6]["scale"]
    script = lab.script("paddle", **sections)
    for name in ("scaled", "off"):
        (lab.folder / "paddle" / name).mkdir()
        shutil.copy(torch_run.output / "checkpoint.safetensors", lab.folder / "paddle" / name)
    finished(lab.with_scaler(script, ("scaled", "--resume", "--windows", 9)))
    lab.ended(script, ("off", "--resume", "--windows", 9, "--use_fp16=false"))
    goes_on, off = (Run(lab.folder / "paddle" / name, 0, "", "") for name in ("scaled", "off"))
    assert goes_on.trace[0]["scale"] == expected
    assert [row["scale"] for row in off.trace] == [1.0] * 3
    shutil.copy(off.output / "checkpoint.safetensors", lab.folder / "paddle" / "scaled")
    (again,) = finished(lab.with_scaler(script, ("scaled", "--resume", "--windows", 10)))
    assert again.trace[-1]["scale"] == expected


def test_wrong_input_is_told_and_not_traced(lab: Lab) -> None:
    folder, script = lab.folder, lab.script("run")
    (run,) = lab.ended(script, ("out", "--windows", 1))
    (folder / "text.npz").write_text("not an npz file")
    np.savez(folder / "unlabelled.npz", input_ids=np.zeros((4, 8), np.int32))
    np.savez(folder / "uneven.npz", input_ids=np.zeros((4, 8)), labels=np.zeros(3))
    few = {n: a for n, a in run.weights.items() if "pooler" not in n}
    save_file(few, folder / "few.safetensors")
    odd = run.weights | {"bert.pooler.dense.bias": np.zeros(3, np.float32)}
    save_file(odd, folder / "odd.safetensors")
    (run.output.parent / "foreign").mkdir()
    weights = run.output / "model.safetensors"
    shutil.copy(weights, run.output.parent / "foreign" / "checkpoint.safetensors")
    (run.output.parent / "moved").mkdir()
    shutil.copy(run.output / "checkpoint.safetensors", run.output.parent / "moved")
    wrong: list[tuple[tuple[object, ...], str]] = [
        (("a", "--train", folder / "none.npz"), "none.npz"),
        (("b", "--train", folder / "text.npz"), "text.npz"),
        (("c", "--eval", folder / "unlabelled.npz"), "labels"),
        (("d", "--train", folder / "uneven.npz"), "equal length"),
        (("e", "--weights", folder / "text.npz"), "text.npz"),
        (("f", "--weights", folder / "few.safetensors"), "bert.pooler.dense"),
        (("g", "--weights", folder / "odd.safetensors"), "bert.pooler.dense.bias"),
        (("h", "--resume"), "checkpoint.safetensors"),
        (("foreign", "--resume"), "another recipe"),
        (("moved", "--resume", "--train", folder / "eval.npz"), "training rows, not 10"),
        (("i", "--windows", 0), "--windows"),
        (("j", "--device", "tpu"), "--device"),
    ]
    for (_, words), found in zip(
        wrong, lab.main(script, *(flags for flags, _ in wrong)), strict=True
    ):
        found.refused(words)


FACTORY = """\
import paddle
from paddle import nn


class Classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(128, 16)
        self.frozen = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.register_buffer("seen", paddle.zeros([1]))
        self.head = nn.Linear(16, 3)
        for parameter in self.frozen.parameters():
            parameter.stop_gradient = True

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = nn.functional.dropout(self.table(input_ids), 0.1, training=self.training)
        weights = attention_mask.astype("float32").unsqueeze(-1)
        if self.training:
            self.seen.add_(paddle.ones([1]))
        return self.head(self.norm(self.frozen((x * weights).mean(1))))
"""


@pytest.mark.parametrize(
    "optimizer",
    cases([TINY["optimizer"], MOMENTUM], quick=[MOMENTUM], reason="with another optimizer"),
    ids=["adamw", "momentum"],
)
def test_a_model_of_the_users_own(lab: Lab, optimizer: dict[str, Any]) -> None:
    model = {"kind": "custom", "factory": {"paddle": "my_models.classifier:Classifier"}}
    optimizer = optimizer | {"no_decay": ["bias", "embedding"]}
    script = lab.script("run", model=model, optimizer=optimizer)
    package = script.parent / "my_models"
    package.mkdir()
    (package / "classifier.py").write_text(FACTORY)
    whole, *_, last = lab.ended(
        script, ("whole",), ("parts", "--windows", 5), ("parts", "--resume")
    )
    same(whole, last)
    layers = ("frozen", "norm", "head")
    kinds = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    assert set(whole.weights) == kinds | {"table.weight", "seen"}
    assert whole.weights["seen"] == sum(row["n_micro"] for row in whole.trace)
    assert whole.trace[0]["loss"] == pytest.approx(math.log(3), rel=0.5)
    moments = load_file(whole.output / "checkpoint.safetensors")
    found = {name for name in moments if name.startswith("optimizer/")}
    slots = {"momentum_buffer"} if "momentum" in optimizer else {"exp_avg", "exp_avg_sq"}
    trained = {"table.weight", *(name for name in kinds if "frozen" not in name)}
    assert found == {f"optimizer/{slot}/{name}" for slot in slots for name in trained}
