"""What the emitted PyTorch script says to wrong files and flags: exit code 2, never a traceback."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights
from frameworks.emitted_script import tiny_recipe
from frameworks.subprocesses import warm
from frameworks.torch_lab import SCALED, Lab
from tiers import exhaustive

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def script(lab: Lab) -> Path:
    return lab.script("run")


def npz(path: Path, arrays: Mapping[str, Any] | None = None, drop: str = "") -> Path:
    rng = np.random.default_rng(0)
    rows = {
        "input_ids": rng.integers(4, 128, (6, 8)).astype(np.int32),
        "attention_mask": np.ones((6, 8), np.int32),
        "token_type_ids": np.zeros((6, 8), np.int32),
        "labels": np.zeros(6, np.int32),
    }
    np.savez(path, **{name: a for name, a in (rows | dict(arrays or {})).items() if name != drop})
    return path


def tokens(*shape: int) -> dict[str, np.ndarray]:
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: np.ones(shape, np.int32) for name in names}


def data_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Return wrong data files by what is wrong, with a word that the message must hold."""
    good = npz(folder / "good.npz")
    broken = good.read_bytes()
    (folder / "empty.npz").write_bytes(b"")
    (folder / "text.npz").write_text("input_ids\n")
    (folder / "cut.npz").write_bytes(broken[: len(broken) // 2])
    flipped = bytearray(broken)
    flipped[200] ^= 0xFF
    (folder / "flipped.npz").write_bytes(bytes(flipped))
    np.save(folder / "array.npy", np.zeros((6, 8), np.int32))
    (folder / "folder.npz").mkdir()
    ids = np.full((6, 8), 5, np.int32)
    return {
        "missing": (folder / "none.npz", "none.npz"),
        "a folder": (folder / "folder.npz", "folder.npz"),
        "empty": (folder / "empty.npz", "empty.npz"),
        "text": (folder / "text.npz", "text.npz"),
        "cut": (folder / "cut.npz", "cut.npz"),
        "a flipped bit": (folder / "flipped.npz", "flipped.npz"),
        "one array": (folder / "array.npy", "array.npy"),
        "objects": (npz(folder / "o.npz", {"labels": np.array([{}] * 6)}), "o.npz"),
        "no labels": (npz(folder / "l.npz", drop="labels"), "labels"),
        "no mask": (npz(folder / "m.npz", drop="attention_mask"), "attention_mask"),
        "too long": (npz(folder / "w.npz", tokens(6, 17)), "16 tokens"),
        "unequal": (npz(folder / "u.npz", {"labels": np.zeros(5, np.int32)}), "length"),
        "no length": (npz(folder / "s.npz", {"labels": np.array(0)}), "labels"),
        "no rows": (npz(folder / "z.npz", tokens(0, 8) | {"labels": np.zeros(0, int)}), "row"),
        "an id too large": (npz(folder / "i.npz", {"input_ids": ids + 123}), "input_ids"),
        "a negative id": (npz(folder / "n.npz", {"input_ids": ids - 6}), "input_ids"),
        "a label too large": (npz(folder / "b.npz", {"labels": np.full(6, 3, np.int32)}), "labels"),
        "floats": (npz(folder / "f.npz", {"input_ids": ids * 1.0}), "input_ids"),
        "flat": (npz(folder / "t.npz", {"input_ids": ids[:, 0]}), "input_ids"),
    }


def test_data(lab: Lab, script: Path) -> None:
    files = data_files(lab.folder)
    runs = [
        (f"data-{flag}-{i}", f"--{flag}", path)
        for flag in ("train", "eval")
        for i, (path, _) in enumerate(files.values())
    ]
    found = lab.main(script, *runs)
    cases = [(name, word) for _ in range(2) for name, (_, word) in files.items()]
    for (name, word), run in zip(cases, found, strict=True):
        assert (name, run.traceback) == (name, "")
        assert (name, run.code) == (name, 2)
        assert word in run.stderr, (name, run.stderr)
        assert run.status["status"] == "failed"
        assert run.status["message"] in run.stderr


def raw_tensors(path: Path, dtype: str, width: int, shapes: dict[str, tuple[int, ...]]) -> Path:
    """Write a safetensors file of zeros in a type that NumPy may not know."""
    header, at = {}, 0
    for name, shape in shapes.items():
        size = width * int(np.prod(shape))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))
    return path


