"""Programs for the comparison of modules: the example problems, implemented in other ways."""

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


R, G, L = "resnet-cifar", "gpt", "lstm-forecast"
Z = "layer-zoo"
"""Layers of many kinds in one network, of these tests."""
HEAD = "        self.head = nn.Linear"
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
        "        x = self.up(x[..., :16, :16])\n        for stage in self.stages:",
    ),
    (
        "tensorflow",
        "    for stage, width in enumerate(widths):",
        f'    x = layers.UpSampling2D(2, interpolation="bilinear")(x[:, :16, :16])\n{KERAS_STAGES}',
    ),
    (
        "paddle",
        "        self.head = nn.Linear",
        f'        self.up = nn.Upsample(None, 2, "bilinear", False, align_mode=0)\n{HEAD}',
    ),
    (
        "paddle",
        "        for stage in self.stages:",
        "        x = self.up(x[..., :16, :16])\n        for stage in self.stages:",
    ),
)
"""A part of the image is enlarged to its old size: on CPUs with AVX-512, PyTorch 2.13 crashes in
the backward pass of 1x1 convolutions of larger images with stride 2 and under 16 channels."""
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


def rewrites(*programs: tuple[str, str, Sequence[Edit]]) -> tuple[Program, ...]:
    """Return comparisons of programs in all pairs of frameworks of which at least one is edited.

    Without edits of any, all pairs are compared.
    """
    return tuple(
        Program(f"{name}, {a} and {b}", example, edits, (a, b))
        for name, example, edits in programs
        for a, b in PAIRS
        if not edits or {a, b} & {framework for framework, *_ in edits}
    )


RIGHT = rewrites(
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
UNMAPPED = ("cells",)
"""Programs whose weights have other names than in the example: they are matched again."""
