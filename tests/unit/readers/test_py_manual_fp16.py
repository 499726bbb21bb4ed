"""Half precision by hand: which models it concerns, and how the loss is scaled."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.manual_fp16 import READER
from torch_programs import read_by

LOOP = """
import torch

LOSS_SCALE = 128.0
model = {model}
masters = [p.detach().clone().float() for p in model.parameters()]
optimizer = torch.optim.SGD(masters, lr=0.1)
for x, y in loader:
    loss = criterion(model(x).float(), y)
    ({loss}).backward()
    for master, param in zip(masters, model.parameters()):
        master.grad = param.grad.float() / LOSS_SCALE
    optimizer.step()
"""


@pytest.mark.parametrize(
    "model", ["Net().half()", "Net().to(device).half()", "Net().to(device).to(torch.float16)"]
)
def test_a_model_that_is_halved_where_it_is_made(model: str) -> None:
    found = read_by(READER, LOOP.format(model=model, loss="loss * LOSS_SCALE"))
    assert found["precision.mode"] == "full"
    assert found["precision.dtypes"] == ("float16",)
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 128.0


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ("Net()", "loss * LOSS_SCALE"),
        ("Net().to(device)", "loss * weight"),
        ("Net().half()", "loss * weight"),
        ("Net().half()", "loss"),
        ("wrap(Net().half())", "loss * LOSS_SCALE"),
    ],
)
def test_no_half_precision_is_made_up(model: str, loss: str) -> None:
    assert "precision.mode" not in read_by(READER, LOOP.format(model=model, loss=loss))


def test_a_teacher_that_is_halved_is_not_trained() -> None:
    text = LOOP.format(model="Net()", loss="loss * LOSS_SCALE")
    found = read_by(READER, text.replace("masters = ", "teacher_model = Net().half()\nmasters = "))
    assert "precision.mode" not in found


PURE = """
import torch

model = Net()
{cast}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    "cast",
    [
        "model.bfloat16()",
        "model = model.to(torch.bfloat16)",
        "model.to(device='cuda', dtype=torch.bfloat16)",
        "model = model.cuda().bfloat16()",
    ],
)
def test_weights_in_bfloat16_without_copies(cast: str) -> None:
    found = read_by(READER, PURE.format(cast=cast))
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "bfloat16"
    assert found["precision.mode"] == "?"
    assert "loss_scaling.mode" not in found


@pytest.mark.parametrize(
    "cast",
    [
        "x = x.bfloat16()",
        "teacher_model = Net().bfloat16()",
        "other_model = Net().to(torch.bfloat16)",
        "model.head.register_buffer('scale', torch.ones(1, dtype=torch.bfloat16))",
        "model = model.to(torch.float32)",
    ],
)
def test_other_tensors_in_bfloat16(cast: str) -> None:
    assert read_by(READER, PURE.format(cast=cast)) == {}
