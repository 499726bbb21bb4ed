"""Differences between frameworks, planted in the example problems, and programs without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Edit = tuple[str, str, str]
"""Framework, text of its model file, what it becomes."""
ALL = ("torch", "tensorflow", "paddle")


@dataclass(frozen=True)
class Program:
    """The models of an example after some edits. `against`: frameworks that are compared."""

    name: str
    example: str
    edits: Sequence[Edit]
    against: tuple[str, str]


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


HEAD = "        self.head = nn.Linear"
STAGES = "        for stage in self.stages:"
KERAS_STAGES = "    for stage, width in enumerate(widths):"
POOLS: tuple[Edit, ...] = (
    (
        "torch",
        "        self.head = nn.Linear",
        f"        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)\n{HEAD}",
    ),
    (
        "torch",
        "        for stage in self.stages:",
        "        x = self.pool(x)\n        for stage in self.stages:",
    ),
    (
        "tensorflow",
        "    for stage, width in enumerate(widths):",
        f'    x = layers.AveragePooling2D(3, 1, "same", name="pool_0")(x)\n{KERAS_STAGES}',
    ),
    (
        "paddle",
        "        self.head = nn.Linear",
        "        self.pool = nn.AvgPool2D(3, 1, 1, exclusive=True)\n        self.head = nn.Linear",
    ),
    (
        "paddle",
        "        for stage in self.stages:",
        "        x = self.pool(x)\n        for stage in self.stages:",
    ),
)
RESIZES: tuple[Edit, ...] = (
    (
        "torch",
        "        self.head = nn.Linear",
        f'        self.up = nn.Upsample(None, 2, "bilinear", align_corners=False)\n{HEAD}',
    ),
    (
        "torch",
        "        for stage in self.stages:",
        "        x = self.up(x)\n        for stage in self.stages:",
    ),
    (
        "tensorflow",
        "    for stage, width in enumerate(widths):",
        f'    x = layers.UpSampling2D(2, interpolation="bilinear")(x)\n{KERAS_STAGES}',
    ),
    (
        "paddle",
        "        self.head = nn.Linear",
        f'        self.up = nn.Upsample(None, 2, "bilinear", False, align_mode=0)\n{HEAD}',
    ),
    (
        "paddle",
        "        for stage in self.stages:",
        "        x = self.up(x)\n        for stage in self.stages:",
    ),
)
R, G, L = "resnet-cifar", "gpt", "lstm-forecast"
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


FUSED: tuple[Edit, ...] = (
    (
        "torch",
        """        scores = query * (width // self.heads) ** -0.5 @ key.transpose(-2, -1)
        visible = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()
        # In float32 under autocast too, on every device.
        scores = scores.float().masked_fill(~visible, float("-inf"))
        weights = self.dropout(scores.softmax(-1).to(value.dtype))
        mixed = (weights @ value).transpose(1, 2).reshape(rows, tokens, width)
""",
        """        rate = self.dropout.p if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=rate, is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(rows, tokens, width)
""",
    ),
)
SCALED_LATER: tuple[Edit, ...] = (
    (
        "torch",
        "scores = query * (width // self.heads) ** -0.5 @ key.transpose(-2, -1)",
        "scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5",
    ),
    ("paddle", "        query = query * (width // self.heads) ** -0.5\n", ""),
    (
        "paddle",
        "paddle.matmul(query, key, transpose_y=True)",
        "paddle.matmul(query, key, transpose_y=True) / (width // self.heads) ** 0.5",
    ),
)
ORDER_GPT: tuple[Edit, ...] = (
    (
        "torch",
        """        self.norm1 = nn.LayerNorm(width, eps=1e-5)
        self.attention = Attention(width, heads)
        self.dropout1 = nn.Dropout(DROPOUT)
        self.norm2 = nn.LayerNorm(width, eps=1e-5)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
""",
        """        self.down = nn.Linear(4 * width, width)
        self.up = nn.Linear(width, 4 * width)
        self.norm2 = nn.LayerNorm(width, eps=1e-5)
        self.dropout1 = nn.Dropout(DROPOUT)
        self.attention = Attention(width, heads)
        self.norm1 = nn.LayerNorm(width, eps=1e-5)
""",
    ),
    (
        "torch",
        """        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(positions))
""",
        """        positions = self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.dropout(positions + self.tokens(tokens))
