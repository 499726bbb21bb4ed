"""Make Paddle build on a CPU the programs that it would build for a GPU, in bfloat16.

Nothing is computed. A program has operations and types, and `auto_cast` puts its casts into it by
Paddle's own lists; the emulation of half precision for CPUs (docs/explanation/half-on-cpu.md) would
have computed in float32 between casts of its own, and kept what a GPU does not keep. Building
checks types against the kernels that exist, though, and a CPU lacks five operations in bfloat16.
Each has a stand-in of other operations, for which is counted what the operation itself keeps:

- a dense layer (`linear_v2`) is a product, which keeps input and weight, and a sum, which keeps
  nothing;
- cross-entropy is that of float32 between two casts; it keeps a number per row and label;
- LayerNorm of halves is two sums. What its gradient reads is noted: input, weight, and a float32
  mean and variance per token;
- softmax of halves is a scaling. Its gradient reads what it returned;
- fused attention is two sums. What the gradient of `flash_attn` reads is noted: query, key, value,
  mask and output, and float32 logarithms, one per head and token, in whole blocks of 128. In
  float32 a GPU has `memory_efficient_attention` instead, whose gradient reads the same.

A stand-in counts as one operation forward and one backward. Programs for a CPU refuse float16 in
most operations, so that it cannot be counted; its lists and its sizes are those of bfloat16.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import paddle
from paddle import _C_ops
from paddle.nn import functional as F
from paddle.nn.layer import norm

BLOCK = 128


@dataclass
class StandIns:
    """What stood in for operations in one program."""

    kept: list[Any] = field(default_factory=list)
    """Values that gradients read whose stand-ins keep nothing."""
    statistics: int = 0
    """Bytes of the float32 numbers that those gradients read in addition."""
    forward: int = 0
    """Operations above one for each stand-in."""
    backward: int = 0
    casts: int = 0
    """Casts among them, of both passes."""

    def install(self) -> None:
        """Replace functions of Paddle; note from now on what stands in here."""
        F.linear = self._linear
        F.scaled_dot_product_attention = self._attention
        F.cross_entropy = self._cross_entropy
        F.layer_norm = norm.layer_norm = self._layer_norm  # nn.LayerNorm has a name of its own
        F.softmax = self._softmax

    def _linear(self, x: Any, weight: Any, bias: Any, name: Any = None) -> Any:
        half = cast_type()
        if half:
            x, weight, bias = (value.astype(half) for value in (x, weight, bias))
        self.forward += 1
        self.backward += 1
        return _C_ops.add(_C_ops.matmul(x, weight, False, False), bias)

    def _cross_entropy(self, logits: Any, labels: Any, **settings: Any) -> Any:
        half = logits.dtype
        if half == paddle.float32:
            return _CROSS_ENTROPY(logits, labels, **settings)
        self.forward += 2
        self.backward += 2
        self.casts += 4
        return _CROSS_ENTROPY(logits.astype("float32"), labels, **settings).astype(half)

    def _layer_norm(
        self, input: Any, normalized_shape: Any, weight: Any, bias: Any, epsilon: float
    ) -> Any:
        x = input
        if x.dtype == paddle.float32 or cast_type():  # which casts to float32
            return _LAYER_NORM(x, normalized_shape, weight, bias, epsilon)
        rows, tokens, _ = x.shape
        self.statistics += 2 * 4 * rows * tokens
        return self._two_sums([x, weight, bias], kept=[x, weight])

    def _softmax(self, x: Any, axis: int = -1) -> Any:
        if x.dtype == paddle.float32 or cast_type():
            return _SOFTMAX(x, axis)
        result = paddle.scale(x, 0.5)
        self.kept.append(result)
        return result

    def _attention(
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        training: bool = True,
    ) -> Any:
        inputs = [query, key, value, *([] if attn_mask is None else [attn_mask])]
        half = cast_type()
        if half:
            inputs = [x.astype(half) for x in inputs]
        rows, tokens, heads, _ = query.shape
        self.statistics += 4 * rows * heads * -(-tokens // BLOCK) * BLOCK
        result = self._two_sums(inputs[:3], kept=inputs)
        self.kept.append(result)
        return result

    def _two_sums(self, values: list[Any], kept: list[Any]) -> Any:
        self.kept += kept
        self.forward += 1
        self.backward += 1
        return _C_ops.add(_C_ops.add(values[0], values[1]), values[2])


_CROSS_ENTROPY, _LAYER_NORM, _SOFTMAX = F.cross_entropy, F.layer_norm, F.softmax


def cast_type() -> str | None:
    """Return the type to which `auto_cast` casts what a dense layer gets; None: it is off."""
    state, off = paddle.base.core._get_amp_attrs(), paddle.base.core.AmpLevel.O0
    return None if state._amp_level == off else str(state._amp_dtype)
