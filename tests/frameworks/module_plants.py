"""Differences between frameworks, planted in the example problems."""

from __future__ import annotations

from dataclasses import dataclass

from frameworks.module_programs import POOLS, RESIZES, Edit, G, L, Program, R


@dataclass(frozen=True)
class Plant(Program):
    """A difference. `module`: one of the modules that may be named; `kind`: what it is called."""

    module: str
    kind: str


def _plant(name: str, example: str, module: str, kind: str, *edits: Edit, other: str = "") -> Plant:
    changed = edits[-1][0]
    if not other:
        other = "tensorflow" if changed == "torch" else "torch"
    against = (changed, other) if changed == "torch" else (other, changed)
    return Plant(name, example, edits, against, module, kind)


PADDING, MOMENTUM = "padding of a convolution", "momentum of BatchNorm"
BN_EPS, LN_EPS = "epsilon of BatchNorm", "epsilon of LayerNorm"
GELU, INITIAL, POOL = "GELU by tanh or erf", "initialisation", "pooling that counts padding"
SCALE, MASK, GATES = "scale of attention", "mask of attention", "order of gates"
CONV_STAGE1, NORM1 = "stages.1.0.conv1", "stages.0.0.norm1"
ATTENTION = "blocks.0.attention"
GATE_CELL = '''
def swapped(layer):
    """Return a layer with other gates."""
    usual = layer.cell._compute_carry_and_output_fused
    layer.cell._compute_carry_and_output_fused = lambda z, c: usual((z[0], z[1], z[3], z[2]), c)
    return layer


def forecaster('''
PADDLE_CELL = '''
class Cell(nn.LSTMCell):
    """Has other gates."""

    def forward(self, inputs, states=None):
        """Return the state."""
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        h, c = states
        gates = paddle.matmul(inputs, self.weight_ih, transpose_y=True) + self.bias_ih
        gates = gates + self.bias_hh + paddle.matmul(h, self.weight_hh, transpose_y=True)
        i, f, o, g = paddle.split(gates, 4, axis=-1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * paddle.tanh(g)
        h = F.sigmoid(o) * paddle.tanh(c)
        return h, (h, c)


class Forecaster('''