def test_arrays_that_the_model_does_not_know_are_left_out(lab: Lab, script: Path) -> None:
    extra = npz(lab.folder / "extra.npz", {"row_names": np.array(["a"] * 6)})
    lab.ended(script, ("extra", "--train", extra, "--eval", extra, "--windows", 2))


def test_weights(lab: Lab, script: Path) -> None:
    folder, model = lab.folder, tiny_recipe().model
    assert isinstance(model, BertModel)
    weights = bert_weights(model, 3, 0.02)
    shapes = {name: array.shape for name, array in weights.items()}
    wrong = weights | {"bert.pooler.dense.bias": np.zeros(3, np.float32)}
    save_file(wrong, folder / "shape.safetensors")
    pooler = {n: a for n, a in weights.items() if "pooler" not in n}
    save_file(pooler, folder / "few.safetensors")
    save_file(weights | {"bert.pooler.dense.bias": np.full(32, np.nan, np.float32)}, folder / "nan")
    (folder / "cut.safetensors").write_bytes((folder / "few.safetensors").read_bytes()[:-9])
    cases = {
        folder / "none.safetensors": "none.safetensors",
        folder: str(folder),
        folder / "text.npz": "text.npz",
        folder / "cut.safetensors": "cut.safetensors",
        folder / "few.safetensors": "bert.pooler.dense.weight",
        folder / "shape.safetensors": "bert.pooler.dense.bias",
        raw_tensors(folder / "bf16.safetensors", "BF16", 2, shapes): "bf16.safetensors",
        raw_tensors(folder / "f8.safetensors", "F8_E4M3", 1, shapes): "f8.safetensors",
    }
    found = lab.main(script, *((f"w{i}", "--weights", path) for i, path in enumerate(cases)))
    for run, word in zip(found, cases.values(), strict=True):
        run.refused(word)


def test_weights_as_hugging_face_has_them(lab: Lab, script: Path) -> None:
    """Half precision, old names of LayerNorm's, no classifier, heads of other tasks."""
    folder, model = lab.folder, tiny_recipe().model
    assert isinstance(model, BertModel)
    weights = bert_weights(model, 3, 0.02)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("Norm.bias", "Norm.beta"): a
        for name, a in weights.items()
        if not name.startswith("classifier")
    }
    heads = {"cls.predictions.bias": np.zeros(128, np.float32)}
    save_file(weights, folder / "new.safetensors")
    save_file(old | heads, folder / "old.safetensors")
    halves = {name: array.astype(np.float16) for name, array in old.items()}
    save_file(halves, folder / "half.safetensors")
    files = ("new.safetensors", "old.safetensors", "half.safetensors")
    runs = lab.ended(script, *((f, "--weights", folder / f, "--windows", 1) for f in files))
    losses = [run.trace[0]["loss"] for run in runs]
    assert losses == pytest.approx([losses[0]] * 3, rel=0.05)  # only the classifier is another
    assert len({run.trace[0]["grad_norm"] for run in runs}) == 3


def edited_checkpoint(source: Path, folder: Path, **change: Any) -> None:
    """Copy a checkpoint without some tensors, with other ones or with other metadata."""
    with safe_open(source, framework="np") as file:
        metadata: dict[str, str] = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    drop = change.get("drop", "?")
    arrays = {name: a for name, a in arrays.items() if drop not in name} | change.get("arrays", {})
    folder.mkdir()
    for name in change.get("forget", ()):
        del metadata[name]
    save_file(arrays, folder / "checkpoint.safetensors", metadata)


