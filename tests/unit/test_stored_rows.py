"""Rows of any source as npz files, as parity, sweep and plan take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.inputs.stored import stored_rows
from frameworks.emitted_script import tiny_recipe

OWN = {"kind": "custom", "factory": {"torch": "net:make"}}
MODULE = """
import numpy as np


class Rows:
    def __len__(self):
        return 5

    def rows(self, indices):
        x = [np.full(i + 1, i / 2) for i in indices]
        return {"x": x, "labels": np.array(indices) % 2, "file": np.ones(len(indices))}


def train_rows():
    return Rows()


def failing_rows():
    raise RuntimeError("no such table")
"""
TOKENS: dict[str, np.ndarray] = {
    "input_ids": np.arange(40).reshape(5, 8),
    "attention_mask": np.ones((5, 8), bool),
    "token_type_ids": np.zeros((5, 8), np.uint8),
    "labels": np.array([0, 1, 2, 0, 1], np.int32),
}


def recipe_of(data: dict[str, Any], **sections: Any) -> Recipe:
    return tiny_recipe(data=data, **sections)


def custom(train: str = "own_rows:train_rows") -> Recipe:
    data = {"source": "custom", "train": train, "eval": "own_rows:train_rows"}
    return recipe_of(data, model=OWN)


def test_an_npz_file_is_used_where_it_is(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", labels=np.zeros(3))
    data = {"source": "npz", "train": "rows.npz", "eval": "rows.npz", "sequence_length": 8}
    found = stored_rows(recipe_of(data), "train", tmp_path / "out", beside=tmp_path)
    assert found == tmp_path / "rows.npz"
    assert not (tmp_path / "out").exists()


def test_npy_files_become_an_npz_file(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for name, array in TOKENS.items():
        np.save(tmp_path / "rows" / f"{name}.npy", array)
    data = {"source": "npy", "train": "rows", "eval": "rows", "sequence_length": 8}
    path = stored_rows(recipe_of(data), "eval", tmp_path / "out", beside=tmp_path)
    with np.load(path) as file:
        assert file.files == list(TOKENS)
        assert all(np.array_equal(file[name], array) for name, array in TOKENS.items())
        assert {file[name].dtype for name in TOKENS} == {np.dtype(np.int64)}


@pytest.mark.parametrize("count", [0, 2])
def test_rows_of_a_function_are_read_in_a_process(tmp_path: Path, count: int) -> None:
    (tmp_path / "own_rows.py").write_text(MODULE)
    path = stored_rows(custom(), "train", tmp_path / "out", beside=tmp_path, count=count)
    with np.load(path) as file:
        assert file["labels"].tolist() == [0, 1, 0, 1, 0][: count or 5]
        assert file["x"].dtype == np.float32
        assert file["file"].tolist() == [1.0] * (count or 5)
        assert file["x"][-1].tolist() == ([2.0] * 5 if not count else [0.5, 0.5])


def test_what_is_not_there(tmp_path: Path) -> None:
    data = {"source": "npy", "train": "rows", "eval": "rows", "sequence_length": 8}
    with pytest.raises(DiagnosticError, match="CC601") as found:
        stored_rows(recipe_of(data), "train", tmp_path / "out", beside=tmp_path)
    assert str(tmp_path / "rows") in str(found.value)


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ("own_rows:failing_rows", "no such table"),
        ("own_rows:other_rows", "other_rows"),
        ("another:train_rows", "another"),
    ],
)
def test_a_function_that_fails_is_shown(tmp_path: Path, train: str, words: str) -> None:
    (tmp_path / "own_rows.py").write_text(MODULE)
    with pytest.raises(DiagnosticError, match="CC602") as found:
        stored_rows(custom(train), "train", tmp_path / "out", beside=tmp_path)
    assert words in str(found.value)


def test_rows_that_a_script_refuses_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for name, array in (TOKENS | {"labels": np.array([0, 1, 2, 0, 9])}).items():
        np.save(tmp_path / "rows" / f"{name}.npy", array)
    data = {"source": "npy", "train": "rows", "eval": "rows", "sequence_length": 8}
    with pytest.raises(DiagnosticError, match="`labels` must be from 0 to 2"):
        stored_rows(recipe_of(data), "train", tmp_path / "out", beside=tmp_path)
