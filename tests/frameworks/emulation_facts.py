"""Small computations under emulation, one framework: `emulation_facts.py FRAMEWORK`; prints JSON.

Float32 is computed before and after the emulation is installed. Every number is written as text,
so that inf and nan survive.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from crosscast_parity.inside.emulate import install

X = [[1 + 2**-12, 1e-8, 2049.0, 70000.0]]
TINY = (2e-27, -3e-24)
"""Numbers that Paddle's own cast to float16 takes for others."""
Outcome = tuple[Any, Any, Any]
"""Result, gradient of x, gradient of the weight."""


def torch_lab() -> tuple[Callable[..., Outcome], Callable[[str], list[str]]]:
    import torch
    from torch.nn import functional as F

    def linear(x: Any, weight: Any, dtype: str, pull: float, bias: Any = None) -> Outcome:
        x, weight = (torch.tensor(a, requires_grad=True) for a in (x, weight))
        bias = None if bias is None else torch.tensor(bias)
        with torch.autocast("cpu", getattr(torch, dtype or "float16"), enabled=bool(dtype)):
            result = F.linear(x, weight.t(), bias)
        (result.float() * pull).sum().backward()
        return result.detach().float().numpy(), x.grad.numpy(), weight.grad.numpy()

    def types(dtype: str) -> list[str]:
        x = torch.ones(2, 2)
        with torch.autocast("cpu", getattr(torch, dtype)):
            half = torch.matmul(x, x)
            found = [half, half.reshape(4), half.float(), F.gelu(half), half + x]
            found += [F.softmax(half.float(), -1), x @ x, F.layer_norm(x, (2,))]
        return [str(tensor.dtype).removeprefix("torch.") for tensor in found]

    return linear, types


def paddle_lab() -> tuple[Callable[..., Outcome], Callable[[str], list[str]]]:
    import paddle
    from paddle.nn import functional as F

    def linear(x: Any, weight: Any, dtype: str, pull: float, bias: Any = None) -> Outcome:
        x, weight = (paddle.to_tensor(a, stop_gradient=False) for a in (x, weight))
        bias = None if bias is None else paddle.to_tensor(bias)
        with paddle.amp.auto_cast(bool(dtype), dtype=dtype or "float16", level="O1"):
            result = F.linear(x, weight, bias)
        (result.astype("float32") * pull).sum().backward()
        return result.detach().astype("float32").numpy(), x.grad.numpy(), weight.grad.numpy()

    def types(dtype: str) -> list[str]:
        x = paddle.ones([2, 2])
        with paddle.amp.auto_cast(True, dtype=dtype, level="O1"):
            half = paddle.matmul(x, x)
            found = [half, half.reshape([4]), half.astype("float32"), F.gelu(half), half + x]
            found += [F.softmax(half.astype("float32")), x @ x, F.layer_norm(x, [2])]
        return [tensor.dtype.name.lower() for tensor in found]

    return linear, types


def tensorflow_lab() -> tuple[Callable[..., Outcome], Callable[[str], list[str]]]:
    import tensorflow as tf
    from keras import layers, ops

    def linear(x: Any, weight: Any, dtype: str, pull: float, bias: Any = None) -> Outcome:
        dense = layers.Dense(
            weight.shape[1],
            use_bias=bias is not None,
            dtype=f"mixed_{dtype}" if dtype else "float32",
        )
        dense.build(x.shape)
        dense.kernel.assign(weight)
        if bias is not None:
            dense.bias.assign(bias)

        @tf.function  # type: ignore[untyped-decorator]
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = tf.cast(dense(x), tf.float32)
                total = tf.reduce_sum(result * pull)
            return result, *tape.gradient(total, [x, dense.kernel.value])

        result, grad_x, grad_weight = step(tf.constant(x))
        return result.numpy(), grad_x.numpy(), grad_weight.numpy()

    def types(dtype: str) -> list[str]:
        x = ops.ones((2, 2))
        half = layers.Dense(2, dtype=f"mixed_{dtype}")(x)
        found = [half, ops.reshape(half, (4,)), ops.cast(half, "float32"), ops.gelu(half)]
        found += [ops.add(half, x), ops.softmax(ops.cast(half, "float32"))]
        found += [ops.matmul(half, half), layers.LayerNormalization(dtype="float32")(x)]
        return [tensor.dtype.name for tensor in found]

    return linear, types


