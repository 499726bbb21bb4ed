"""ResNet-18 for images of 32 x 32 pixels, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

CLASSES = 10


class BatchNorm2d(nn.BatchNorm2d):
    """Batch normalization whose running variance is biased, as in Keras and Paddle.

    PyTorch multiplies the variance of a batch of n values by n / (n - 1) before it adds it to the
    running variance. Training does not read it, but evaluation and the checkpoint would differ.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalize [rows, channels, height, width]."""
        before = self.running_var.clone()
        output = super().forward(input)
        if self.training:
            kept = (1 - self.momentum) * before
            n_values = input.numel() // input.shape[1]
            # A new tensor: the backward pass refuses saved ones that have changed.
            self.running_var = self.running_var - (self.running_var - kept) / n_values
        return output


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [rows, outputs, height / stride, width / stride]."""
        hidden = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(hidden)) + self.shortcut(x)).relu()


class ResNet(nn.Module):
    """Stages of blocks; each stage but the first halves height and width.

    Args:
        widths: channels of each stage.
        depth: blocks of each stage.
    """

    def __init__(self, widths: Sequence[int], depth: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, widths[0], 3, padding=1, bias=False)
        self.norm = BatchNorm2d(widths[0])
        self.stages = nn.ModuleList()
        inputs = widths[0]
        for stage, width in enumerate(widths):
            blocks = nn.Sequential()
            for block in range(depth):
                stride = 2 if stage and not block else 1
                blocks.append(Block(inputs, width, stride))
                inputs = width
            self.stages.append(blocks)
        self.head = nn.Linear(inputs, CLASSES)
        self.apply(initialize)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return logits [rows, classes] of images [rows, height, width, 3]."""
        x = image.permute(0, 3, 1, 2)
        x = self.norm(self.conv(x)).relu()
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


def initialize(module: nn.Module) -> None:
    """Draw the weights of a layer."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.01)
        nn.init.zeros_(module.bias)


def build_model() -> ResNet:
    """ResNet-18 with 11.2 million weights."""
    return ResNet(widths=(64, 128, 256, 512), depth=2)


def build_tiny() -> ResNet:
    """A model of the same kind that trains in seconds."""
    return ResNet(widths=(8, 16, 16), depth=1)
