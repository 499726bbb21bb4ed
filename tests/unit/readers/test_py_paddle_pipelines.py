"""Micro-batches that a pipeline of Paddle's fleet splits every batch into."""

from __future__ import annotations

import pytest

from program_facts import values_of

FLEET = """
from paddle.distributed import fleet

strategy = fleet.DistributedStrategy()
strategy.pipeline_configs = {configs}
fleet.init(is_collective=True, strategy=strategy)
model = fleet.distributed_model(model)
optimizer = fleet.distributed_optimizer(optimizer)
for batch in loader:
    loss = model.train_batch(batch, optimizer=optimizer)
"""


@pytest.mark.parametrize(
    ("configs", "steps"),
    [
        ('{"accumulate_steps": 8, "micro_batch_size": 2}', 8),
        ("dict(accumulate_steps=4, micro_batch_size=2)", 4),
        ('{"accumulate_steps": 1, "micro_batch_size": 4}', None),
        ('{"micro_batch_size": 4}', None),
        ("settings", None),
    ],
)
def test_pipelines(configs: str, steps: int | None) -> None:
    found = values_of(FLEET.format(configs=configs))
    assert found.get("accumulation.steps") == steps
    assert ("accumulation.present" in found) is (steps is not None)
    if steps is not None:
        assert found["accumulation.loss_divided"] == "library"


def test_configurations_of_something_else() -> None:
    text = FLEET.replace("strategy", "options").format(configs='{"accumulate_steps": 8}')
    text = text.replace("fleet.DistributedStrategy()", "ours.Options()")
    assert "accumulation.steps" not in values_of(text)
