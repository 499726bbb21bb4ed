"""ResNet-18 for images of 32 x 32 pixels, in Paddle."""

from __future__ import annotations

from collections.abc import Sequence

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.nn import initializer as init

CLASSES = 10


class ConvNorm(nn.Sequential):
    """A convolution without bias and a batch normalization."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2D(
                inputs,
                outputs,
                size,
                stride,
                padding=size // 2,
                weight_attr=init.KaimingNormal(mode="fan_out"),
                bias_attr=False,
            ),
            # A momentum of 0.1 in PyTorch is 0.9 here.
            nn.BatchNorm2D(outputs, momentum=0.9, epsilon=1e-5),
        )


class Block(nn.Layer):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = ConvNorm(inputs, outputs, 3, stride)
        self.conv2 = ConvNorm(outputs, outputs, 3)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = ConvNorm(inputs, outputs, 1, stride)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, outputs, height / stride, width / stride]."""
        hidden = F.relu(self.conv1(x))
        return F.relu(self.conv2(hidden) + self.shortcut(x))


class ResNet(nn.Layer):
    """Stages of blocks; each stage but the first halves height and width.

    Args:
        widths: channels of each stage.
        depth: blocks of each stage.
    """

    def __init__(self, widths: Sequence[int], depth: int) -> None:
        super().__init__()
        self.conv = ConvNorm(3, widths[0], 3)
        stages, inputs = [], widths[0]
        for stage, width in enumerate(widths):
            blocks = []
            for block in range(depth):
                stride = 2 if stage and not block else 1
                blocks.append(Block(inputs, width, stride))
                inputs = width
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.LayerList(stages)
        self.head = nn.Linear(
            inputs,
            CLASSES,
            weight_attr=init.Normal(std=0.01),
            bias_attr=init.Constant(0.0),
        )

    def forward(self, image: paddle.Tensor) -> paddle.Tensor:
        """Return logits [rows, classes] of images [rows, height, width, 3]."""
        x = image.transpose([0, 3, 1, 2])
        x = F.relu(self.conv(x))
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean([2, 3]))


def build_model() -> ResNet:
    """ResNet-18 with 11.2 million weights."""
    return ResNet(widths=(64, 128, 256, 512), depth=2)


def build_tiny() -> ResNet:
    """A model of the same kind that trains in seconds."""
    return ResNet(widths=(8, 16, 16), depth=1)
