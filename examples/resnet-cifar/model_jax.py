"""ResNet-18 for images of 32 x 32 pixels, in JAX with Flax NNX."""

from __future__ import annotations

from collections.abc import Sequence

import jax
from flax import nnx

CLASSES = 10


def convolution(
    inputs: int, outputs: int, size: int, stride: int, rngs: nnx.Rngs
) -> nnx.Conv:
    """A convolution without bias; its padding is the same on both sides."""
    return nnx.Conv(
        inputs,
        outputs,
        (size, size),
        stride,
        padding=size // 2,
        use_bias=False,
        kernel_init=nnx.initializers.variance_scaling(2.0, "fan_out", "normal"),
        rngs=rngs,
    )


def norm(width: int, rngs: nnx.Rngs) -> nnx.BatchNorm:
    """Batch normalization; its fast variance would lose digits where the mean is large."""
    return nnx.BatchNorm(width, momentum=0.9, use_fast_variance=False, rngs=rngs)


class Shortcut(nnx.Module):
    """A convolution that changes the shape of the input."""

    def __init__(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs) -> None:
        self.conv = convolution(inputs, outputs, 1, stride, rngs)
        self.norm = norm(outputs, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return [rows, height / stride, width / stride, outputs]."""
        return self.norm(self.conv(x))


class Block(nnx.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs) -> None:
        self.conv1 = convolution(inputs, outputs, 3, stride, rngs)
        self.norm1 = norm(outputs, rngs)
        self.conv2 = convolution(outputs, outputs, 3, 1, rngs)
        self.norm2 = norm(outputs, rngs)
        same = stride == 1 and inputs == outputs
        self.shortcut = None if same else Shortcut(inputs, outputs, stride, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return [rows, height / stride, width / stride, outputs]."""
        hidden = nnx.relu(self.norm1(self.conv1(x)))
        hidden = self.norm2(self.conv2(hidden))
        return nnx.relu(hidden + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nnx.Module):
    """Stages of blocks; each stage but the first halves height and width.

    Args:
        widths: channels of each stage.
        depth: blocks of each stage.
        rngs: random numbers for the weights.
    """

    def __init__(self, widths: Sequence[int], depth: int, rngs: nnx.Rngs) -> None:
        self.conv = convolution(3, widths[0], 3, 1, rngs)
        self.norm = norm(widths[0], rngs)
        blocks, inputs = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(depth):
                stride = 2 if stage and not block else 1
                blocks.append(Block(inputs, width, stride, rngs))
                inputs = width
        self.blocks = nnx.List(blocks)
        normal = nnx.initializers.normal(0.01)
        self.head = nnx.Linear(inputs, CLASSES, kernel_init=normal, rngs=rngs)

    def __call__(self, image: jax.Array) -> jax.Array:
        """Return logits [rows, classes] of images [rows, height, width, 3]."""
        x = nnx.relu(self.norm(self.conv(image)))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((1, 2)))


def build_model(rngs: nnx.Rngs) -> ResNet:
    """ResNet-18 with 11.2 million weights."""
    return ResNet(widths=(64, 128, 256, 512), depth=2, rngs=rngs)


def build_tiny(rngs: nnx.Rngs) -> ResNet:
    """A model of the same kind that trains in seconds."""
    return ResNet(widths=(8, 16, 16), depth=1, rngs=rngs)
