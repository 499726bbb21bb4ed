"""Rates in variables, and what other libraries do for TensorFlow programs."""

from __future__ import annotations

from reading_helpers.program_facts import values_of

PRIVATE = """
import tensorflow as tf
from private_training import PrivateSGDOptimizer
optimizer = PrivateSGDOptimizer(l2_norm_clip=1.5, noise_multiplier=1.1, learning_rate=0.1)
model.compile(optimizer=optimizer, loss=criterion)
model.fit(rows)
"""


def test_clips_of_private_optimizers() -> None:
    found = values_of(PRIVATE)
    assert (found["clipping.kind"], found["clipping.value"]) == ("global_norm", 1.5)
    assert found["clipping.per"] == "micro"
    query = PRIVATE.replace("PrivateSGDOptimizer(l2", "noisy_sum(l2")
    assert "clipping.kind" not in values_of(query)
