"""Holds emitted Keras models against what `precision.ops` means: `... JOBS`; prints JSON.

The other side is the same model written down once, in which every operation casts what it gets and
rounds what it gives, whatever it gets. Both use the kernels of TensorFlow, so a pass forward must
agree in every bit.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROWS, TOKENS = 3, 8


class Meaning:
    """BERT in the types of a recipe, with the weights of an emitted model."""

    def __init__(self, module: ModuleType, model: Any, job: dict[str, Any]) -> None:
        self.module, self.job = module, job
        self.weights = {name: v.value for name, v in model.canonical_parameters().items()}

    def op(self, kind: str, function: Any, *inputs: Any) -> Any:
        """Compute an operation of a class."""
        stored, half = self.job["ops"][kind], tf.as_dtype(self.job["half"])
        computes = half if stored == "half" else tf.float32
        result = function(*(tf.cast(x, computes) for x in inputs))
        return result if stored == "float32" else tf.cast(result, half)

    def rounded(self, kind: str, function: Any, x: Any) -> Any:
        """Compute an operation that is float32 inside whatever it gets, and rounds once."""
        stored, half = self.job["ops"][kind], tf.as_dtype(self.job["half"])
        result = function(tf.cast(tf.cast(x, half) if stored == "half" else x, tf.float32))
        return result if stored == "float32" else tf.cast(result, half)

    def dense(self, name: str, x: Any) -> Any:
        kernel, bias = (self.weights[f"{name}.{part}"] for part in ("weight", "bias"))
        multiply: Any = keras.ops.matmul
        return self.op("matmul", lambda x, w, b: multiply(x, w) + b, x, kernel, bias)

    def norm(self, name: str, x: Any) -> Any:
        gamma, beta = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        eps, script = self.module.LAYER_NORM_EPS, hasattr(self.module, "normalized")

        def norm(x: Any) -> Any:
            if not script:
                return keras.ops.layer_normalization(x, gamma, beta, -1, eps)
            mean, variance = tf.nn.moments(x, -1, keepdims=True)
            return (x - mean) * tf.math.rsqrt(variance + eps) * gamma + beta

        return self.rounded("reductions", norm, x)

    def dropout(self, x: Any, seed: Any, number: int) -> Any:
        if seed is None:
            return x
        return self.rounded("pointwise", lambda x: self.module.dropout(x, seed, number), x)

    def add_norm(self, name: str, x: Any, y: Any) -> Any:
        return self.norm(name, self.op("residual", lambda x, y: x + y, x, y))

    def split(self, x: Any) -> Any:
        heads = (-1, TOKENS, self.module.ATTENTION_HEADS, self.module.HEAD_SIZE)
        return tf.transpose(tf.reshape(x, heads), (0, 2, 1, 3))

    def layer(self, number: int, x: Any, mask: Any, seed: Any) -> Any:
        name, masks = f"bert.encoder.layer.{number}", 3 * number + 1
        q, k, v = (
            self.split(self.dense(f"{name}.attention.self.{part}", x))
            for part in ("query", "key", "value")
        )
        scores = self.op("matmul", lambda q, k: tf.matmul(q, k, transpose_b=True), q, k)
        root = self.module.HEAD_SIZE**0.5
        weights = self.op("reductions", lambda s, m: tf.nn.softmax(s / root + m), scores, mask)
        weights = self.dropout(weights, seed, masks)
        context = tf.transpose(self.op("matmul", tf.matmul, weights, v), (0, 2, 1, 3))
        context = tf.reshape(context, (-1, TOKENS, self.module.HIDDEN_SIZE))
        y = self.dense(f"{name}.attention.output.dense", context)
        x = self.add_norm(f"{name}.attention.output", x, self.dropout(y, seed, masks + 1))
        y = self.rounded("pointwise", tf.nn.gelu, self.dense(f"{name}.intermediate.dense", x))
        y = self.dense(f"{name}.output.dense", y)
        return self.add_norm(f"{name}.output", x, self.dropout(y, seed, masks + 2))

    def logits(self, batch: dict[str, Any], seed: Any) -> Any:
        tables = ("word_embeddings", "token_type_embeddings", "position_embeddings")
        ids = (batch["input_ids"], batch["token_type_ids"], tf.range(TOKENS))
        rows = (
            tf.gather(self.weights[f"bert.embeddings.{table}.weight"], of_table)
            for table, of_table in zip(tables, ids, strict=True)
        )
        x = self.norm("bert.embeddings", self.op("embeddings", lambda a, b, c: a + b + c, *rows))
        x = self.dropout(x, seed, 0)
        padding = 1.0 - tf.cast(batch["attention_mask"], tf.float32)[:, None, None, :]
        narrow = self.job["ops"]["reductions"] == "half" and self.job["half"] == "float16"
        for number in range(self.module.LAYERS):
            x = self.layer(number, x, padding * (-1e4 if narrow else -1e9), seed)
        x = self.op("pointwise", tf.tanh, self.dense("bert.pooler.dense", x[:, 0]))
        x = self.dropout(x, seed, getattr(self.module, "MASKS", 0) - 1)
        return self.dense("classifier", x)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def micro_batch() -> dict[str, Any]:
    """Rows with padding."""
    rng = np.random.default_rng(0)
    mask = np.arange(TOKENS) < rng.integers(3, TOKENS + 1, (ROWS, 1))
    return {
        "input_ids": tf.constant(rng.integers(0, 128, (ROWS, TOKENS)), tf.int32),
        "attention_mask": tf.constant(mask, tf.int32),
        "token_type_ids": tf.constant(rng.integers(0, 2, (ROWS, TOKENS)), tf.int32),
    }


def measured(job: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
    """How far a model is from what its recipe means, and its type."""
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(job["policy"])
    module = loaded(Path(job["model"]))
    model = module.build_model()
    for number, variable in enumerate(model.trainable_variables):  # biases, too
        noise = tf.random.stateless_normal(variable.shape, [0, number], stddev=0.3)
        variable.assign(tf.cast(tf.cast(variable.value, tf.float32) + noise, variable.dtype))
    meaning = Meaning(module, model, job)
    dropped = hasattr(module, "MASKS")
    seed = tf.constant([0, 0], tf.int64) if dropped else None
    training = {"training": True} if dropped else {}
    pull = tf.random.stateless_normal((ROWS, module.LABELS), [1, 1])
    found = []
    forwards: tuple[Any, Any] = (
        lambda: model(**batch, **training),
        lambda: meaning.logits(batch, seed),
    )
    for forward in forwards:
        with tf.GradientTape() as tape:
            logits = forward()
            loss = tf.reduce_sum(tf.cast(logits, tf.float32) * pull)
        gradients = tape.gradient(loss, list(meaning.weights.values()))
        found.append((logits, [tf.cast(tf.convert_to_tensor(g), tf.float32) for g in gradients]))
    (ours, gradients), (wanted, expected) = found
    apart = tf.linalg.global_norm([a - b for a, b in zip(gradients, expected, strict=True)])
    return {
        "types": [ours.dtype.name, wanted.dtype.name],
        "different": int(tf.math.count_nonzero(ours != wanted)),
        "gradients": float(apart / tf.linalg.global_norm(expected)),
        "softmax": softmax_error(module) if hasattr(module, "softmax") else None,
        "normalized": normalization_error(module) if hasattr(module, "normalized") else None,
        "gelu": gelu_error(module) if hasattr(module, "gelu") else None,
    }


def softmax_error(module: ModuleType) -> dict[str, Any]:
    """How far the gradient of the script's softmax is from that of a softmax in float32."""
    root = module.HEAD_SIZE**0.5
    scores = module.half(tf.random.stateless_normal((2, 2, 6, 6), [2, 2], stddev=5.0))
    upstream = module.half(tf.random.stateless_normal((2, 2, 6, 6), [3, 3]))
    mask = tf.constant([0.0, 0.0, 0.0, 0.0, -1e9, -1e9])
    wide = tf.cast(scores, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([scores, wide])
        ours, exact = module.softmax(scores, mask), tf.nn.softmax(wide / root + mask)
    ours_gradient = tape.gradient(ours, scores, upstream)
    expected = tape.gradient(exact, wide, tf.cast(upstream, tf.float32))
    apart = tf.abs(tf.cast(ours_gradient, tf.float32) - expected)
    return {
        "type": ours_gradient.dtype.name,
        "rounded once": bool(tf.reduce_all(ours == tf.cast(exact, ours.dtype))),
        "error": float(tf.reduce_max(apart) / tf.reduce_max(tf.abs(expected))),
        "of padding": float(tf.reduce_max(tf.abs(tf.cast(ours_gradient[..., 4:], tf.float32)))),
    }


def normalization_error(module: ModuleType) -> dict[str, Any]:
    """How far LayerNorm of the script is from that in float64."""
    x = tf.random.stateless_normal((4, 5, 64), [4, 4], 1.0, 3.0)
    gamma, beta = (1 + tf.random.stateless_normal((64,), [5, n]) / 4 for n in (0, 1))

    def exact(x: Any, gamma: Any, beta: Any) -> Any:
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) / tf.sqrt(variance + module.LAYER_NORM_EPS) * gamma + beta

    return function_error(module.normalized, exact, [module.half(x), gamma, beta])


