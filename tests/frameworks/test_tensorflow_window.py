"""A full window of TensorFlow is one call and one fetch, and does what micro-batches alone do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.subprocesses import run_python
from tiers import cases

pytestmark = pytest.mark.tensorflow

DROPOUT: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
SCALED = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic", "init_scale": 2.0**24, "backoff_factor": 2.0**-8},
}
CASES: dict[str, dict[str, Any]] = {
    "float32": DROPOUT,
    "float16": DROPOUT | SCALED | {"ema": {"decay": 0.5}},
    "bfloat16": {"precision": BFLOAT16, "accumulation": {"normalize_by": "token"}},
    "keras2": DROPOUT | SCALED,
    "recomputed": DROPOUT | {"activation_checkpointing": True},
    "xla": {"overrides": {"tensorflow": {"jit_compile": True}}},
}
WAYS = ("windows", "singles")
PROGRAM = Path(__file__).with_name("run_windows_tensorflow.py")


@pytest.mark.parametrize("name", cases(CASES, ("float16",), "other graphs"))
def test_one_call_and_one_fetch_with_the_bits_of_single_micro_batches(
    tmp_path: Path, name: str
) -> None:
    # Every third window is short, and XLA compiles each new size of a micro-batch.
    write_rows(tmp_path / "train.npz", 44 if name == "xla" else 42)
    old = name == "keras2"
    target = "tensorflow@2.15" if old else "tensorflow"
    folder = emit(tiny_recipe(**CASES[name]), target, tmp_path / "tensorflow")
    package = "tf_keras" if old else "tensorflow"
    found, single = (run_python(PROGRAM, package, folder, way) for way in WAYS)
    for n_micro, calls in zip(found["n_micro"], found["calls"], strict=True):
        alone = {"micro_step": n_micro, "window_step": 1}
        made = {"full_window": 1} if n_micro == 4 else alone
        assert calls == made | {"fetches": 1}
    assert set(found["n_micro"]) == {4, 3}
    assert (found["compilations"], single["compilations"]) == (1, 0)
    assert found["rows"] == single["rows"]
    whole, parts = (dict(np.load(folder / f"{way}.npz")) for way in WAYS)
    assert len(whole) > 60
    assert {name: array.tobytes() for name, array in whole.items()} == {
        name: array.tobytes() for name, array in parts.items()
    }
    if "loss_scaling" in CASES[name]:
        assert found["skipped"] == [True, *[False] * 5]
