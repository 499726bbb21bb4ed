"""CM102: forward passes that are elsewhere than the scaled loss."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import HEAD, START
from unit.migrate.migrating import changed, refused


def test_a_loss_that_another_function_computed() -> None:
    text = f"""{HEAD}{START}
def back(loss):
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
"""
    assert "forward pass that computes loss" in refused("CM102", text)


def test_a_forward_pass_of_the_caller() -> None:
    text = f"""{HEAD}{START}
def update(outputs, targets):
    loss = criterion(outputs, targets)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()

for inputs, targets in loader:
    update(model(inputs), targets)
"""
    assert "forward pass that computes loss" in refused("CM102", text)


@pytest.mark.parametrize(
    "line", ["loss = compute(batch)", "loss = ours.compute(model, batch)", "loss = total(batch)"]
)
def test_a_forward_pass_in_another_function(line: str) -> None:
    text = f"""{HEAD}{START}
def compute(batch):
    inputs, targets = batch
    return criterion(model(inputs), targets)

def total(batch):
    return compute(batch) + 1

for batch in loader:
    {line}
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
"""
    assert f"dtype=torch.float16):\n        {line}\n" in changed("CM102", text)
