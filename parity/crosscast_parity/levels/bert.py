"""The forward pass of the shipped BERT in NumPy: the oracle of an evaluation, of no framework."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.recipe.loss import CrossEntropy
from crosscast.recipe.model import BertModel
from crosscast.reference.rounding import round_to
from crosscast_parity.inputs.weights import Weights

Array = np.ndarray
CHUNK = 64
"""Rows that are computed together: more need more memory, and are no faster."""
MASKED = -1e9
_STEP = 1 / 256
_TABLE = np.array([math.erf(n * _STEP) for n in range(int(6 / _STEP) + 2)])


@dataclass(frozen=True, slots=True)
class Bert:
    """A model with weights in canonical names and layout, without dropout.

    `dtype` None computes in float64. Otherwise in float32, with what goes in and comes out of
    matrix products rounded to `dtype`, and with `everywhere` the results of all else, too.
    """

    sizes: BertModel
    weights: Weights
    dtype: Dtype | None = None
    everywhere: bool = False

    def logits(self, rows: Mapping[str, Array]) -> Array:
        """Return the logits [rows, labels] of rows of token ids, in float64."""
        count = len(rows["input_ids"])
        parts = [
            self._logits({name: array[at : at + CHUNK] for name, array in rows.items()})
            for at in range(0, count, CHUNK)
        ]
        logits: Array = np.concatenate(parts).astype(np.float64)
        return logits

    def _logits(self, rows: Mapping[str, Array]) -> Array:
        tables = "bert.embeddings.{}_embeddings.weight"
        x = self._weight(tables.format("word"))[rows["input_ids"]]
        x = x + self._weight(tables.format("token_type"))[rows["token_type_ids"]]
        x = x + self._weight(tables.format("position"))[: x.shape[1]]
        x = self._norm("bert.embeddings", x)
        mask = (1.0 - rows["attention_mask"][:, None, None, :].astype(x.dtype)) * MASKED
        for number in range(self.sizes.layers):
            layer = f"bert.encoder.layer.{number}"
            seen = self._dense(f"{layer}.attention.output.dense", self._attention(layer, x, mask))
            x = self._norm(f"{layer}.attention.output", self._rounded_pointwise(x + seen))
            inner = self._rounded_pointwise(_gelu(self._dense(f"{layer}.intermediate.dense", x)))
            x = self._norm(
                f"{layer}.output",
                self._rounded_pointwise(x + self._dense(f"{layer}.output.dense", inner)),
            )
        pooled = self._rounded_pointwise(np.tanh(self._dense("bert.pooler.dense", x[:, 0])))
        return self._dense("classifier", pooled)

    def _attention(self, layer: str, x: Array, mask: Array) -> Array:
        rows, tokens, hidden = x.shape
        heads = self.sizes.attention_heads
        query, key, value = (
            self._dense(f"{layer}.attention.self.{part}", x)
            .reshape(rows, tokens, heads, hidden // heads)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = self._product(query, key.transpose(0, 1, 3, 2)) / math.sqrt(hidden // heads)
        scores = scores + mask
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares = self._rounded_pointwise(shares / shares.sum(-1, keepdims=True))
        return self._product(shares, value).transpose(0, 2, 1, 3).reshape(rows, tokens, hidden)

    def _dense(self, name: str, x: Array) -> Array:
        product = self._product(x, self._weight(f"{name}.weight").T)
        return self._rounded(product + self._rounded(self._weight(f"{name}.bias")))

    def _product(self, a: Array, b: Array) -> Array:
        return self._rounded(np.matmul(self._rounded(a), self._rounded(b)))

    def _norm(self, name: str, x: Array) -> Array:
        centered = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centered**2).mean(-1, keepdims=True) + self.sizes.layer_norm_eps)
        scaled = centered / spread * self._weight(f"{name}.LayerNorm.weight")
        return self._rounded_pointwise(scaled + self._weight(f"{name}.LayerNorm.bias"))

    def _weight(self, name: str) -> Array:
        return self.weights[name].astype(np.float32 if self.dtype else np.float64)

    def _rounded(self, x: Array) -> Array:
        return round_to(x, self.dtype) if self.dtype else x

    def _rounded_pointwise(self, x: Array) -> Array:
        return self._rounded(x) if self.everywhere else x


def row_losses(logits: Array, labels: Array, loss: CrossEntropy) -> Array:
    """Return the cross-entropy of every row, smoothed and weighted as the recipe says."""
    top = logits.max(-1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(-1))
    chosen: Array = total - logits[np.arange(len(labels)), labels]
    if loss.label_smoothing:
        spread = total - logits.mean(-1)
        chosen = (1.0 - loss.label_smoothing) * chosen + loss.label_smoothing * spread
    if loss.class_weights:
        chosen = chosen * np.asarray(loss.class_weights, chosen.dtype)[labels]
    return chosen


def _gelu(x: Array) -> Array:
    activated: Array = (0.5 * x * (1.0 + _erf(x / math.sqrt(2)))).astype(x.dtype)
    return activated


def _erf(x: Array) -> Array:
    """Return the error function within 1e-11: a table, and three terms of the series between."""
    size = np.fmin(np.abs(x.astype(np.float64)), 6.0)
    place = np.rint(size / _STEP).astype(np.int64)
    near = place * _STEP
    off = size - near
    slope = 2 / math.sqrt(math.pi) * np.exp(-near * near)
    square = off * off  # NumPy's power of 3 is ten times slower than all the rest
    series = off - near * square + (2 * near * near - 1) / 3 * (square * off)
    values: Array = np.where(np.isnan(x), x, np.copysign(_TABLE[place] + slope * series, x))
    return values
