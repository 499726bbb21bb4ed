"""Rates in variables, and what other libraries do for TensorFlow programs."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.accumulation import READER as LOOPS
from reading_helpers.program_facts import values_of

LOOP = """
import tensorflow as tf
for inputs, targets in rows:
    with tf.GradientTape() as tape:
        loss = criterion(targets, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    {}, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(("name", "clips"), [("gradients", True), ("_", False), ("small", False)])
def test_clipped_gradients_that_nothing_reads(name: str, clips: bool) -> None:
    program, _ = read_program([Source("train.py", LOOP.format(name))])
    fields = {fact.field for fact in LOOPS.read(program)}
    assert ("clipping.value" in fields) is clips


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
