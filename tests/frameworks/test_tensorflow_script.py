"""The emitted TensorFlow script as a user runs it: training, resuming, wrong input."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run, apart, calls
from frameworks.subprocesses import start
from tiers import Lazy, cases, exhaustive, with_exhaustive

pytestmark = pytest.mark.tensorflow

DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**24, "growth_interval": 4}
DROPOUT = {"model": TINY["model"] | {"dropout": 0.1}}
SGD = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.01}
COUNTS = ["window", "n_micro", "rows", "scale", "skipped", "updates"]
ROW = ["window", "n_micro", "rows", "loss", "lr", "grad_norm", "scale", "skipped", "updates"]
VARIANTS: dict[str, dict[str, Any]] = {
    "float32": DROPOUT | {"clipping": {"kind": "global_norm", "max_norm": 1.0}},
    "float16": DROPOUT | {"precision": FLOAT16, "loss_scaling": DYNAMIC, "optimizer": SGD},
    "bfloat16": {"precision": BFLOAT16, "overrides": {"tensorflow": {"jit_compile": True}}},
}
EACH = pytest.mark.parametrize(
    "name", cases(VARIANTS, quick=["float16"], reason="float32; bfloat16 compiled by XLA")
)


class Runs:
    """A folder with a script and its data, and what came of calling its main()."""

    def __init__(self, folder: Path, recipe: Recipe, target: str = "tensorflow") -> None:
        self.target = target
        folder.mkdir(exist_ok=True)
        self.script = emit(recipe, target, folder / "script") / "train.py"
        self.folder, self.model = folder, recipe.model
        self.train = write_rows(folder / "train.npz", 72)
        self.eval = write_rows(folder / "eval.npz", 20, seed=1)

    def arguments(self, output: str, *more: object) -> tuple[Path, tuple[object, ...]]:
        """Output folder and flags of a run; the last of two equal flags counts."""
        flags = ("--train", self.train, "--eval", self.eval, "--device", "cpu", "--threads", 1)
        return self.folder / output, (*flags, *more)

    def call(self, *runs: tuple[Path, tuple[object, ...]]) -> list[Run]:
        """Call main() for every run, all in one process."""
        found = calls(self.script, self.target, runs)
        assert [run.traceback for run in found] == [""] * len(runs)
        return found

    def initial_weights(self) -> tuple[object, ...]:
        """Arguments that start a run from the same weights for every framework."""
        assert isinstance(self.model, BertModel)
        save(self.folder / "initial.safetensors", bert_weights(self.model, 3, 0.02))
        return ("--weights", self.folder / "initial.safetensors")

    def trace(self, output: str) -> list[dict[str, Any]]:
        text = (self.folder / output / "trace.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def status(self, output: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / output / "status.json").read_text())
        return found


@pytest.fixture(scope="module")
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Runs]:
    """Every variant that is asked for: trained in one go, and with a break after window 7."""
    breaks = with_exhaustive(request)

    def train(name: str) -> Runs:
        runs = Runs(tmp_path_factory.mktemp(name), tiny_recipe(**VARIANTS[name]))
        initial = runs.initial_weights()
        asked = [runs.arguments("whole", *initial)]
        if breaks:
            asked += [runs.arguments("parts", *initial, "--windows", 7)]
            asked += [runs.arguments("parts", "--resume")]
        found = apart(runs.script, runs.target, asked)
        assert {run.code for run in found} == {0}, found
        return runs

    return Lazy(train)


@EACH
def test_a_run_leaves_trace_weights_and_status(trained: Mapping[str, Runs], name: str) -> None:
    rows, status = trained[name].trace("whole"), trained[name].status("whole")
    assert [row["window"] for row in rows] == list(range(20))
    assert all(sorted(row) == sorted(ROW) for row in rows)
    assert [row["rows"] for row in rows[:5]] == [16, 16, 16, 16, 8]  # 72 rows an epoch
    assert [row["n_micro"] for row in rows[:5]] == [4, 4, 4, 4, 2]
    assert (status["status"], status["exit_code"], status["windows"]) == ("finished", 0, 20)
    assert status["updates"] == rows[-1]["updates"] == sum(not row["skipped"] for row in rows)
    assert status["device"] == "cpu"
    assert {"tensorflow", "keras", "numpy"} <= set(status["versions"])
    assert 0 < status["eval"]["loss"] < 2
    weights = load_file(trained[name].folder / "whole" / "model.safetensors")
    model = tiny_recipe(**VARIANTS[name]).model
    assert isinstance(model, BertModel)
    assert {n: a.shape for n, a in weights.items()} == bert_shapes(model)
    assert {a.dtype for a in weights.values()} == {np.dtype(np.float32)}


def test_float16_backs_off_and_grows(trained: Mapping[str, Runs]) -> None:
    rows = trained["float16"].trace("whole")
    assert (rows[0]["skipped"], rows[0]["grad_norm"], rows[0]["scale"]) == (True, None, 2.0**24)
    assert rows[0]["loss"] == pytest.approx(math.log(3), rel=0.05)  # the loss itself is fine
    assert rows[-1]["updates"] > 5
    scales = [row["scale"] for row in rows]
    expected, good = [2.0**24], 0
    for row in rows[:-1]:
        good = 0 if row["skipped"] else good + 1
        factor = 0.5 if row["skipped"] else 2.0 if good % 4 == 0 else 1.0
        expected.append(expected[-1] * factor)
    assert scales == expected


@exhaustive("resumed BERT, each run traced again; `make test` has test_tensorflow_frozen")
@pytest.mark.parametrize("name", VARIANTS)
def test_resuming_changes_nothing(trained: Mapping[str, Runs], name: str) -> None:
    folder = trained[name].folder
    traces = [(folder / output / "trace.jsonl").read_bytes() for output in ("whole", "parts")]
    assert traces[0] == traces[1]
    assert trained[name].status("parts") == trained[name].status("whole")
    for file in ("checkpoint.safetensors", "model.safetensors"):
        whole, parts = (load_file(folder / output / file) for output in ("whole", "parts"))
        assert whole.keys() == parts.keys()
        assert all(whole[key].tobytes() == parts[key].tobytes() for key in whole)


@exhaustive("without dropout, too; `make test` has test_masks")
def test_dropout_differs_from_window_to_window(trained: Mapping[str, Runs], tmp_path: Path) -> None:
    plain = Runs(tmp_path, tiny_recipe(**(VARIANTS["float32"] | {"model": TINY["model"]})))
    (found,) = plain.call(plain.arguments("whole", *plain.initial_weights(), "--windows", 2))
    assert found.code == 0, found
    rows = zip(trained["float32"].trace("whole")[:2], plain.trace("whole"), strict=True)
    differences = [with_dropout["loss"] - without["loss"] for with_dropout, without in rows]
    assert 0.0 not in differences
    assert differences[0] != differences[1]  # the first rate is 0: no weight moved


@exhaustive("what wrong input is told; `make test` has test_damaged_files")
def test_wrong_input_is_told_and_not_traced(trained: Mapping[str, Runs]) -> None:
    runs = trained["float16"]
    folder, weights = runs.folder, runs.folder / "whole" / "model.safetensors"
    (folder / "text.npz").write_text("not an npz file")
    np.savez(folder / "unlabelled.npz", input_ids=np.zeros((4, 8), np.int32))
    np.savez(folder / "uneven.npz", input_ids=np.zeros((4, 8)), labels=np.zeros(3))
    arrays = load_file(weights)
    save_file({n: a for n, a in arrays.items() if "pooler" not in n}, folder / "few.safetensors")
    save_file(
        arrays | {"bert.pooler.dense.bias": np.zeros(3, np.float32)}, folder / "odd.safetensors"
    )
    (folder / "foreign").mkdir()
    shutil.copy(weights, folder / "foreign" / "checkpoint.safetensors")
    (folder / "moved").mkdir()
    shutil.copy(folder / "whole" / "checkpoint.safetensors", folder / "moved")
    cases: list[tuple[tuple[object, ...], int, str]] = [
        (("--train", folder / "none.npz"), 2, "none.npz"),
        (("--train", folder / "text.npz"), 2, "text.npz"),
        (("--eval", folder / "unlabelled.npz"), 2, "labels"),
        (("--train", folder / "uneven.npz"), 2, "equal length"),
        (("--weights", folder / "text.npz"), 2, "text.npz"),
        (("--weights", folder / "few.safetensors"), 2, "bert.pooler.dense"),
        (("--weights", folder / "odd.safetensors"), 2, "bert.pooler.dense.bias"),
        (("--resume",), 2, "checkpoint.safetensors"),
        (("--windows", 0), 2, "--windows"),
        (("--device", "tpu"), 2, "--device"),
    ]
    found = runs.call(
        *(runs.arguments(f"wrong-{i}", *more) for i, (more, _, _) in enumerate(cases)),
        runs.arguments("foreign", "--resume"),
        runs.arguments("moved", "--resume", "--train", runs.eval),
    )
    refused = [(2, "another recipe"), (2, "72 training rows, not 20")]
    expected = [*cases, *(((), code, words) for code, words in refused)]
    for (more, code, words), diagnostic in zip(expected, found, strict=True):
        assert (diagnostic.code, words in diagnostic.stderr) == (code, True), (more, diagnostic)
    assert runs.status("wrong-0")["exit_code"] == 2


def test_a_gpu_that_is_not_there_is_missed(trained: Mapping[str, Runs]) -> None:
    runs = trained["float16"]
    (run,) = runs.call(runs.arguments("gpu", "--device", "gpu"))
    assert (run.code, "GPU" in run.stderr) == (3, True), run
    assert runs.status("gpu")["status"] == "cannot_run"


def test_the_command_line(trained: Mapping[str, Runs], tmp_path: Path) -> None:
    script = trained["float16"].script
    shown = start(script, "tensorflow", "--help")
    assert shown.returncode == 0
    for flag in ("--train", "--weights", "--resume", "--device {auto,cpu,gpu}", "--threads"):
        assert flag in shown.stdout
    failed = start(script, "tensorflow", "--output", tmp_path, "--device", "cpu")
    assert failed.returncode == 2
    assert "cannot read train.npz" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize(
    "optimizer",
    cases([TINY["optimizer"], SGD], quick=[], reason="beside PyTorch; see test_three_frameworks"),
    ids=["adamw", "momentum"],
)
@pytest.mark.torch
def test_float32_is_what_torch_does_and_checkpoints_are_exchanged(
    optimizer: dict[str, Any], tmp_path: Path
) -> None:
    recipe = tiny_recipe(optimizer=optimizer, clipping={"kind": "global_norm", "max_norm": 0.3})
    runs = {name: Runs(tmp_path / name, recipe, name) for name in ("torch", "tensorflow")}
    before = {}
    for name, run in runs.items():
        initial = run.initial_weights()
        before[name] = [run.arguments("whole", *initial)]
        before[name] += [run.arguments("parts", *initial, "--windows", 7)]
    taken = {name: run.arguments("taken", "--resume") for name, run in runs.items()}
    found = runs["torch"].call(*before["torch"])
    take_over(runs["torch"], runs["tensorflow"])
    found += runs["tensorflow"].call(*before["tensorflow"], taken["tensorflow"])
    take_over(runs["tensorflow"], runs["torch"])
    found += runs["torch"].call(taken["torch"])
    assert [run.code for run in found] == [0] * 6, found
    rows = runs["torch"].trace("whole")
    assert_same(runs["tensorflow"].trace("whole"), rows)
    assert_same(runs["tensorflow"].trace("taken"), rows[7:])
    assert_same(runs["torch"].trace("taken"), rows[7:])


def take_over(giver: Runs, taker: Runs) -> None:
    """Let one framework go on from the checkpoint of the other."""
    (taker.folder / "taken").mkdir()
    checkpoint = giver.folder / "parts" / "checkpoint.safetensors"
    shutil.copy(checkpoint, taker.folder / "taken" / "checkpoint.safetensors")


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for key in ROW:
        first, other = ([row[key] for row in rows] for rows in (found, expected))
        if key in COUNTS:
            assert first == other, key
        else:
            np.testing.assert_allclose(first, other, rtol=1e-6, err_msg=key)


FACTORY = """\
import keras
from keras import layers


