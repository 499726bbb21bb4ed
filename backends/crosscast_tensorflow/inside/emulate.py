"""Emulated half precision in TensorFlow: the policy of `emulate` for the functions Keras calls.

The Keras layers cast by their dtype policy, as they do natively, so there is no autocast here. What
`emulate.without_autocast` switches off is the compute type of the policies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from crosscast_parity.inside import emulate

KINDS = {tf.float32: "float32", tf.float16: "float16", tf.bfloat16: "bfloat16"}
FUNCTIONS = {
    "matmul": "matmul",
    "linalg.matmul": "matmul",
    "tensordot": "tensordot",
    "einsum": "einsum",
    "add": "add",
    "math.add": "add",
    "subtract": "subtract",
    "math.subtract": "subtract",
    "multiply": "multiply",
    "math.multiply": "multiply",
    "divide": "divide",
    "math.divide": "divide",
    "nn.bias_add": "bias_add",
    "nn.gelu": "gelu",
    "nn.relu": "relu",
    "nn.tanh": "tanh",
    "tanh": "tanh",
    "math.tanh": "tanh",
    "nn.softmax": "softmax",
    "nn.log_softmax": "log_softmax",
    "reduce_sum": "sum",
    "math.reduce_sum": "sum",
    "reduce_mean": "mean",
    "math.reduce_mean": "mean",
    # Kernels of a CPU sum a half convolution or average in half.
    "nn.convolution": "conv2d",
    "nn.conv_transpose": "conv_transpose2d",
    "nn.depthwise_conv2d": "conv2d",
    "nn.separable_conv2d": "conv2d",
    "nn.avg_pool": "avg_pool2d",
    **{path: path.split(".")[-1] for path in ("nn.silu", "exp", "sqrt", "square", "pow")},
    **{f"math.{name}": name for name in ("exp", "sqrt", "rsqrt", "square", "pow", "sigmoid")},
    "sigmoid": "sigmoid",
    "nn.sigmoid": "sigmoid",
}
"""Public functions, and what the policy calls them; of convolutions whatever their dimensions."""
POLICIES = {"keras.dtype_policies": "DTypePolicy", "tf_keras.mixed_precision": "Policy"}
"""The class of dtype policies by module, for Keras 3 and 2."""


class TensorFlowTensors:
    """TensorFlow for the policy."""

    def kind(self, value: Any) -> str | None:
        """Return the float type of a tensor or variable; a Keras variable says its own."""
        known = isinstance(value, tf.Tensor | tf.Variable) or hasattr(value, "__tf_tensor__")
        return KINDS.get(tf.as_dtype(value.dtype)) if known else None

    def cast(self, value: Any, kind: str) -> Any:
        """Return the tensor in another type."""
        return tf.cast(value, kind)

    def casts_to(self, name: str) -> str | None:
        """Return None: the layers cast."""
        return None

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function."""
        return function(*args, **kwargs)


def install() -> Callable[[Any], None]:
    """Emulate from now on; Keras looks the functions up whenever it calls them."""
    tensors = TensorFlowTensors()
    for path, name in FUNCTIONS.items():
        function = _lookup(tf, path)
        # tf_keras, the Keras 2 of newer releases, takes them from tensorflow.compat.v2.
        for root in (tf, tf.compat.v2):
            *folders, last = path.split(".")
            setattr(_lookup(root, ".".join(folders)), last, _wrapped(tensors, name, function))
    return lambda module: _without_policies()


def _without_policies() -> None:
    """Let policies compute in the type of the variables where autocast is off."""
    for module, name in POLICIES.items():
        policy = getattr(sys.modules.get(module), name, None)
        if policy is not None and not hasattr(policy, "own_compute_dtype"):
            policy.own_compute_dtype = policy.compute_dtype
            policy.compute_dtype = property(_compute_dtype)


def _compute_dtype(policy: Any) -> Any:
    return policy.own_compute_dtype if emulate.autocasts() else policy.variable_dtype


def _lookup(root: Any, path: str) -> Any:
    for part in filter(None, path.split(".")):
        root = getattr(root, part)
    return root


def _wrapped(tensors: TensorFlowTensors, name: str, function: Callable[..., Any]) -> Any:
    def operation(*args: Any, **kwargs: Any) -> Any:
        return emulate.call(tensors, name, function, args, kwargs)

    # AutoGraph would otherwise rewrite the policy along with the script.
    return tf.autograph.experimental.do_not_convert(operation)
