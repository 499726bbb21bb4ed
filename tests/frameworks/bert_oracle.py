"""The BERT classifier of the emitted models, once more, in NumPy float64."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

Weights = Mapping[str, np.ndarray]
_erf = np.vectorize(math.erf, otypes=[np.float64])


def logits(weights: Weights, batch: Weights, *, layers: int, heads: int, eps: float) -> np.ndarray:
    """Return logits [batch, labels]. Padding gets the score -1e9, whatever else it had."""
    w = {name.removeprefix("bert."): a.astype(np.float64) for name, a in weights.items()}
    ids, types = batch["input_ids"], batch["token_type_ids"]
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + w["embeddings.token_type_embeddings.weight"][types]
    )
    x = _norm(w, "embeddings.LayerNorm", x, eps)
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        context = _attention(w, f"{layer}.attention.self", x, batch["attention_mask"], heads)
        y = _dense(w, f"{layer}.attention.output.dense", context)
        x = _norm(w, f"{layer}.attention.output.LayerNorm", x + y, eps)
        y = _dense(w, f"{layer}.intermediate.dense", x)
        y = 0.5 * y * (1.0 + _erf(y / math.sqrt(2.0)))
        y = _dense(w, f"{layer}.output.dense", y)
        x = _norm(w, f"{layer}.output.LayerNorm", x + y, eps)
    return _dense(w, "classifier", np.tanh(_dense(w, "pooler.dense", x[:, 0])))


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cross-entropy."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=-1))
    return float(np.mean(log_total - shifted[np.arange(len(labels)), labels]))


def _attention(w: Weights, name: str, x: np.ndarray, mask: np.ndarray, heads: int) -> np.ndarray:
    size = x.shape[-1] // heads
    context = np.empty_like(x)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        q, k, v = (_dense(w, f"{name}.{p}", x)[..., part] for p in ("query", "key", "value"))
        scores = np.einsum("bid,bjd->bij", q, k) / math.sqrt(size)
        scores = np.where(mask[:, None, :] == 1, scores, -1e9)
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        context[..., part] = (exps / exps.sum(axis=-1, keepdims=True)) @ v
    return context


def _dense(w: Weights, name: str, x: np.ndarray) -> np.ndarray:
    result: np.ndarray = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    return result


def _norm(w: Weights, name: str, x: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    result: np.ndarray = centred / np.sqrt(variance + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]
    return result
