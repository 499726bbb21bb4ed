"""Toy scripts with the seams of emitted ones; they print the gradients of every micro-batch.

Three parameters: `body.weight` times the input `x`, rows of `table.weight` by the input `ids`, and
`head.bias`; the gradients are x, ones in the chosen rows, and ones.
"""

from __future__ import annotations

MAIN = """

def main(argv=None):
    state = make_state()
    for window in range(3):
        batches = [
            {"x": np.array([1.0, 2.0], "float32"), "ids": np.array([0, 1])},
            {"x": np.array([3.0, 4.0], "float32"), "ids": np.array([1, 1])},
        ]
        assert sum(len(batch["ids"]) for batch in batches) == 4
        rows = train_window(state, batches, micro_batch_loss)
        state.windows += 1
        print(json.dumps([{k: list(map(repr, v)) for k, v in row.items()} for row in rows]))
    return 0
"""
HEAD = """
import json
from types import SimpleNamespace

import numpy as np
"""
TORCH = (
    HEAD
    + """
import torch


def make_state():
    shapes = {"body.weight": (2,), "table.weight": (3, 2), "head.bias": (2,), "frozen": (1,)}
    model = {name: torch.ones(shape, requires_grad=True) for name, shape in shapes.items()}
    model["frozen"].requires_grad_(False)
    return SimpleNamespace(windows=0, model=model)


def named_parameters(model):
    return dict(model)


def micro_batch_loss(model, batch):
    rows = torch.nn.functional.embedding(batch["ids"], model["table.weight"])
    return (model["body.weight"] * batch["x"]).sum() + rows.sum() + model["head.bias"].sum()


def train_window(state, micro_batches, loss_fn):
    found = []
    for batch in micro_batches:
        batch = {name: torch.as_tensor(array) for name, array in batch.items()}
        loss = loss_fn(state.model, batch)
        loss.backward()
        row = {"loss": [loss.item()]}
        for name, parameter in state.model.items():
            if parameter.grad is not None:
                row[name] = parameter.grad.flatten().tolist()
                parameter.grad = None
        found.append(row)
    return found
"""
    + MAIN
)
PADDLE = (
    TORCH.replace("import torch\n", "import paddle\n")
    .replace("torch.ones(shape, requires_grad=True)", "leaf(shape)")
    .replace('model["frozen"].requires_grad_(False)', 'model["frozen"].stop_gradient = True')
    .replace("torch.nn", "paddle.nn")
    .replace("torch.as_tensor", "paddle.to_tensor")
    .replace("parameter.grad = None", "parameter.clear_grad()")
    .replace(
        "def named",
        """def leaf(shape):
    ones = paddle.ones(shape)
    ones.stop_gradient = False
    return ones


def named""",
    )
)
TENSORFLOW = (
    HEAD
    + """
import tensorflow as tf


def make_state():
    shapes = {"body.weight": (2,), "table.weight": (3, 2), "head.bias": (2,)}
    model = {name: tf.Variable(tf.ones(shape)) for name, shape in shapes.items()}
    return SimpleNamespace(windows=0, model=model, step=make_step(model))


def named_parameters(model):
    # As Keras has them: a wrapper with the variable as its value.
    return {name: SimpleNamespace(value=variable) for name, variable in model.items()}


def micro_batch_loss(model, batch):
    rows = tf.gather(model["table.weight"], batch["ids"])
    body = tf.reduce_sum(model["body.weight"] * batch["x"])
    return body + tf.reduce_sum(rows) + tf.reduce_sum(model["head.bias"])


def make_step(model):
    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = micro_batch_loss(model, batch)
        gradients = tape.gradient(loss, list(model.values()))
        assert isinstance(gradients[1], tf.IndexedSlices)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    return step


def train_window(state, micro_batches, loss_fn):
    found = []
    for batch in micro_batches:
        loss, gradients = state.step({name: tf.constant(array) for name, array in batch.items()})
        row = {"loss": [float(loss)]}
        for name, gradient in zip(state.model, gradients):
            row[name] = gradient.numpy().ravel().tolist()
        found.append(row)
    if state.windows == 2:
        assert state.step.experimental_get_tracing_count() == 1
    return found
"""
    + MAIN
)
TOYS = {"torch": TORCH, "paddle": PADDLE, "tensorflow": TENSORFLOW}
