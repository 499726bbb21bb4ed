"""A small GPT, in PyTorch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT, DROPOUT, STD = 64, 64, 0.1, 0.02


class Attention(nn.Module):
    """Causal attention of several heads.

    It is written out, because the dropout of a fused attention is not a module: its mask could
    not be recorded or given.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.dropout = nn.Dropout(DROPOUT)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [rows, tokens, width]; a token sees itself and those before it."""
        rows, tokens, width = x.shape
        split = (rows, tokens, 3, self.heads, width // self.heads)
        query, key, value = self.qkv(x).view(split).permute(2, 0, 3, 1, 4)
        scores = query * (width // self.heads) ** -0.5 @ key.transpose(-2, -1)
        visible = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()
        # In float32 under autocast too, on every device.
        scores = scores.float().masked_fill(~visible, float("-inf"))
        weights = self.dropout(scores.softmax(-1).to(value.dtype))
        mixed = (weights @ value).transpose(1, 2).reshape(rows, tokens, width)
        return self.out(mixed)


class Block(nn.Module):
    """Attention and two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-5)
        self.attention = Attention(width, heads)
        self.dropout1 = nn.Dropout(DROPOUT)
        self.norm2 = nn.LayerNorm(width, eps=1e-5)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout2 = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [rows, tokens, width]."""
        x = x + self.dropout1(self.attention(self.norm1(x)))
        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.dropout2(self.down(hidden))


class GPT(nn.Module):
    """A decoder whose output layer is its table of token embeddings."""

    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.apply(initialize)
        for block in self.blocks:  # what is added to the residual stream
            for layer in (block.attention.out, block.down):
                nn.init.normal_(layer.weight, std=STD / (2 * layers) ** 0.5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits [rows, tokens, VOCABULARY] of the tokens that come next."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def initialize(module: nn.Module) -> None:
    """Draw the weights of a layer."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def build_model() -> GPT:
    """A model with 0.8 million weights."""
    return GPT(layers=4, width=128, heads=4)


def build_tiny() -> GPT:
    """A model of the same kind that trains in seconds."""
    return GPT(layers=2, width=32, heads=2)
