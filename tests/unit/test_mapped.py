"""Tensors as views of a safetensors file: the same values as its own reader gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from crosscast_parity.recordings.mapped_tensors import MappedFile


def test_views_hold_what_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    rng = np.random.default_rng(0)
    tensors = {
        "a": rng.standard_normal((3, 5), np.float32),
        "scalar": np.array(2.5, np.float32),
        "empty": np.zeros((0, 4), np.float32),
        "odd": np.array([np.nan, np.inf, -0.0], np.float32),
    }
    save_file(tensors, path, metadata={"x": "y" * 3})
    mapped: Any = MappedFile(path)
    plain: Any = safe_open(path, framework="numpy")
    assert set(mapped.keys()) == set(tensors)
    assert mapped.metadata() == {"x": "yyy"}
    for key in tensors:
        view, read = mapped.get_tensor(key), plain.get_tensor(key)
        assert (view.dtype, view.shape) == (read.dtype, read.shape)
        assert view.tobytes() == read.tobytes()
        assert not view.flags.writeable


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"a": np.ones(64, np.float32)}, path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SafetensorError):
        MappedFile(path)
