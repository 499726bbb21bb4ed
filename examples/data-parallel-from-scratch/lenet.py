"""LeNet for images of 28 x 28 pixels, and a small set of them to learn from."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

CLASSES = 10
SIDE = 28


class LeNet(nn.Module):
    """Two convolutions, each followed by an average over 2 x 2 pixels, and three dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.second = nn.Conv2d(6, 16, kernel_size=5)
        self.pool = nn.AvgPool2d(2)
        self.dense = nn.Sequential(
            nn.Linear(16 * 5 * 5, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh()
        )
        self.classifier = nn.Linear(84, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits [rows, 10] of images [rows, 1, 28, 28]."""
        maps = self.pool(torch.tanh(self.first(images)))  # [rows, 6, 14, 14]
        maps = self.pool(torch.tanh(self.second(maps)))  # [rows, 16, 5, 5]
        return self.classifier(self.dense(maps.flatten(1)))


def build_model() -> nn.Module:
    """Return a new LeNet; the factory that recipe.yaml names."""
    return LeNet()


def make_images(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Return `images` [rows, 1, 28, 28], float32, and `labels` [rows], int64.

    Every class is a smooth pattern, always the same; an image is the pattern of its class, moved
    by up to 3 pixels each way, under noise.
    """
    coarse = np.random.default_rng(0).normal(size=(CLASSES, 7, 7))
    patterns = np.kron(coarse, np.ones((4, 4)))  # every coarse value covers 4 x 4 pixels
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, rows)
    moves = rng.integers(-3, 4, (rows, 2))
    moved = [np.roll(patterns[k], move, (0, 1)) for k, move in zip(labels, moves)]
    images = np.stack(moved) + rng.normal(size=(rows, SIDE, SIDE))
    return {"images": images[:, None].astype(np.float32), "labels": labels}
