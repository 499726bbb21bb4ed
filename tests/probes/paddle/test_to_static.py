"""What paddle.jit.to_static does to gradients that are being accumulated.

`make false-alarms` compares with programs that mean the same; a model made static is none. The
shipped BERT shows it; a model of two dense layers did not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle

PROGRAM = """
import json

import model as shipped
import numpy as np
import paddle

paddle.seed(0)
plain, static = shipped.build_model(), shipped.build_model()
static.set_state_dict(plain.state_dict())
static = paddle.jit.to_static(static)


def backward(model, rows):
    ids = paddle.full([rows, 8], 5, "int64")
    given = {"attention_mask": paddle.ones([rows, 8], "int64")}
    logits = model(input_ids=ids, token_type_ids=paddle.zeros([rows, 8], "int64"), **given)
    paddle.nn.functional.cross_entropy(logits, paddle.zeros([rows], "int64")).backward()
    return model.classifier.bias.grad.numpy().copy()


def accumulated(model):
    return [backward(model, rows) for rows in (4, 2)]


found = {"plain": accumulated(plain), "static": accumulated(static)}
static.clear_gradients()
found["again"] = accumulated(static)
print(json.dumps({name: np.array(arrays).tolist() for name, arrays in found.items()}))
"""


def test_a_new_number_of_rows_loses_the_gradients_so_far(tmp_path: Path) -> None:
    program = emit(tiny_recipe(), "paddle", tmp_path) / "program.py"
    program.write_text(PROGRAM)
    found: dict[str, Any] = run_python(program, "paddle")
    first, both = found["plain"]
    second = [b - a for a, b in zip(first, both, strict=True)]
    assert found["static"][0] == pytest.approx(first, abs=1e-6)
    assert found["static"][1] == pytest.approx(second, abs=1e-6)  # and nothing of the first
    assert found["again"][1] == pytest.approx(both, abs=1e-6)  # both shapes are known by now