PLANTS: tuple[Plant, ...] = (
    # ResNet, PyTorch
    _plant(
        "torch momentum",
        R,
        NORM1,
        MOMENTUM,
        (
            "torch",
            "self.norm1 = BatchNorm2d(outputs)",
            "self.norm1 = BatchNorm2d(outputs, momentum=0.01)",
        ),
    ),
    _plant(
        "torch momentum as in Keras",
        R,
        NORM1,
        MOMENTUM,
        (
            "torch",
            "self.norm1 = BatchNorm2d(outputs)",
            "self.norm1 = BatchNorm2d(outputs, momentum=0.9)",
        ),
        other="paddle",
    ),
    _plant(
        "torch epsilon",
        R,
        NORM1,
        BN_EPS,
        (
            "torch",
            "self.norm1 = BatchNorm2d(outputs)",
            "self.norm1 = BatchNorm2d(outputs, eps=1e-3)",
        ),
    ),
    _plant(
        "torch unbiased variance",
        R,
        "norm",
        "running variance",
        ("torch", "self.norm = BatchNorm2d", "self.norm = nn.BatchNorm2d"),
    ),
    _plant(
        "torch unbiased variance, to Paddle",
        R,
        "norm",
        "running variance",
        ("torch", "self.norm = BatchNorm2d", "self.norm = nn.BatchNorm2d"),
        other="paddle",
    ),
    _plant(
        "torch padding",
        R,
        CONV_STAGE1,
        PADDING,
        ("torch", "outputs, 3, stride, padding=1, bias", "outputs, 3, stride, padding=0, bias"),
        (
            "torch",
            "self.norm1(self.conv1(x))",
            "self.norm1(self.conv1(nn.functional.pad(x, [2 - self.conv1.stride[0], 1] * 2)))",
        ),
    ),
    _plant("torch initial", R, "conv", INITIAL, ("torch", 'mode="fan_out"', 'mode="fan_in"')),
    # ResNet, Keras
    _plant(
        "keras same",
        R,
        CONV_STAGE1,
        PADDING,
        ("tensorflow", "if size > 1 and stride > 1:", "if size > 9:"),
    ),
    _plant("keras momentum", R, "norm", MOMENTUM, ("tensorflow", "momentum=0.9, ", "")),
    _plant(
        "keras momentum as in PyTorch",
        R,
        "norm",
        MOMENTUM,
        ("tensorflow", "momentum=0.9, ", "momentum=0.1, "),
    ),
    _plant(
        "keras epsilon",
        R,
        "norm",
        BN_EPS,
        ("tensorflow", "momentum=0.9, epsilon=1e-5", "momentum=0.9"),
    ),
    _plant(
        "keras initial",
        R,
        "conv",
        INITIAL,
        ("tensorflow", 'VarianceScaling(2.0, "fan_out", "untruncated_normal")', "GlorotUniform()"),
    ),
    # ResNet, Paddle
    _plant("paddle momentum", R, "norm", MOMENTUM, ("paddle", "momentum=0.9", "momentum=0.1")),
    _plant("paddle epsilon", R, "norm", BN_EPS, ("paddle", "epsilon=1e-5", "epsilon=1e-3")),
    _plant("paddle small epsilon", R, "norm", BN_EPS, ("paddle", "epsilon=1e-5", "epsilon=1e-6")),
    _plant(
        "paddle padding",
        R,
        CONV_STAGE1,
        PADDING,
        (
            "paddle",
            "padding=size // 2",
            "padding=[[0, 0], [0, 0], *[[(2 - stride) * (size // 2), size // 2]] * 2]",
        ),
    ),
    _plant("paddle initial", R, "conv", INITIAL, ("paddle", 'mode="fan_out"', 'mode="fan_in"')),
    # Pooling and resizing
    _plant("torch pool", R, "pool", POOL, *POOLS, ("torch", ", count_include_pad=False", "")),
    _plant("paddle pool", R, "pool", POOL, *POOLS, ("paddle", "exclusive=True", "exclusive=False")),
    _plant(
        "torch corners",
        R,
        "up",
        "resizing",
        *RESIZES,
        ("torch", "align_corners=False", "align_corners=True"),
    ),
    _plant(
        "keras nearest",
        R,
        "up",
        "resizing",
        *RESIZES,
        ("tensorflow", ', interpolation="bilinear"', ""),
    ),
    _plant(
        "paddle asymmetric",
        R,
        "up",
        "resizing",
        *RESIZES,
        ("paddle", "align_mode=0", "align_mode=1"),
    ),
    # GPT, PyTorch
    _plant(
        "torch gelu",
        G,
        "blocks.0.down",
        GELU,
        ("torch", 'approximate="tanh"', 'approximate="none"'),
    ),
    _plant(
        "torch layer norm",
        G,
        "blocks.0.norm1",
        LN_EPS,
        (
            "torch",
            "self.norm1 = nn.LayerNorm(width, eps=1e-5)",
            "self.norm1 = nn.LayerNorm(width, eps=1e-3)",
        ),
    ),
    _plant(
        "torch scale",
        G,
        ATTENTION,
        SCALE,
        ("torch", "query * (width // self.heads) ** -0.5 @", "query @"),
        other="paddle",
    ),
    _plant(
        "torch scale of the width",
        G,
        ATTENTION,
        SCALE,
        ("torch", "(width // self.heads) ** -0.5", "width ** -0.5"),
    ),
    _plant(
        "torch mask", G, ATTENTION, MASK, ("torch", '.masked_fill(~visible, float("-inf"))', "")
    ),
    _plant(
        "torch dropout",
        G,
        "blocks.0.dropout1",
        "dropout",
        (
            "torch",
            "x + self.dropout1(self.attention(self.norm1(x)))",
            "x + self.attention(self.dropout1(self.norm1(x)))",
        ),
    ),
    _plant(
        "torch initial of GPT",
        G,
        "tokens",
        INITIAL,
        (
            "torch",
            "nn.init.normal_(module.weight, std=STD)",
            "nn.init.normal_(module.weight, std=0.05)",
        ),
    ),
    # GPT, Keras
    _plant(
        "keras gelu",
        G,
        "blocks.0.down",
        GELU,
        ("tensorflow", "approximate=True", "approximate=False"),
    ),
    _plant(
        "keras layer norm",
        G,
        "blocks.0.norm1",
        LN_EPS,
        ("tensorflow", "LayerNormalization(epsilon=1e-5, ", "LayerNormalization("),
    ),
    _plant("keras scale", G, ATTENTION, SCALE, ("tensorflow", "query * size**-0.5", "query")),
    _plant(
        "keras mask",
        G,
        ATTENTION,
        MASK,
        (
            "tensorflow",
            'ops.tril(ops.ones((tokens, tokens), "bool"))',
            'ops.tril(ops.ones((tokens, tokens), "bool"), 1)',
        ),
    ),
    _plant(
        "keras rate",
        G,
        "dropout",
        "dropout",
        (
            "tensorflow",
            "self.dropout = layers.Dropout(DROPOUT, dtype",
            "self.dropout = layers.Dropout(0.2, dtype",
        ),
    ),
    _plant(
        "keras initial of GPT",
        G,
        "blocks.0.attention.qkv",
        INITIAL,
        (
            "tensorflow",
            "layers.Dense(3 * width, kernel_initializer=normal(), name",
            "layers.Dense(3 * width, name",
        ),
    ),
    # GPT, Paddle
    _plant("paddle gelu", G, "blocks.0.down", GELU, ("paddle", ", approximate=True", "")),
    _plant(
        "paddle layer norm",
        G,
        "norm",
        LN_EPS,
        (
            "paddle",
            "self.norm = nn.LayerNorm(width, epsilon=1e-5)",
            "self.norm = nn.LayerNorm(width, epsilon=1e-12)",
        ),
    ),
    _plant(
        "paddle scale",
        G,
        ATTENTION,
        SCALE,
        ("paddle", "query * (width // self.heads) ** -0.5", "query"),
    ),
    _plant(
        "paddle mask", G, ATTENTION, MASK, ("paddle", '.masked_fill(~visible, float("-inf"))', "")
    ),
    _plant(
        "paddle dropout",
        G,
        "blocks.0.dropout2",
        "dropout",
        ("paddle", "x + self.dropout2(self.down(hidden))", "x + self.down(self.dropout2(hidden))"),
    ),
    # LSTM
    _plant(
        "torch double bias",
        L,
        "lstm",
        "double bias",
        ("torch", "            bias.requires_grad_(False)\n", ""),
    ),
    _plant(
        "keras gates",
        L,
        "lstm",
        GATES,
        ("tensorflow", "\ndef forecaster(", GATE_CELL),
        ("tensorflow", "    states = lstm(width", "    states = swapped(lstm(width"),
        ("tensorflow", "return_sequences=True)(past)", "return_sequences=True))(past)"),
    ),
    _plant(
        "keras gates of both",
        L,
        "lstm",
        GATES,
        ("tensorflow", "\ndef forecaster(", GATE_CELL),
        ("tensorflow", "= lstm(width", "= swapped(lstm(width"),
        ("tensorflow", "=True)(past)", "=True))(past)"),
        ("tensorflow", "=False)(states)", "=False))(states)"),
    ),
    _plant(
        "paddle gates",
        L,
        "lstm",
        GATES,
        (
            "paddle",
            "from paddle.nn import initializer",
            "from paddle.nn import functional as F\nfrom paddle.nn import initializer",
        ),
        ("paddle", "\nclass Forecaster(", PADDLE_CELL),
        ("paddle", "nn.RNN(nn.LSTMCell(", "nn.RNN(Cell("),
    ),
    _plant(
        "keras initial of LSTM",
        L,
        "lstm",
        INITIAL,
        ("tensorflow", "        bias_initializer=uniform(width),\n", ""),
    ),
    _plant(
        "torch initial of LSTM",
        L,
        "head",
        INITIAL,
        (
            "torch",
            "        # PyTorch adds two biases",
            "        nn.init.normal_(self.head.weight)\n        # PyTorch adds two biases",
        ),
    ),
)