def build():
    ids = keras.Input((8,), dtype="int32", name="input_ids")
    mask = keras.Input((8,), dtype="int32", name="attention_mask")
    types = keras.Input((8,), dtype="int32", name="token_type_ids")
    x = layers.Embedding(128, 16)(ids) + layers.Embedding(2, 16)(types)
    x = layers.BatchNormalization()(layers.Dropout(0.1)(x))
    x = layers.LayerNormalization()(x)
    x = layers.GlobalAveragePooling1D()(x, mask=mask)
    logits = layers.Dense(3)(x)
    return keras.Model({"input_ids": ids, "attention_mask": mask, "token_type_ids": types}, logits)
"""


@exhaustive("a model with more layers of Keras; `make test` has test_own_models")
def test_a_model_of_the_users_own(tmp_path: Path) -> None:
    model = {"kind": "custom", "factory": {"tensorflow": "my_models.classifier:build"}}
    recipe = tiny_recipe(model=model, precision=FLOAT16, optimizer=TINY["optimizer"])
    runs = Runs(tmp_path, recipe)
    package = runs.script.parent / "my_models"
    package.mkdir()
    (package / "classifier.py").write_text(FACTORY)
    found = runs.call(runs.arguments("whole"))
    # A second model in one process would get other names from Keras.
    found += runs.call(runs.arguments("parts", "--windows", 5))
    found += runs.call(runs.arguments("parts", "--resume"))
    assert [run.code for run in found] == [0, 0, 0], found
    rows = runs.trace("whole")
    assert rows == runs.trace("parts")
    assert [row["skipped"] for row in rows] == [False] * 20
    names = load_file(tmp_path / "whole" / "model.safetensors")
    assert len(names) == 10
    assert {name.rpartition("/")[2] for name in names} >= {"gamma", "moving_mean", "kernel"}
