"""A small GPT, in Paddle."""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.nn import initializer as init

VOCABULARY, CONTEXT, DROPOUT, STD = 64, 64, 0.1, 0.02


def linear(inputs: int, outputs: int, std: float = STD) -> nn.Linear:
    """Return a dense layer whose weights start as in PyTorch."""
    zeros = init.Constant(0.0)
    return nn.Linear(inputs, outputs, weight_attr=init.Normal(std=std), bias_attr=zeros)


def embedding(rows: int, width: int) -> nn.Embedding:
    """Return a table whose rows start as in PyTorch."""
    return nn.Embedding(rows, width, weight_attr=init.Normal(std=STD))


class Attention(nn.Layer):
    """Causal attention of several heads.

    It is written out, because the dropout of a fused attention is not a layer: its mask could not
    be recorded or given.
    """

    def __init__(self, width: int, heads: int, out_std: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = linear(width, 3 * width)
        self.dropout = nn.Dropout(DROPOUT)
        self.out = linear(width, width, out_std)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, tokens, width]; a token sees itself and those before it."""
        rows, tokens, width = x.shape
        split = self.qkv(x).reshape([rows, tokens, 3, self.heads, width // self.heads])
        query, key, value = split.transpose([2, 0, 3, 1, 4]).unbind(0)
        query = query * (width // self.heads) ** -0.5
        scores = paddle.matmul(query, key, transpose_y=True)
        visible = paddle.ones([tokens, tokens], "bool").tril()
        # In float32 under auto_cast, too.
        scores = scores.astype("float32").masked_fill(~visible, float("-inf"))
        weights = self.dropout(F.softmax(scores, -1).astype(value.dtype))
        mixed = paddle.matmul(weights, value).transpose([0, 2, 1, 3])
        return self.out(mixed.reshape([rows, tokens, width]))


class Block(nn.Layer):
    """Attention and two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, out_std: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-5)
        self.attention = Attention(width, heads, out_std)
        self.dropout1 = nn.Dropout(DROPOUT)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-5)
        self.up = linear(width, 4 * width)
        self.down = linear(4 * width, width, out_std)
        self.dropout2 = nn.Dropout(DROPOUT)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, tokens, width]."""
        x = x + self.dropout1(self.attention(self.norm1(x)))
        hidden = F.gelu(self.up(self.norm2(x)), approximate=True)
        return x + self.dropout2(self.down(hidden))


class GPT(nn.Layer):
    """A decoder whose output layer is its table of token embeddings."""

    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.tokens = embedding(VOCABULARY, width)
        self.positions = embedding(CONTEXT, width)
        self.dropout = nn.Dropout(DROPOUT)
        out_std = STD / (2 * layers) ** 0.5  # what is added to the residual stream
        self.blocks = nn.LayerList([Block(width, heads, out_std) for _ in range(layers)])
        self.norm = nn.LayerNorm(width, epsilon=1e-5)

    def forward(self, tokens: paddle.Tensor) -> paddle.Tensor:
        """Return logits [rows, tokens, VOCABULARY] of the tokens that come next."""
        positions = self.positions(paddle.arange(tokens.shape[1]))
        x = self.dropout(self.tokens(tokens) + positions)
        for block in self.blocks:
            x = block(x)
        return paddle.matmul(self.norm(x), self.tokens.weight, transpose_y=True)


def build_model() -> GPT:
    """A model with 0.8 million weights."""
    return GPT(layers=4, width=128, heads=4)


def build_tiny() -> GPT:
    """A model of the same kind that trains in seconds."""
    return GPT(layers=2, width=32, heads=2)
