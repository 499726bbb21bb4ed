"""How the commands read the user's own rows: types as emitted scripts read them, no tracebacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.data.npz import Dataset
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.inputs.shared import write_inputs
from crosscast_parity.memory.rows import sample_rows
from crosscast_parity.scaling_law.steps import Steps
from crosscast_parity.sweep.prepare import _count
from frameworks.emitted_script import tiny_recipe

OWN = {
    "model": {"kind": "custom", "factory": {"torch": "own:build"}},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "no_decay": []},
}
BY_TOKEN = {"steps": 4, "normalize_by": "token", "tail": "drop"}


def recipe(folder: Path, **sections: Any) -> Recipe:
    rows = {name: str(folder / f"{name}.npz") for name in ("train", "eval")}
    return tiny_recipe(data={"source": "npz", "sequence_length": 8, **rows}, **sections)


def rows(folder: Path, dtype: Any, labels: Any = (0, 1, 2, 0)) -> dict[str, np.ndarray]:
    ids = np.arange(32).reshape(4, 8)
    arrays = {
        "input_ids": ids.astype(dtype),
        "attention_mask": np.ones((4, 8), bool if dtype is not np.int32 else dtype),
        "token_type_ids": np.zeros((4, 8), dtype),
        "labels": np.array(labels, dtype),
    }
    for name in ("train", "eval"):
        np.savez(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    return arrays


def test_rows_in_int32_are_used_where_they_are(tmp_path: Path) -> None:
    rows(tmp_path, np.int32)
    inputs = write_inputs(recipe(tmp_path), tmp_path / "inputs", 0)
    assert inputs.train == tmp_path / "train.npz"
    assert inputs.eval == tmp_path / "eval.npz"


@pytest.mark.parametrize("dtype", [">i8", "uint16", "int8"])
def test_rows_of_other_integers_are_copied_as_int32(tmp_path: Path, dtype: str) -> None:
    arrays = rows(tmp_path, dtype)
    inputs = write_inputs(recipe(tmp_path), tmp_path / "inputs", 0)
    for path in (inputs.train, inputs.eval, inputs.few):
        assert path.parent == tmp_path / "inputs"
        with np.load(path) as file:
            assert {file[name].dtype for name in file.files} == {np.dtype(np.int32)}
            assert all(np.array_equal(file[name], arrays[name]) for name in arrays)


def test_rows_without_a_label_need_normalization_by_token(tmp_path: Path) -> None:
    rows(tmp_path, np.int64, (0, -100, 2, 0))
    write_inputs(recipe(tmp_path, accumulation=BY_TOKEN), tmp_path / "inputs", 0)
    with pytest.raises(DiagnosticError, match=r"train\.npz.*-100.*normalize_by: token") as caught:
        write_inputs(recipe(tmp_path), tmp_path / "inputs", 0)
    assert caught.value.diagnostics[0].code == "CC605"


def test_a_traced_model_gets_rows_as_the_script_reads_them(tmp_path: Path) -> None:
    arrays = {
        "ids": np.zeros((4, 8), np.uint16),
        "known": np.zeros((4, 8), bool),
        "values": np.zeros((4, 2, 3), ">f8"),
        "labels": np.zeros(4, np.float32),
    }
    np.savez(tmp_path / "train.npz", **arrays)  # type: ignore[arg-type]
    found = sample_rows(recipe(tmp_path), tmp_path)
    assert {name: (array.shape[1:], str(array.dtype)) for name, array in found.items()} == {
        "ids": ((8,), "int64"),
        "known": ((8,), "bool"),
        "values": ((2, 3), "float32"),
        "labels": ((), "int64"),
    }


def test_labels_of_other_losses_keep_their_type(tmp_path: Path) -> None:
    labels = np.array([0.5, 1.0, 0.0, 0.25])
    np.savez(tmp_path / "train.npz", ids=np.zeros((4, 8), np.int32), labels=labels)
    found = sample_rows(recipe(tmp_path, loss={"kind": "binary_cross_entropy"}, **OWN), tmp_path)
    assert {name: str(array.dtype) for name, array in found.items()} == {
        "ids": "int64",
        "labels": "float32",
    }


def test_rows_that_vary_in_length_are_as_long_as_the_longest(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np\n\n\n"
        "class Rows:\n"
        "    def __len__(self):\n        return 1000\n\n"
        "    def rows(self, indices):\n"
        "        ids = [np.ones(3 if i < 900 else 9, np.int64) for i in indices]\n"
        "        return {'ids': ids, 'labels': np.zeros(len(ids), np.int64)}\n"
    )
    data = {"source": "custom", "train": "own:Rows", "eval": "own:Rows", "pad_to_multiple_of": 4}
    own = tiny_recipe(data=data, **OWN)
    found = sample_rows(own, tmp_path)
    assert found["ids"].shape == (64, 12)


def test_rows_without_numbers_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "train.npz", names=np.array(["a", "b"]), labels=np.zeros(2))
    with pytest.raises(DiagnosticError, match="`names` is <U1") as caught:
        sample_rows(recipe(tmp_path, **OWN), tmp_path)
    assert caught.value.diagnostics[0].code == "CC602"


@pytest.mark.parametrize("cut", [0, 10, 200, 900])
def test_damaged_rows_are_no_traceback(tmp_path: Path, cut: int) -> None:
    rows(tmp_path, np.int32)
    assert _count(tmp_path / "train.npz") == 4
    whole = (tmp_path / "train.npz").read_bytes()
    for content in (
        whole[:cut],
        whole.replace(b"PK\x01\x02\x2d\x03\x2d\x00\x00", b"PK\x01\x02\x2d\x03\x2d\x00\x01"),
    ):
        (tmp_path / "train.npz").write_bytes(content)
        (tmp_path / "3.npz").write_bytes(content)
        assert content != whole
        assert _count(tmp_path / "train.npz") is None
        for read in (
            lambda: write_inputs(recipe(tmp_path), tmp_path / "inputs", 0),
            lambda: sample_rows(recipe(tmp_path), tmp_path),
            lambda: Dataset.load(tmp_path / "train.npz"),
        ):
            with pytest.raises(DiagnosticError, match="not a readable") as caught:
                read()
            assert caught.value.diagnostics[0].code == "CC602"
        with pytest.raises(DiagnosticError) as caught:
            Steps((), tmp_path).arrays(3)
        assert caught.value.diagnostics[0].code == "CC702"
