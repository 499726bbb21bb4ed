"""A function that only scales a loss with apex."""

from __future__ import annotations

from crosscast_torch.reading.apex import READER
from reading_helpers.torch_programs import read_by


def test_a_step_alone_leaves_it_to_its_caller() -> None:
    text = "from apex import amp\ndef step(loss, optimizer):\n"
    text += "    with amp.scale_loss(loss, optimizer) as scaled:\n        scaled.backward()\n"
    found = read_by(READER, text)
    assert (found["precision.enabled"], found["loss_scaling.mode"]) == ("caller", "caller")
