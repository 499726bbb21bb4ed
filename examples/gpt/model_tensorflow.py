"""A small GPT, in Keras 3."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers, ops

VOCABULARY, CONTEXT, DROPOUT, STD = 64, 64, 0.1, 0.02


def normal(std: float = STD) -> keras.Initializer:
    """Each weight needs its own: an initializer draws the same numbers whenever it is called."""
    return keras.initializers.RandomNormal(stddev=std)


def norm(name: str) -> layers.LayerNormalization:
    """Normalize in float32; the default epsilon is 1e-3."""
    return layers.LayerNormalization(epsilon=1e-5, dtype="float32", name=name)


class Attention(layers.Layer):
    """Causal attention of several heads.

    It is written out, because MultiHeadAttention has other weights and another softmax where it
    has dropout.
    """

    def __init__(self, width: int, heads: int, out_std: float, name: str) -> None:
        super().__init__(name=name)
        self.width, self.heads = width, heads
        self.qkv = layers.Dense(3 * width, kernel_initializer=normal(), name="qkv")
        self.dropout = layers.Dropout(DROPOUT)
        self.out = layers.Dense(width, kernel_initializer=normal(out_std), name="out")

    def call(self, x: keras.KerasTensor, training: bool = False) -> keras.KerasTensor:
        """Return [rows, tokens, width]; a token sees itself and those before it."""
        rows, tokens, _ = ops.shape(x)
        size = self.width // self.heads
        split = ops.reshape(self.qkv(x), (rows, tokens, 3, self.heads, size))
        query, key, value = ops.unstack(ops.transpose(split, (2, 0, 3, 1, 4)), 3)
        scores = ops.matmul(query * size**-0.5, ops.transpose(key, (0, 1, 3, 2)))
        visible = ops.tril(ops.ones((tokens, tokens), "bool"))
        # In float32 under a mixed policy, too.
        scores = ops.where(visible, ops.cast(scores, "float32"), -np.inf)
        weights = ops.cast(ops.softmax(scores), self.compute_dtype)
        weights = self.dropout(weights, training=training)
        mixed = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        return self.out(ops.reshape(mixed, (rows, tokens, self.width)))


class Block(layers.Layer):
    """Attention and two dense layers, each normalized before and added to its input.

    The sum is float32 under a mixed policy, too: a layer of the policy would cast its inputs.
    """

    def __init__(self, width: int, heads: int, out_std: float, name: str) -> None:
        super().__init__(dtype="float32", name=name)
        self.norm1 = norm("norm1")
        self.attention = Attention(width, heads, out_std, name="attention")
        self.dropout1 = layers.Dropout(DROPOUT)
        self.norm2 = norm("norm2")
        self.up = layers.Dense(4 * width, kernel_initializer=normal(), name="up")
        self.down = layers.Dense(width, kernel_initializer=normal(out_std), name="down")
        self.dropout2 = layers.Dropout(DROPOUT)

    def call(self, x: keras.KerasTensor, training: bool = False) -> keras.KerasTensor:
        """Return [rows, tokens, width]."""
        attended = self.attention(self.norm1(x), training=training)
        x = ops.add(x, self.dropout1(attended, training=training))
        hidden = ops.gelu(self.up(self.norm2(x)), approximate=True)
        return ops.add(x, self.dropout2(self.down(hidden), training=training))


class GPT(keras.Model):
    """A decoder whose output layer is its table of token embeddings."""

    def __init__(self, layers_: int, width: int, heads: int) -> None:
        super().__init__(name="gpt")
        embedding = {"embeddings_initializer": normal(), "dtype": "float32"}
        self.tokens = layers.Embedding(VOCABULARY, width, name="tokens", **embedding)
        embedding = {"embeddings_initializer": normal(), "dtype": "float32"}
        self.positions = layers.Embedding(CONTEXT, width, name="positions", **embedding)
        self.dropout = layers.Dropout(DROPOUT, dtype="float32")
        out_std = STD / (2 * layers_) ** 0.5  # what is added to the residual stream
        self.blocks = [Block(width, heads, out_std, f"block_{i}") for i in range(layers_)]
        self.norm = norm("norm")

    def call(
        self, inputs: dict[str, keras.KerasTensor], training: bool = False
    ) -> keras.KerasTensor:
        """Return logits [rows, tokens, VOCABULARY] of the tokens that come next."""
        tokens = inputs["tokens"]
        positions = self.positions(ops.arange(ops.shape(tokens)[1]))
        x = self.dropout(self.tokens(tokens) + positions, training=training)
        for block in self.blocks:
            x = block(x, training=training)
        hidden = ops.cast(self.norm(x), self.compute_dtype)
        table = ops.cast(self.tokens.embeddings, self.compute_dtype)
        return ops.matmul(hidden, ops.transpose(table))


def built(model: GPT) -> GPT:
    """Call a model once, which makes its weights."""
    model({"tokens": np.zeros((1, 2), np.int64)})
    return model


def build_model() -> GPT:
    """A model with 0.8 million weights."""
    return built(GPT(layers_=4, width=128, heads=4))


def build_tiny() -> GPT:
    """A model of the same kind that trains in seconds."""
    return built(GPT(layers_=2, width=32, heads=2))