def jax_lab() -> tuple[Callable[..., Outcome], Callable[[str], list[str]]]:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def linear(x: Any, weight: Any, dtype: str, pull: float, bias: Any = None) -> Outcome:
        layer = nnx.Linear(
            *weight.shape,
            use_bias=bias is not None,
            dtype=getattr(jnp, dtype) if dtype else None,
            rngs=nnx.Rngs(0),
        )
        if bias is not None:
            layer.bias.set_value(jnp.asarray(bias))

        @jax.jit  # type: ignore[untyped-decorator]  # mypy does not look into JAX
        def step(x: Any, weight: Any) -> Any:
            def total(x: Any, weight: Any) -> Any:
                graph, state = nnx.split(layer)
                state["kernel"] = nnx.Param(weight)
                result = nnx.merge(graph, state)(x).astype(jnp.float32)
                return (result * pull).sum(), result

            return jax.grad(total, argnums=(0, 1), has_aux=True)(x, weight)

        (grad_x, grad_weight), result = step(x, weight)
        return np.asarray(result), np.asarray(grad_x), np.asarray(grad_weight)

    def types(dtype: str) -> list[str]:
        kind, x = getattr(jnp, dtype), jnp.ones((2, 2))
        half = nnx.Linear(2, 2, dtype=kind, rngs=nnx.Rngs(0))(x)
        found = [half, half.reshape(4), half.astype(jnp.float32), nnx.gelu(half), half + x]
        found += [nnx.softmax(half.astype(jnp.float32)), half @ half]
        found += [nnx.LayerNorm(2, dtype=jnp.float32, rngs=nnx.Rngs(0))(x)]
        return [str(array.dtype) for array in found]

    return linear, types


LABS = {"torch": torch_lab, "paddle": paddle_lab, "tensorflow": tensorflow_lab, "jax": jax_lab}


def text(array: Any) -> list[str]:
    return [repr(float(value)) for value in np.asarray(array, np.float64).ravel()]


def facts(framework: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    many = rng.standard_normal((64, 32)).astype(np.float32)
    kernel = rng.standard_normal((32, 16)).astype(np.float32)
    bias = rng.standard_normal(16).astype(np.float32)
    linear, types = LABS[framework]()
    before = [array.tobytes().hex() for array in linear(many, kernel, "", 1.0, bias)]
    install(f"crosscast_{framework}.inside")
    found: dict[str, Any] = {
        "float32_same": before
        == [array.tobytes().hex() for array in linear(many, kernel, "", 1.0, bias)]
    }
    x, ones = np.array(X, np.float32), np.ones((1, 1), np.float32)
    for dtype in ("float16", "bfloat16"):
        found[dtype] = {
            "rounded": [text(linear(x[:, i : i + 1], ones, dtype, 1.0)[0])[0] for i in range(4)],
            "sum": text(linear(np.ones((1, 4096), "f4"), np.ones((4096, 1), "f4"), dtype, 1.0)[0]),
            "weight_sum": text(linear(np.ones((4096, 1), "f4"), ones, dtype, 1.0)[2]),
            "overflow": text(linear(ones, ones, dtype, 1e5)[1]),
            "flush": text(linear(ones, ones, dtype, 1e-8)[1]),
            "tiny": [text(linear(ones * x, ones, dtype, 1.0)[0])[0] for x in TINY],
            "tiny_pull": [text(linear(ones, ones, dtype, pull)[1])[0] for pull in TINY],
            "types": types(dtype),
            "apart": float(np.abs(linear(many, kernel, dtype, 1.0)[0] - many @ kernel).max()),
        }
    return found


if __name__ == "__main__":
    print(json.dumps(facts(sys.argv[1])))
