"""The operations that `half_ops.py` compares, and how each framework calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
ROWS, HIDDEN, INNER, CLASSES = 256, 128, 512, 3


def inputs() -> Arrays:
    """The numbers every process computes with."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    return {
        "x": normal((ROWS, HIDDEN)).astype(np.float32),
        "kernel": (normal((HIDDEN, INNER)) * HIDDEN**-0.5).astype(np.float32),
        "bias": (0.1 * normal(INNER)).astype(np.float32),
        "keys": normal((ROWS, HIDDEN)).astype(np.float32),
        "table": normal((64, HIDDEN)).astype(np.float32),
        "ids": rng.integers(0, 64, ROWS),
        "labels": rng.integers(0, CLASSES, ROWS),
        "out": normal((ROWS, INNER)).astype(np.float32),
    }


Operation = Callable[[Any, dict[str, Any]], Any]
"""Takes a toolbox and tensors, returns a tensor; the first tensors named below get gradients."""

OPERATIONS: dict[str, tuple[tuple[str, ...], Operation]] = {
    "linear": (("x", "kernel", "bias"), lambda b, t: b.linear(t["x"], t["kernel"], t["bias"])),
    "matmul": (("x", "keys"), lambda b, t: b.products(t["x"], t["keys"])),
    "linear, gelu in float32": (
        ("x", "kernel", "bias"),
        lambda b, t: b.gelu(b.float(b.linear(t["x"], t["kernel"], t["bias"]))),
    ),
    "matmul, softmax in float32": (
        ("x", "keys"),
        lambda b, t: b.softmax(b.float(b.products(t["x"], t["keys"])) / HIDDEN**0.5),
    ),
    "layer_norm in float32": (("x",), lambda b, t: b.layer_norm(t["x"])),
    "embedding in float32": (("table",), lambda b, t: b.embedding(t["ids"], t["table"])),
    "cross-entropy in float32": (
        ("x", "kernel", "bias"),
        lambda b, t: b.cross_entropy(
            b.float(b.linear(t["x"], t["kernel"], t["bias"]))[:, :CLASSES], t["labels"]
        ),
    ),
    "gelu in half": (("x",), lambda b, t: b.gelu(b.half(t["x"]))),
    "softmax in half": (("x",), lambda b, t: b.softmax(b.half(t["x"]))),
    "layer_norm in half": (("x",), lambda b, t: b.layer_norm(b.half(t["x"]))),
    "add in half": (("x", "keys"), lambda b, t: b.half(t["x"]) + b.half(t["keys"])),
}


class TorchBench:
    """The operations in PyTorch."""

    def __init__(self, dtype: str) -> None:
        import torch

        self.torch, self.f, self.dtype = torch, torch.nn.functional, getattr(torch, dtype)

    def run(self, operation: Operation, wanted: Sequence[str], arrays: Arrays) -> list[Any]:
        tensors = {name: self.torch.tensor(array) for name, array in arrays.items()}
        for name in wanted:
            tensors[name].requires_grad_()
        with self.torch.autocast("cpu", dtype=self.dtype):
            result = operation(self, tensors)
        weights = tensors["out"].flatten()[: result.numel()].reshape(result.shape)
        (result.float() * weights).sum().backward()
        found = [result.detach().float(), *(tensors[name].grad for name in wanted)]
        return [tensor.numpy() for tensor in found]

    def half(self, x: Any) -> Any:
        return x.to(self.dtype)

    def float(self, x: Any) -> Any:
        return x.float()

    def linear(self, x: Any, kernel: Any, bias: Any) -> Any:
        return self.f.linear(x, kernel.t(), bias)

    def products(self, x: Any, y: Any) -> Any:
        return self.torch.matmul(x, y.t())

    def gelu(self, x: Any) -> Any:
        return self.f.gelu(x)

    def softmax(self, x: Any) -> Any:
        return self.f.softmax(x, dim=-1)

    def layer_norm(self, x: Any) -> Any:
        return self.f.layer_norm(x, x.shape[-1:], eps=1e-12)

    def embedding(self, ids: Any, table: Any) -> Any:
        return self.f.embedding(ids, table)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        return self.f.cross_entropy(x, labels, reduction="none")


