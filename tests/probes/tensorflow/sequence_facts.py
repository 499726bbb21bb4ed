"""What masks, missing keys and biases of Keras' layers of sequences mean, as JSON."""

from __future__ import annotations

import json
from typing import Any

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(0)
x, y = (keras.random.normal((2, 3, 8)) for _ in range(2))
attention = layers.MultiHeadAttention(2, 4)
shows = np.array([[[True, True, False]] * 3] * 2)
heads = ops.reshape(x, (2, 3, 2, 4))


def same(a: Any, b: Any) -> bool:
    return float(ops.max(ops.abs(a - b))) < 1e-5


def of_heads(mask: Any) -> Any:
    return ops.dot_product_attention(heads, heads, heads, mask=mask[:, None])


def sizes(layer: Any) -> list[Any]:
    """Return the size of the bias, or of both."""
    layer(x)
    return list(layer.weights[2].shape)


masked = attention(x, x, attention_mask=shows)
hidden = attention(x, x, attention_mask=np.zeros((2, 3, 3), bool))
print(
    json.dumps(
        {
            "keys are values": same(attention(x, y), attention(x, y, key=y)),
            "true shows": same(masked, attention(x, x[:, :2])),
            "numbers are truths": [
                same(masked, attention(x, x, attention_mask=shows.astype("float32"))),
                same(of_heads(shows), of_heads(shows.astype("float32"))),
            ],
            "nothing is seen": same(hidden[:, 0], hidden[:, 1]),
            "biases": [sizes(made(5)) for made in (layers.LSTM, layers.GRU, layers.SimpleRNN)],
        }
    )
)
