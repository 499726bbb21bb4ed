"""Types that operations return under a mixed policy of Keras, as JSON: `policy_types.py HALF...`.

Layers get float32, raw operations half numbers. Run as a program.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import keras
import tensorflow as tf

LAYERS = {
    "keras.layers.Dense": lambda: keras.layers.Dense(4),
    "keras.layers.Embedding": lambda: keras.layers.Embedding(9, 4),
    "keras.layers.LayerNormalization": keras.layers.LayerNormalization,
    "keras.layers.BatchNormalization": keras.layers.BatchNormalization,
    "keras.layers.Dropout": lambda: keras.layers.Dropout(0.1),
}


def types(half: str) -> dict[str, str]:
    """Return the type of the result of each operation, by its name in full."""
    keras.mixed_precision.set_global_policy(f"mixed_{half}")
    wide, x = tf.ones((2, 3, 4)), tf.ones((2, 3, 4), half)
    labels = tf.ones((2, 3), tf.int32)
    attention = keras.layers.MultiHeadAttention(2, 2)
    heads = tf.ones((2, 3, 2, 4), half)
    results: dict[str, Any] = {
        name: make()(labels if name.endswith("Embedding") else wide)
        for name, make in LAYERS.items()
    }
    results |= {
        "keras.layers.MultiHeadAttention": attention(wide, wide),
        "keras.ops.dot_product_attention": keras.ops.dot_product_attention(heads, heads, heads),
        "tensorflow.nn.softmax": tf.nn.softmax(x),
        "tensorflow.nn.log_softmax": tf.nn.log_softmax(x),
        "keras.ops.softmax": keras.ops.softmax(x),
        "tensorflow.nn.gelu": tf.nn.gelu(x),
        "keras.ops.gelu": keras.ops.gelu(x),
        "tensorflow.tanh": tf.tanh(x),
        "tensorflow.add": tf.add(x, x),
        "keras.ops.add": keras.ops.add(x, x),
        "tensorflow.reshape": tf.reshape(x, (2, 12)),
        "tensorflow.concat": tf.concat([x, x], 0),
        "tensorflow.nn.dropout": tf.nn.dropout(x, 0.1),
        "tensorflow.nn.sparse_softmax_cross_entropy_with_logits": (
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
        ),
        "tensorflow.nn.sigmoid_cross_entropy_with_logits": (
            tf.nn.sigmoid_cross_entropy_with_logits(x, x)
        ),
    }
    return {name: result.dtype.name for name, result in results.items()}


if __name__ == "__main__":
    print(json.dumps({half: types(half) for half in sys.argv[1:]}))