""",
    ),
)
GELU_LAYER: tuple[Edit, ...] = (
    (
        "torch",
        "        self.up = nn.Linear(width, 4 * width)\n",
        '        self.up = nn.Linear(width, 4 * width)\n        self.act = nn.GELU("tanh")\n',
    ),
    (
        "torch",
        'hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")',
        "hidden = self.act(self.up(self.norm2(x)))",
    ),
    (
        "tensorflow",
        "layers.Dense(4 * width, kernel_initializer=normal(), name=",
        "layers.Dense(4 * width, activation=gelu, kernel_initializer=normal(), name=",
    ),
    ("tensorflow", "ops.gelu(self.up(self.norm2(x)), approximate=True)", "self.up(self.norm2(x))"),
    (
        "tensorflow",
        "\nclass Attention(",
        """
def gelu(x):
    \"""Return GELU.\"""
    return ops.gelu(x, approximate=True)


class Attention(""",
    ),
)
"""An activation that is a layer, one within a layer, and one that is a function."""
MATMUL: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Block(nn.Module):",
        '''
class Matmul(nn.Conv2d):
    """A convolution by unfold and a product of matrices."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the convolution does."""
        size, pad, stride = self.kernel_size, self.padding, self.stride
        columns = nn.functional.unfold(x, size, padding=pad, stride=stride)
        found = self.weight.flatten(1) @ columns
        height = (x.shape[2] + 2 * pad[0] - size[0]) // stride[0] + 1
        return found.unflatten(2, (height, -1))


class Block(nn.Module):''',
    ),
    (
        "torch",
        "self.conv1 = nn.Conv2d(inputs, outputs",
        "self.conv1 = Matmul(inputs, outputs",
    ),
)
SHORTCUT: tuple[Edit, ...] = (
    (
        "torch",
        """        hidden = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(hidden)) + self.shortcut(x)).relu()
""",
        """        shortcut = self.shortcut(x)
        hidden = self.norm1(self.conv1(x)).relu_()
        shortcut += self.norm2(self.conv2(hidden))
        return shortcut.relu_()
""",
    ),
    ("torch", "self.shortcut: nn.Module = nn.Identity()", "self.shortcut: nn.Module = Copy()"),
    (
        "torch",
        "\nclass Block(nn.Module):",
        """
class Copy(nn.Module):
    \"""Copies its input.\"""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        \"""Return a copy.\"""
        return x.clone()


class Block(nn.Module):""",
    ),
)
"""The shortcut first, and sums in place."""
MODULES: tuple[Edit, ...] = (
    (
        "torch",
        "        self.head = nn.Linear",
        "        self.relu = nn.ReLU(inplace=True)\n        self.head = nn.Linear",
    ),
    ("torch", "x = self.norm(self.conv(x)).relu()", "x = self.relu(self.norm(self.conv(x)))"),
)
CELLS: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Forecaster(",
        '''
class Cells(nn.Module):
    """The layers of an LSTM, step by step."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.num_layers = 2
        self.lstm_0, self.lstm_1 = nn.LSTMCell(1, width), nn.LSTMCell(width, width)
        for number, cell in enumerate((self.lstm_0, self.lstm_1)):
            setattr(self, f"bias_hh_l{number}", cell.bias_hh)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return all states."""
        for cell in (self.lstm_0, self.lstm_1):
            state, found = None, []
            for step in x.unbind(1):
                state = cell(step, state)
                found.append(state[0])
            x = torch.stack(found, 1)
        return x, None


class Forecaster(''',
    ),
    ("torch", "nn.LSTM(1, width, num_layers=2, batch_first=True)", "Cells(width)"),
)
PAIRS = (("torch", "tensorflow"), ("torch", "paddle"), ("tensorflow", "paddle"))
RIGHT: tuple[Program, ...] = tuple(
    Program(f"{name}, {a} and {b}", example, edits, (a, b))
    for name, example, edits in (
        ("ResNet", R, ()),
        ("GPT", G, ()),
        ("LSTM", L, ()),
        ("pooling", R, POOLS),
        ("resizing", R, RESIZES),
        ("fused attention", G, FUSED),
        ("scores scaled later", G, SCALED_LATER),
        ("another order of layers", G, ORDER_GPT),
        ("activation in a layer", G, GELU_LAYER),
        ("convolution as matmul", R, MATMUL),
        ("shortcut first, in place", R, SHORTCUT),
        ("a ReLU in place", R, MODULES),
        ("cells", L, CELLS),
    )
    for a, b in PAIRS
)
UNMAPPED = ("cells",)
"""Programs whose weights have other names than in the example: they are matched again."""