@exhaustive("what other wrong input is told; `make test` has test_damaged_files")
def test_checkpoints(lab: Lab) -> None:
    script = lab.script("resumed", **SCALED)
    other = lab.script("other", **SCALED, seed=8)
    good, foreign = (lab.ended(first, ("good", "--windows", 2))[0] for first in (script, other))
    source, top = good.output / "checkpoint.safetensors", good.output.parent
    bias = "bert.pooler.dense.bias"
    changes: dict[str, dict[str, Any]] = {
        "foreign": {},
        "no recipe": {"forget": ["recipe"]},
        "no tensor": {"drop": f"model/{bias}"},
        "shape": {"arrays": {f"model/{bias}": np.zeros(3, np.float32)}},
        "no counters": {"forget": ["counters"]},
        "no moment": {"drop": f"optimizer/exp_avg/{bias}"},
        "moment's shape": {"arrays": {f"optimizer/exp_avg/{bias}": np.zeros(3, np.float32)}},
        "moment of nothing": {"arrays": {"optimizer/exp_avg/nothing": np.zeros(3, np.float32)}},
    }
    for name, change in changes.items():
        start = foreign.output if name == "foreign" else source.parent
        edited_checkpoint(start / source.name, top / name, **change)
    (top / "text").mkdir()
    (top / "text" / source.name).write_text("{}")
    (top / "cut").mkdir()
    (top / "cut" / source.name).write_bytes(source.read_bytes()[:-5])
    names = ["nothing", "text", "cut", *changes]
    for name, run in zip(names, lab.main(script, *((n, "--resume") for n in names)), strict=True):
        assert (name, run.traceback) == (name, "")
        run.refused("checkpoint.safetensors")
        assert ("another recipe" in run.stderr) == (name in ("foreign", "no recipe"))
        if name != "nothing":
            assert (run.output / source.name).exists()
    (moved,) = lab.main(script, ("good", "--resume", "--train", lab.folder / "eval.npz"))
    moved.refused("checkpoint.safetensors", "training rows, not 10")
    again = lab.main(script, ("good", "--resume", "--windows", 3))
    assert [run.code for run in again] == [0]


def test_flags(lab: Lab, script: Path) -> None:
    (lab.folder / "a-file").write_text("")
    cases: list[tuple[tuple[object, ...], str]] = [
        (("--windows", 0), "--windows"),
        (("--windows", "many"), "--windows"),
        (("--checkpoint-every", -1), "--checkpoint-every"),
        (("--threads", 0), "--threads"),
        (("--device", "tpu"), "--device"),
        (("--epochs", 3), "--epochs"),
        (("--output", lab.folder / "a-file"), "a-file"),
        (("--output", lab.folder / "a-file" / "below"), "a-file"),
    ]
    found = lab.main(script, *((f"flags-{i}", *flags) for i, (flags, _) in enumerate(cases)))
    for (flags, word), run in zip(cases, found, strict=True):
        assert (flags, run.traceback) == (flags, "")
        run.refused(word)


@exhaustive("what other wrong input is told; `make test` has test_damaged_files")
def test_a_device_that_is_not_there(lab: Lab, script: Path) -> None:
    (run,) = lab.main(script, ("gpu", "--device", "gpu"))
    assert (run.code, run.traceback) == (3, "")
    assert run.status["status"] == "cannot_run"
    assert "CUDA" in run.stderr


@exhaustive("what other wrong input is told; `make test` has test_damaged_files")
def test_as_a_user_sees_it(lab: Lab, script: Path) -> None:
    done = lab.shell(warm("torch"), script, "--output", lab.folder / "seen")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("failed: cannot read train.npz: ")
    assert len(done.stderr.splitlines()) <= 2


def test_a_window_larger_than_the_data(lab: Lab) -> None:
    few = npz(lab.folder / "few.npz")
    sections = {
        "drop": {"accumulation": {"tail": "drop"}},
        "carry": {"accumulation": {"tail": "carry"}},
    }
    drop, carry = (lab.script(name, **section) for name, section in sections.items())
    lab.main(drop, ("out", "--train", few))[0].refused("6 rows")
    (run,) = lab.ended(carry, ("out", "--train", few, "--windows", 4))
    assert [row["rows"] for row in run.trace] == [16] * 4