def gelu_error(module: ModuleType) -> dict[str, Any]:
    """How far GELU of the script is from that in float64."""
    x = tf.random.stateless_normal((4, 5, 64), [4, 4], stddev=3.0)
    return function_error(module.gelu, lambda x: tf.nn.gelu(x, approximate=False), [module.half(x)])


def function_error(function: Any, exact: Any, inputs: list[Any]) -> dict[str, Any]:
    """How far results and gradients of a function are from those in float64.

    `rounded otherwise`: the share of results that are not the exact ones rounded once.
    """
    wide = [tf.cast(x, tf.float64) for x in inputs]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([*inputs, *wide])
        ours, expected = function(*inputs), exact(*wide)
    upstream = tf.cast(tf.random.stateless_normal(ours.shape, [6, 6]), ours.dtype)
    gradients = tape.gradient(ours, inputs, upstream)
    wanted = tape.gradient(expected, wide, tf.cast(upstream, tf.float64))
    apart = (tf.abs(tf.cast(a, tf.float64) - b) for a, b in zip(gradients, wanted, strict=True))
    return {
        "types": [ours.dtype.name, *(gradient.dtype.name for gradient in gradients)],
        "rounded otherwise": float(
            tf.reduce_mean(tf.cast(ours != tf.cast(expected, ours.dtype), tf.float32))
        ),
        "errors": [
            float(tf.reduce_max(error) / tf.reduce_max(tf.abs(b)))
            for error, b in zip(apart, wanted, strict=True)
        ],
    }


def main() -> None:
    jobs, batch = json.loads(Path(sys.argv[1]).read_text()), micro_batch()
    found = {}
    for name, job in jobs.items():
        found[name] = measured(job, batch)
        keras.backend.clear_session()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
