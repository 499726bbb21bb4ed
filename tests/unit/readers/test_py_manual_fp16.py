"""Models that are halved where they are made."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.manual_fp16 import READER
from reading_helpers.torch_programs import read_by

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
