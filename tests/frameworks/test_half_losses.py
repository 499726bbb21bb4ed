"""`precision.ops.losses: compute`: rows in the half type, their sum or mean in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe
from frameworks.subprocesses import run_python
from tiers import cases

ROWS, ONE = 2048, 60.1
"""Every row has this loss; in float16 the sum of all rows is inf. Paddle knows none above 64."""
ROUNDED = 60.09375
PROGRAM = """
import json
import sys
import types
import numpy as np
from crosscast_parity.inside.emulate import install

device = "cpu"
framework, emulated = sys.argv[1:]
if emulated == "True":
    install(f"crosscast_{framework}.inside")
import train

logits = np.zeros((ROWS, 3), "float32")
logits[:, 1] = ONE
arrays = {"logits": logits, "labels": np.zeros(ROWS, "int32")}
if framework == "torch":
    import torch as library

    device = library.device("cpu")
    tensors = {name: library.tensor(array) for name, array in arrays.items()}
    base = library.nn.Module
elif framework == "paddle":
    import paddle as library

    tensors = {name: library.to_tensor(array) for name, array in arrays.items()}
    base = library.nn.Layer
elif framework == "jax":
    import jax.numpy as library
    from flax import nnx

    tensors = {name: library.asarray(array) for name, array in arrays.items()}
    base = nnx.Module
else:
    import tensorflow as library

    tensors = {name: library.constant(array) for name, array in arrays.items()}
    base = object


class Model(base):
    def forward(self, logits):
        return logits

    __call__ = base.__call__ if framework in ("torch", "paddle") else forward


if framework == "tensorflow":
    model = lambda logits, training: logits
else:
    model = Model()
state = types.SimpleNamespace(model=model, device=device, amp=False)
if framework == "jax":
    state.graph, weights, rest = nnx.split(model, nnx.Param, ...)
    state.arrays = train.Arrays(weights, rest, None)
print(json.dumps({
    "loss": float(train.micro_batch_loss(model, tensors)),
    "eval": train.evaluate(state, [arrays])["loss"],
}))
"""
EACH = pytest.mark.parametrize(
    "framework",
    [
        pytest.param(n, marks=getattr(pytest.mark, n))
        for n in ("torch", "tensorflow", "paddle", "jax")
    ],
)


@EACH
@pytest.mark.parametrize(
    "unit", cases(["sample", "microbatch", "token"], quick=["token"], reason="every unit of means")
)
def test_rows_are_in_half_and_their_sum_is_not(tmp_path: Path, framework: str, unit: str) -> None:
    sections: dict[str, Any] = {
        "model": TINY["model"],
        "precision": FLOAT16 | {"ops": {"losses": "compute"}},
        "batch": {"micro_batch_size": ROWS, "global_batch_size": ROWS},
        "accumulation": {"normalize_by": unit},
    }
    folder = emit(tiny_recipe(**sections), framework, tmp_path / framework)
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("ROWS", str(ROWS)).replace("ONE", str(ONE)))
    found = run_python(program, framework, framework, framework == "paddle")
    rows = 1 if unit == "microbatch" else ROWS
    assert found == {"loss": ROUNDED * rows, "eval": ROUNDED}
