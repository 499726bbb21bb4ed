"""Train a program on pixels, or what it was migrated to, from the same weights; print the losses.

    run_several_labels.py FRAMEWORK FOLDER

Without `train.py` in the folder it runs `source.py` and saves the first weights there.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

RATE = 0.5
STARTS = (0, 4)
"""First rows of the batches, of four rows each."""


def main() -> None:
    framework, folder = sys.argv[1], Path(sys.argv[2])
    if not (folder / "train.py").exists():
        print(json.dumps(by_source(folder)))
        return
    weights = dict(np.load(folder / "weights.npz"))
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    train: Any = importlib.import_module("train")
    rows = importlib.import_module("own_rows").train_rows()
    batches = [rows.rows(range(start, start + 4)) for start in STARTS]
    print(json.dumps((by_paddle if framework == "paddle" else by_keras)(train, weights, batches)))


def by_source(folder: Path) -> list[float]:
    import torch

    torch.manual_seed(0)
    names: dict[str, Any] = {}
    before, loop = (folder / "source.py").read_text().split("for x, labels in loader:")
    exec(before, names)
    state = names["model"].state_dict()
    np.savez(folder / "weights.npz", **{name: w.numpy() for name, w in state.items()})
    names["losses"] = []
    exec(f"for x, labels in loader:{loop}    losses.append(loss.item())\n", names)
    return list(names["losses"])


def by_paddle(train: Any, weights: dict[str, Any], batches: list[Any]) -> list[float]:
    import paddle

    model, losses = train.build_model(), []
    for layer in ("0", "2"):
        held = getattr(model, f"layer_{layer}")
        held.weight.set_value(weights[f"{layer}.weight"])
        held.bias.set_value(weights[f"{layer}.bias"])
    optimizer = paddle.optimizer.SGD(RATE, parameters=model.parameters())
    for batch in batches:
        tensors = {name: paddle.to_tensor(array) for name, array in batch.items()}
        loss = train.micro_batch_loss(model, tensors) / float((batch["labels"] != -100).sum())
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def by_keras(train: Any, weights: dict[str, Any], batches: list[Any]) -> list[float]:
    import tensorflow as tf

    model, losses = train.build_model(), []
    for layer in ("0", "2"):
        kernel = weights[f"{layer}.weight"].transpose(2, 3, 1, 0)
        getattr(model, f"layer_{layer}").set_weights([kernel, weights[f"{layer}.bias"]])
    for batch in batches:
        with tf.GradientTape() as tape:
            tensors = {name: tf.constant(array) for name, array in batch.items()}
            loss = train.micro_batch_loss(model, tensors)
            loss = loss / float((batch["labels"] != -100).sum())
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(RATE * gradient)
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    main()
