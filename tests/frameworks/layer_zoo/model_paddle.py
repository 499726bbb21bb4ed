"""Layers of many kinds in one small network, in Paddle."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from paddle import nn

TEMPERATURE = 1.5


class Attention(nn.Layer):
    """Attention of one head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, tokens, width]."""
        query, key, value = self.qkv(x).chunk(3, -1)
        scores = paddle.matmul(query, key, transpose_y=True) * query.shape[-1] ** -0.5
        return self.out(paddle.matmul(F.softmax(scores), value))


class RMSNorm(nn.Layer):
    """Division by the root of the mean square."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = self.create_parameter(
            [width], default_initializer=nn.initializer.Constant(1.0)
        )
        self.epsilon = epsilon

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, tokens, width]."""
        return x * (x.square().mean(-1, keepdim=True) + self.epsilon).rsqrt() * self.weight


class Zoo(nn.Layer):
    """A branch for images, one for tokens, and a head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(3, 8, 3, padding=1, bias_attr=False)
        self.norm1 = nn.BatchNorm2D(8, epsilon=1e-5)
        self.conv2 = nn.Conv2D(8, 8, 3, stride=2, padding=1)
        self.norm2 = nn.GroupNorm(4, 8, epsilon=1e-5)
        self.conv3 = nn.Conv2D(8, 8, 3, padding=2, dilation=2)
        self.pool = nn.MaxPool2D(3, 2, ceil_mode=True)
        self.conv4 = nn.Conv2D(8, width, 2)
        self.gate = nn.Conv2D(width, width, 1)
        self.conv5 = nn.Conv2D(width, width, 1)
        self.tokens = nn.Embedding(20, width)
        self.positions = nn.Embedding(13, width)
        self.norm3 = nn.LayerNorm(width, epsilon=1e-5)
        self.attention = Attention(width)
        self.norm4 = RMSNorm(width, epsilon=1e-5)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, 10)

    def forward(self, image: paddle.Tensor, tokens: paddle.Tensor) -> paddle.Tensor:
        """Return logits [rows, 10] of images [rows, 16, 16, 3] and tokens [rows, 12]."""
        x = self.conv1(image.transpose([0, 3, 1, 2]))
        x = F.hardswish(self.norm1(x))
        x = self.norm2(self.conv2(x))
        x = F.silu(x)
        x = F.relu6(self.conv3(x))
        x = self.pool(x)
        x = self.conv4(x)
        x = self.conv5(x * F.hardsigmoid(self.gate(x)))
        positions = paddle.arange(tokens.shape[1])
        t = self.tokens(tokens) + self.positions(positions)
        t = t + self.attention(self.norm3(t))
        t = self.norm4(t)
        hidden = paddle.tanh(self.mix(x.mean([2, 3]) + t.mean(1)))
        return self.head(hidden) / TEMPERATURE


def build_model() -> Zoo:
    """A model that trains in seconds."""
    return Zoo(width=16)


build_tiny = build_model
