"""A small GPT, in JAX with Flax NNX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

VOCABULARY, CONTEXT, DROPOUT, STD = 64, 64, 0.1, 0.02


def dense(inputs: int, outputs: int, rngs: nnx.Rngs, std: float = STD) -> nnx.Linear:
    """A dense layer with fresh weights."""
    return nnx.Linear(inputs, outputs, kernel_init=nnx.initializers.normal(std), rngs=rngs)


def table(rows: int, width: int, rngs: nnx.Rngs) -> nnx.Embed:
    """An embedding with fresh weights."""
    return nnx.Embed(rows, width, embedding_init=nnx.initializers.normal(STD), rngs=rngs)


def norm(width: int, rngs: nnx.Rngs) -> nnx.LayerNorm:
    """A LayerNorm; its fast variance would lose digits where the mean is large."""
    return nnx.LayerNorm(width, epsilon=1e-5, use_fast_variance=False, rngs=rngs)


class Attention(nnx.Module):
    """Causal attention of several heads."""

    def __init__(self, width: int, heads: int, std: float, rngs: nnx.Rngs) -> None:
        self.heads = heads
        self.qkv = dense(width, 3 * width, rngs)
        self.dropout = nnx.Dropout(DROPOUT, rngs=rngs)
        self.out = dense(width, width, rngs, std)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return [rows, tokens, width]; a token sees itself and those before it."""
        rows, tokens, width = x.shape
        split = (rows, tokens, 3, self.heads, width // self.heads)
        query, key, value = self.qkv(x).reshape(split).transpose(2, 0, 3, 1, 4)
        query = query * (width // self.heads) ** -0.5
        # In float32 where the weights are half, too.
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key).astype(jnp.float32)
        visible = jnp.tril(jnp.ones((tokens, tokens), bool))
        scores = jnp.where(visible, scores, -jnp.inf)
        weights = self.dropout(nnx.softmax(scores).astype(value.dtype))
        mixed = jnp.einsum("bhqk,bhkd->bqhd", weights, value)
        return self.out(mixed.reshape(rows, tokens, width))


class Block(nnx.Module):
    """Attention and two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, std: float, rngs: nnx.Rngs) -> None:
        self.norm1 = norm(width, rngs)
        self.attention = Attention(width, heads, std, rngs)
        self.dropout1 = nnx.Dropout(DROPOUT, rngs=rngs)
        self.norm2 = norm(width, rngs)
        self.up = dense(width, 4 * width, rngs)
        self.down = dense(4 * width, width, rngs, std)
        self.dropout2 = nnx.Dropout(DROPOUT, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return [rows, tokens, width]."""
        x = x + self.dropout1(self.attention(self.norm1(x)))
        hidden = nnx.gelu(self.up(self.norm2(x)), approximate=True)
        return x + self.dropout2(self.down(hidden))


class GPT(nnx.Module):
    """A decoder whose output layer is its table of token embeddings."""

    def __init__(self, layers: int, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.tokens = table(VOCABULARY, width, rngs)
        self.positions = table(CONTEXT, width, rngs)
        self.dropout = nnx.Dropout(DROPOUT, rngs=rngs)
        std = STD / (2 * layers) ** 0.5  # of what is added to the residual stream
        self.blocks = nnx.List(Block(width, heads, std, rngs) for _ in range(layers))
        self.norm = norm(width, rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Return logits [rows, tokens, VOCABULARY] of the tokens that come next."""
        positions = jnp.arange(tokens.shape[1])
        x = self.dropout(self.tokens(tokens) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        return self.tokens.attend(self.norm(x))


def build_model(rngs: nnx.Rngs) -> GPT:
    """A model with 0.8 million weights."""
    return GPT(layers=4, width=128, heads=4, rngs=rngs)


def build_tiny(rngs: nnx.Rngs) -> GPT:
    """A model of the same kind that trains in seconds."""
    return GPT(layers=2, width=32, heads=2, rngs=rngs)
