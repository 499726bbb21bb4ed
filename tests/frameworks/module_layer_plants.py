"""Differences between frameworks, planted in a network with layers of many kinds, and in examples.

Shapes, strides, dilation, padding, groups, epsilons, gates, positions, factors and second biases.
"""

from __future__ import annotations

from frameworks.module_plants import Plant
from frameworks.module_programs import Edit, G, L, R, Z

STRIDE, DILATION = "stride of a convolution", "dilation of a convolution"
PADDING, CEIL = "padding of a convolution", "ceil mode of a pooling"
GROUPS, GN_EPS, RMS_EPS = "groups of GroupNorm", "epsilon of GroupNorm", "epsilon of RMSNorm"
POSITION, FACTOR, SUM = "first position", "a factor", "a factor in a sum"
ACTIVATION, GATE, DOUBLE = "activation", "activation of a gate", "double bias"
SCALE = "scale of attention"


def _plant(
    name: str, against: str, module: str, kind: str, *edits: Edit, example: str = Z
) -> Plant:
    """Return a difference; `against` is the framework that the edited one is compared with."""
    changed = edits[-1][0]
    pair = (changed, against) if changed == "torch" or against != "torch" else (against, changed)
    return Plant(name, example, edits, pair, module, kind)


LAYER_PLANTS: tuple[Plant, ...] = (
    # Sizes that are others
    _plant(
        "torch stride moved",
        "paddle",
        "stages.1.0.conv1",
        STRIDE,
        ("torch", "inputs, outputs, 3, stride, padding=1", "inputs, outputs, 3, 1, padding=1"),
        ("torch", "outputs, outputs, 3, padding=1", "outputs, outputs, 3, stride, padding=1"),
        example=R,
    ),
    _plant(
        "keras stride moved",
        "torch",
        "stages.1.0.conv1",
        STRIDE,
        ("tensorflow", 'filters, 3, stride, f"{name}_conv1"', 'filters, 3, 1, f"{name}_conv1"'),
        ("tensorflow", 'filters, 3, 1, f"{name}_conv2"', 'filters, 3, stride, f"{name}_conv2"'),
        example=R,
    ),
    _plant(
        "paddle stride moved",
        "torch",
        "stages.1.0.conv1",
        STRIDE,
        ("paddle", "ConvNorm(inputs, outputs, 3, stride)", "ConvNorm(inputs, outputs, 3)"),
        ("paddle", "ConvNorm(outputs, outputs, 3)", "ConvNorm(outputs, outputs, 3, stride)"),
        example=R,
    ),
    _plant("keras no stride", "torch", "conv2", STRIDE, ("tensorflow", "strides=2, ", "")),
    _plant(
        "torch no padding",
        "tensorflow",
        "conv2",
        PADDING,
        ("torch", "stride=2, padding=1", "stride=2"),
    ),
    _plant(
        "keras no padding",
        "torch",
        "conv2",
        PADDING,
        ("tensorflow", "self.conv2(self.pad2(x))", "self.conv2(x)"),
    ),
    _plant(
        "paddle more padding",
        "torch",
        "conv4",
        PADDING,
        ("paddle", "nn.Conv2D(8, width, 2)", "nn.Conv2D(8, width, 2, padding=1)"),
    ),
    _plant(
        "torch dilation",
        "paddle",
        "conv3",
        DILATION,
        ("torch", "padding=2, dilation=2", "padding=1"),
    ),
    _plant(
        "torch dilation alone",
        "tensorflow",
        "conv3",
        DILATION,
        ("torch", "padding=2, dilation=2", "padding=2"),
    ),
    _plant("keras dilation", "torch", "conv3", DILATION, ("tensorflow", "dilation_rate=2, ", "")),
    _plant(
        "paddle dilation",
        "tensorflow",
        "conv3",
        DILATION,
        ("paddle", "padding=2, dilation=2", "padding=4, dilation=4"),
    ),
    _plant("torch floor", "paddle", "pool", CEIL, ("torch", ", ceil_mode=True", "")),
    _plant("paddle floor", "torch", "pool", CEIL, ("paddle", ", ceil_mode=True", "")),
    _plant(
        "keras valid pooling",
        "torch",
        "pool",
        CEIL,
        ("tensorflow", 'MaxPooling2D(3, 2, padding="same"', "MaxPooling2D(3, 2"),
    ),
    _plant(
        "paddle window",
        "torch",
        "pool",
        "window of a pooling",
        ("paddle", "nn.MaxPool2D(3, 2,", "nn.MaxPool2D(2, 2,"),
    ),
    # Normalizations
    _plant("torch groups", "paddle", "norm2", GROUPS, ("torch", "GroupNorm(4,", "GroupNorm(2,")),
    _plant(
        "keras groups",
        "torch",
        "norm2",
        GROUPS,
        ("tensorflow", "GroupNormalization(4,", "GroupNormalization(8,"),
    ),
    _plant(
        "torch group epsilon",
        "tensorflow",
        "norm2",
        GN_EPS,
        ("torch", "GroupNorm(4, 8, eps=1e-5)", "GroupNorm(4, 8, eps=1e-6)"),
    ),
    _plant(
        "keras group epsilon",
        "torch",
        "norm2",
        GN_EPS,
        ("tensorflow", "GroupNormalization(4, epsilon=1e-5,", "GroupNormalization(4,"),
    ),
    _plant(
        "paddle group epsilon",
        "torch",
        "norm2",
        GN_EPS,
        ("paddle", "GroupNorm(4, 8, epsilon=1e-5)", "GroupNorm(4, 8, epsilon=1e-3)"),
    ),
    _plant(
        "torch RMS epsilon",
        "paddle",
        "norm4",
        RMS_EPS,
        ("torch", "RMSNorm(width, eps=1e-5)", "RMSNorm(width, eps=1e-3)"),
    ),
    _plant(
        "keras RMS epsilon",
        "torch",
        "norm4",
        RMS_EPS,
        ("tensorflow", "RMSNormalization(epsilon=1e-5", "RMSNormalization(epsilon=1e-3"),
    ),
    _plant(
        "paddle RMS epsilon",
        "torch",
        "norm4",
        RMS_EPS,
        ("paddle", "RMSNorm(width, epsilon=1e-5)", "RMSNorm(width, epsilon=1e-2)"),
    ),
    _plant(
        "keras layer epsilon",
        "paddle",
        "zoo/norm3",
        "epsilon of LayerNorm",
        ("tensorflow", "LayerNormalization(epsilon=1e-5,", "LayerNormalization("),
    ),
    _plant(
        "paddle batch epsilon",
        "torch",
        "norm1",
        "epsilon of BatchNorm",
        ("paddle", "BatchNorm2D(8, epsilon=1e-5)", "BatchNorm2D(8, epsilon=1e-3)"),
    ),
    # Gates and activations
    _plant("torch SiLU", "paddle", "conv2", ACTIVATION, ("torch", "F.hardswish(", "F.silu(")),
    _plant(
        "torch SiLU, to Keras",
        "tensorflow",
        "conv2",
        ACTIVATION,
        ("torch", "F.hardswish(", "F.silu("),
    ),
    _plant(
        "keras hard SiLU",
        "torch",
        "conv3",
        ACTIVATION,
        ("tensorflow", "ops.silu", "ops.hard_swish"),
    ),
    _plant("paddle hard SiLU", "torch", "conv3", ACTIVATION, ("paddle", "F.silu", "F.hardswish")),
    _plant("torch hard tanh", "paddle", "pool", ACTIVATION, ("torch", "F.relu6", "F.hardtanh")),
    _plant(
        "keras leaky ReLU",
        "torch",
        "pool",
        ACTIVATION,
        ("tensorflow", "ops.relu6", "ops.leaky_relu"),
    ),
    _plant("paddle hard tanh", "torch", "pool", ACTIVATION, ("paddle", "F.relu6", "F.hardtanh")),
    _plant("torch sigmoid", "paddle", "conv5", GATE, ("torch", "F.hardsigmoid(", "torch.sigmoid(")),
    _plant(
        "keras old slope",
        "torch",
        "conv5",
        GATE,
        (
            "tensorflow",
            "ops.hard_sigmoid(self.gate(x))",
            "ops.clip(self.gate(x) / 5 + 0.5, 0, 1)",
        ),
    ),
    _plant(
        "paddle slope",
        "torch",
        "conv5",
        GATE,
        ("paddle", "F.hardsigmoid(self.gate(x))", "F.hardsigmoid(self.gate(x), slope=0.2)"),
    ),
    # Positions
    _plant(
        "torch positions from one",
        "paddle",
        "positions",
        POSITION,
        ("torch", "torch.arange(tokens.shape[1])", "torch.arange(tokens.shape[1]) + 1"),
    ),
    _plant(
        "keras positions from one",
        "torch",
        "positions",
        POSITION,
        (
            "tensorflow",
            'ops.arange(inputs["tokens"].shape[1])',
            'ops.arange(1, inputs["tokens"].shape[1] + 1)',
        ),
    ),
    _plant(
        "paddle positions from one",
        "torch",
        "positions",
        POSITION,
        ("paddle", "paddle.arange(tokens.shape[1])", "paddle.arange(1, tokens.shape[1] + 1)"),
    ),
    # Factors in a forward pass
    _plant(
        "torch temperature",
        "paddle",
        "the model",
        FACTOR,
        ("torch", "TEMPERATURE = 1.5", "TEMPERATURE = 2.0"),
    ),
    _plant(
        "keras no temperature",
        "torch",
        "the model",
        FACTOR,
        ("tensorflow", "self.head(hidden) / TEMPERATURE", "self.head(hidden)"),
    ),
    _plant(
        "paddle product",
        "tensorflow",
        "the model",
        FACTOR,
        ("paddle", "self.head(hidden) / TEMPERATURE", "self.head(hidden) * TEMPERATURE"),
    ),
    _plant(
        "torch scale of scores",
        "paddle",
        "attention",
        SCALE,
        ("torch", "* query.shape[-1] ** -0.5", "* 0.7"),
    ),
    _plant(
        "keras scale of scores",
        "torch",
        "attention",
        SCALE,
        ("tensorflow", "* query.shape[-1] ** -0.5", "/ 3"),
    ),
    _plant(
        "paddle scaled embedding",
        "torch",
        "norm3",
        SUM,
        ("paddle", "t = self.tokens(tokens) +", "t = self.tokens(tokens) * 4 +"),
    ),
    _plant(
        "torch scaled residual",
        "paddle",
        "blocks.0.norm2",
        SUM,
        (
            "torch",
            "x = x + self.dropout1(self.attention",
            "x = x + 0.5 * self.dropout1(self.attention",
        ),
        example=G,
    ),
    # Tensors
    _plant(
        "torch grouped",
        "paddle",
        "conv3",
        "groups of a convolution",
        ("torch", "padding=2, dilation=2", "padding=2, dilation=2, groups=2"),
    ),
    _plant(
        "keras frozen",
        "torch",
        "positions",
        "frozen weight",
        (
            "tensorflow",
            'Embedding(13, width, name="positions")',
            'Embedding(13, width, name="positions", trainable=False)',
        ),
    ),
    _plant(
        "torch second bias trains, to Paddle",
        "paddle",
        "lstm",
        DOUBLE,
        ("torch", "            bias.requires_grad_(False)\n", ""),
        example=L,
    ),
    _plant(
        "paddle second bias trains",
        "torch",
        "lstm",
        DOUBLE,
        ("paddle", ", bias_hh_attr=False", ""),
        example=L,
    ),
    _plant(
        "paddle second bias trains, to Keras",
        "tensorflow",
        "lstm_0.cell",
        DOUBLE,
        ("paddle", ", bias_hh_attr=False", ""),
        example=L,
    ),
)
UNMAPPED = ("paddle second bias trains", "torch second bias trains, to Paddle", "torch grouped")
"""Plants whose tensors are others than in the example: they are matched again."""
