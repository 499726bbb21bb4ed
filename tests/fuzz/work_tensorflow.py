"""Worker of the fuzz tests for TensorFlow: the toy's, with patterns of overflows."""

from __future__ import annotations

import os
from dataclasses import replace
from types import ModuleType
from typing import Any

import tensorflow as tf
from tensorflow import keras

# isort: split
from crosscast_tensorflow.inside.toy import counters, main, set_policy, tensor
from fuzz.walk import walk, window_patterns


class OneWeight(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = self.add_weight(shape=(), name="kernel")


def loss(model: OneWeight, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return tensor(model.weight) * batch["x"]


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    set_policy(step)
    model = OneWeight()
    state = step.TrainState(model, step.make_optimizer(model))
    return window_patterns(step, state, loss, counters, job["length"])


def machine_patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through the emitted LossScale alone."""
    held = [step.LossScale()]
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        scale = held[0].scale
        held[0].adjust(overflow)
        seen.append((scale, overflow, held[0].good, getattr(held[0], "bad", 0)))

    def restore(saved: Any) -> None:
        held[0] = replace(saved)

    walk(job["length"], visit, lambda: replace(held[0]), restore)
    return {"seen": seen}


if __name__ == "__main__":
    tf.config.run_functions_eagerly(os.environ.get("FUZZ_EAGER") == "1")
    main(patterns=patterns, machine_patterns=machine_patterns)
