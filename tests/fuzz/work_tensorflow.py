"""Worker of the fuzz tests for TensorFlow: the toy's, with patterns of overflows."""

from __future__ import annotations

import os
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

# isort: split
from crosscast_tensorflow.inside.toy import counters, main, set_policy, tensor
from fuzz.walk import walk


class OneWeight(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = self.add_weight(shape=(), name="kernel")


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    set_policy(step)
    model = OneWeight()
    state = step.TrainState(model, step.make_optimizer(model))
    seen: list[Any] = []

    def loss(model: OneWeight, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        return tensor(model.weight) * batch["x"]

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], loss)
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> Any:
        machine = getattr(state, "loss_scale", None)
        return machine and replace(machine)

    def restore(saved: Any) -> None:
        if saved:
            state.loss_scale = replace(saved)

    walk(job["length"], visit, save, restore)
    return {"seen": seen}


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
