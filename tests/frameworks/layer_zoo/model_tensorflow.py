"""Layers of many kinds in one small network, in Keras 3."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers, ops

TEMPERATURE = 1.5


class Attention(layers.Layer):
    """Attention of one head."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__(name=name)
        self.qkv = layers.Dense(3 * width, name="qkv")
        self.out = layers.Dense(width, name="out")

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        """Return [rows, tokens, width]."""
        query, key, value = ops.split(self.qkv(x), 3, -1)
        scores = ops.matmul(query, ops.transpose(key, (0, 2, 1))) * query.shape[-1] ** -0.5
        return self.out(ops.matmul(ops.softmax(scores), value))


class Zoo(keras.Model):
    """A branch for images, one for tokens, and a head."""

    def __init__(self, width: int) -> None:
        super().__init__(name="zoo")
        self.conv1 = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv1")
        self.norm1 = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="norm1")
        self.pad2 = layers.ZeroPadding2D(1, name="pad2")
        self.conv2 = layers.Conv2D(8, 3, strides=2, name="conv2")
        self.norm2 = layers.GroupNormalization(4, epsilon=1e-5, name="norm2")
        self.conv3 = layers.Conv2D(8, 3, padding="same", dilation_rate=2, name="conv3")
        self.pool = layers.MaxPooling2D(3, 2, padding="same", name="pool")
        self.conv4 = layers.Conv2D(width, 2, name="conv4")
        self.gate = layers.Conv2D(width, 1, name="gate")
        self.conv5 = layers.Conv2D(width, 1, name="conv5")
        self.tokens = layers.Embedding(20, width, name="tokens")
        self.positions = layers.Embedding(13, width, name="positions")
        self.norm3 = layers.LayerNormalization(epsilon=1e-5, name="norm3")
        self.attention = Attention(width, name="attention")
        self.norm4 = layers.RMSNormalization(epsilon=1e-5, name="norm4")
        self.mix = layers.Dense(width, name="mix")
        self.head = layers.Dense(10, name="head")

    def call(
        self, inputs: dict[str, keras.KerasTensor], training: bool = False
    ) -> keras.KerasTensor:
        """Return logits [rows, 10] of images [rows, 16, 16, 3] and tokens [rows, 12]."""
        x = self.conv1(inputs["image"])
        x = ops.hard_swish(self.norm1(x, training=training))
        x = self.norm2(self.conv2(self.pad2(x)))
        x = ops.silu(x)
        x = ops.relu6(self.conv3(x))
        x = self.pool(x)
        x = self.conv4(x)
        x = self.conv5(x * ops.hard_sigmoid(self.gate(x)))
        positions = ops.arange(inputs["tokens"].shape[1])
        t = self.tokens(inputs["tokens"]) + self.positions(positions)
        t = t + self.attention(self.norm3(t))
        t = self.norm4(t)
        hidden = ops.tanh(self.mix(ops.mean(x, (1, 2)) + ops.mean(t, 1)))
        return self.head(hidden) / TEMPERATURE


def build_model() -> Zoo:
    """A model that trains in seconds."""
    model = Zoo(width=16)
    model({"image": np.zeros((1, 16, 16, 3), np.float32), "tokens": np.zeros((1, 12), np.int64)})
    return model


build_tiny = build_model
