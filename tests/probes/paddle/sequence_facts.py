"""What masks and missing values of Paddle's layers of sequences mean, as JSON."""

from __future__ import annotations

import json
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

paddle.seed(0)
x, y = paddle.randn([2, 3, 8]), paddle.randn([2, 3, 8])
attention = nn.MultiHeadAttention(8, 2)
shows = paddle.to_tensor([[True, True, False]] * 3)
added = paddle.to_tensor([[0.0, 0.0, -30000.0]] * 3)
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu")
encoder = nn.TransformerEncoder(layer, 2)
first, second = (each.linear1.weight for each in encoder.layers)


def same(a: Any, b: Any) -> bool:
    return float(abs(a - b).max()) < 1e-5


masked = attention(x, x, x, shows)
print(
    json.dumps(
        {
            "values are queries": same(attention(x, y), attention(x, y, x)),
            "true shows": same(masked, attention(x, x[:, :2], x[:, :2])),
            "whole numbers are truths": same(masked, attention(x, x, x, shows.astype("int64"))),
            "numbers are added": same(masked, attention(x, x, x, added)),
            "layers start alike": same(first, second),
            "gelu is exact": same(layer.activation(x), F.gelu(x)),
        }
    )
)
