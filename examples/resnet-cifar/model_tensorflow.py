"""ResNet-18 for images of 32 x 32 pixels, in Keras 3."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import layers

CLASSES = 10


def convolution(
    x: keras.KerasTensor, filters: int, size: int, stride: int, name: str
) -> keras.KerasTensor:
    """Convolve and normalize; `conv` in the name becomes `norm` in that of the second layer."""
    padding = "same"
    if size > 1 and stride > 1:
        # With a stride of 2, "same" pads the right and the bottom only, PyTorch all sides.
        x = layers.ZeroPadding2D(size // 2, name=name.replace("conv", "padding"))(x)
        padding = "valid"
    # What kaiming_normal_ with mode="fan_out" draws from; he_normal has fan_in.
    kernel = keras.initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal")
    x = layers.Conv2D(
        filters,
        size,
        stride,
        padding=padding,
        use_bias=False,
        kernel_initializer=kernel,
        name=name,
    )(x)
    # The defaults are 0.99 and 1e-3. A momentum of 0.1 in PyTorch is 0.9 here.
    norm = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name.replace("conv", "norm"))
    return norm(x)


def block(x: keras.KerasTensor, filters: int, stride: int, name: str) -> keras.KerasTensor:
    """Two convolutions beside a shortcut."""
    shortcut = x
    if stride != 1 or x.shape[-1] != filters:
        shortcut = convolution(x, filters, 1, stride, f"{name}_shortcut_conv")
    x = convolution(x, filters, 3, stride, f"{name}_conv1")
    x = layers.ReLU(name=f"{name}_relu1")(x)
    x = convolution(x, filters, 3, 1, f"{name}_conv2")
    x = layers.Add(name=f"{name}_add")([x, shortcut])
    return layers.ReLU(name=f"{name}_relu2")(x)


def resnet(widths: Sequence[int], depth: int) -> keras.Model:
    """Stages of blocks; each stage but the first halves height and width.

    Args:
        widths: channels of each stage.
        depth: blocks of each stage.

    Returns:
        A model that makes logits [rows, classes] of {"image": [rows, height, width, 3]}.
    """
    image = keras.Input((None, None, 3), name="image")
    x = convolution(image, widths[0], 3, 1, "conv")
    x = layers.ReLU(name="relu")(x)
    for stage, width in enumerate(widths):
        for number in range(depth):
            stride = 2 if stage and not number else 1
            x = block(x, width, stride, f"stage{stage}_block{number}")
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    kernel = keras.initializers.RandomNormal(stddev=0.01)
    logits = layers.Dense(CLASSES, kernel_initializer=kernel, name="head")(x)
    return keras.Model({"image": image}, logits, name="resnet")


def build_model() -> keras.Model:
    """ResNet-18 with 11.2 million weights."""
    return resnet(widths=(64, 128, 256, 512), depth=2)


def build_tiny() -> keras.Model:
    """A model of the same kind that trains in seconds."""
    return resnet(widths=(8, 16, 16), depth=1)