class PaddleBench:
    """The operations in Paddle."""

    def __init__(self, dtype: str) -> None:
        import paddle

        self.paddle, self.f, self.dtype = paddle, paddle.nn.functional, dtype

    def run(self, operation: Operation, wanted: Sequence[str], arrays: Arrays) -> list[Any]:
        tensors = {name: self.paddle.to_tensor(array) for name, array in arrays.items()}
        for name in wanted:
            tensors[name].stop_gradient = False
        with self.paddle.amp.auto_cast(True, dtype=self.dtype, level="O1"):
            result = operation(self, tensors)
        weights = tensors["out"].flatten()[: result.size].reshape(result.shape)
        (self.float(result) * weights).sum().backward()
        found = [self.float(result.detach()), *(tensors[name].grad for name in wanted)]
        return [tensor.numpy() for tensor in found]

    def half(self, x: Any) -> Any:
        return x.astype(self.dtype)

    def float(self, x: Any) -> Any:
        return x.astype("float32")

    def linear(self, x: Any, kernel: Any, bias: Any) -> Any:
        return self.f.linear(x, kernel, bias)

    def products(self, x: Any, y: Any) -> Any:
        return self.paddle.matmul(x, y, transpose_y=True)

    def gelu(self, x: Any) -> Any:
        return self.f.gelu(x)

    def softmax(self, x: Any) -> Any:
        return self.f.softmax(x, axis=-1)

    def layer_norm(self, x: Any) -> Any:
        return self.f.layer_norm(x, x.shape[-1:], epsilon=1e-12)

    def embedding(self, ids: Any, table: Any) -> Any:
        return self.f.embedding(ids, table)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        return self.f.cross_entropy(x, labels, reduction="none")


class TensorFlowBench:
    """The operations as Keras layers under a mixed policy call them, traced into a graph."""

    def __init__(self, dtype: str) -> None:
        import tensorflow as tf
        from keras import ops

        self.tf, self.ops, self.dtype = tf, ops, dtype

    def run(self, operation: Operation, wanted: Sequence[str], arrays: Arrays) -> list[Any]:
        tf = self.tf

        @tf.function(autograph=False)
        def step(tensors: Any) -> Any:
            with tf.GradientTape() as tape:
                sources = [tensors[name] for name in wanted]
                tape.watch(sources)
                result = operation(self, tensors)
                size = tf.size(result)
                weights = tf.reshape(tf.reshape(tensors["out"], [-1])[:size], tf.shape(result))
                total = tf.reduce_sum(tf.cast(result, tf.float32) * weights)
            gradients = tape.gradient(total, sources)
            return [tf.cast(result, tf.float32), *map(tf.convert_to_tensor, gradients)]

        tensors = {name: tf.constant(array) for name, array in arrays.items()}
        return [tensor.numpy() for tensor in step(tensors)]

    def half(self, x: Any) -> Any:
        return self.ops.cast(x, self.dtype)

    def float(self, x: Any) -> Any:
        return self.ops.cast(x, "float32")

    def linear(self, x: Any, kernel: Any, bias: Any) -> Any:
        return self.ops.add(self.ops.matmul(self.half(x), self.half(kernel)), self.half(bias))

    def products(self, x: Any, y: Any) -> Any:
        return self.ops.matmul(self.half(x), self.ops.transpose(self.half(y)))

    def gelu(self, x: Any) -> Any:
        return self.ops.gelu(x, approximate=False)

    def softmax(self, x: Any) -> Any:
        return self.ops.softmax(x)

    def layer_norm(self, x: Any) -> Any:
        return self.ops.layer_normalization(x, epsilon=1e-12)

    def embedding(self, ids: Any, table: Any) -> Any:
        return self.ops.take(table, ids, axis=0)

    def cross_entropy(self, x: Any, labels: Any) -> Any:
        return self.tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x)


BENCHES = {"torch": TorchBench, "tensorflow": TensorFlowBench, "paddle": PaddleBench}
