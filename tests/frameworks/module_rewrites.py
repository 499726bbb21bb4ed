"""More ways to write the example problems, none of which is another function.

They were written after the limits of the comparison were set.
"""

from __future__ import annotations

from frameworks.module_programs import Edit, G, L, R, rewrites

PROJECTIONS: tuple[Edit, ...] = (
    (
        "torch",
        "        self.qkv = nn.Linear(width, 3 * width)\n",
        """        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
""",
    ),
    (
        "torch",
        """        split = (rows, tokens, 3, self.heads, width // self.heads)
        query, key, value = self.qkv(x).view(split).permute(2, 0, 3, 1, 4)
""",
        """        split = (rows, tokens, self.heads, width // self.heads)
        made = (layer(x) for layer in (self.query, self.key, self.value))
        query, key, value = (each.view(split).transpose(1, 2) for each in made)
""",
    ),
    (
        "paddle",
        "        self.qkv = linear(width, 3 * width)\n",
        """        self.query = linear(width, width)
        self.key = linear(width, width)
        self.value = linear(width, width)
""",
    ),
    (
        "paddle",
        """        split = self.qkv(x).reshape([rows, tokens, 3, self.heads, width // self.heads])
        query, key, value = split.transpose([2, 0, 3, 1, 4]).unbind(0)
""",
        """        split = [rows, tokens, self.heads, width // self.heads]
        made = (layer(x) for layer in (self.query, self.key, self.value))
        query, key, value = (each.reshape(split).transpose([0, 2, 1, 3]) for each in made)
""",
    ),
)
OWN_NORM: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Attention(nn.Module):",
        '''
class Norm(nn.Module):
    """Layer normalization by its formula."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [rows, tokens, width]."""
        far = x - x.mean(-1, keepdim=True)
        size = (far.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        return far * size * self.weight + self.bias


class Attention(nn.Module):''',
    ),
    ("torch", "nn.LayerNorm(width, eps=1e-5)", "Norm(width, eps=1e-5)"),
    (
        "paddle",
        "\nclass Attention(nn.Layer):",
        '''
class Norm(nn.Layer):
    """Layer normalization by its formula."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = self.create_parameter([width], default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([width], is_bias=True)
        self.epsilon = epsilon

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """Return [rows, tokens, width]."""
        far = x - x.mean(-1, keepdim=True)
        size = (far.square().mean(-1, keepdim=True) + self.epsilon).sqrt()
        return far / size * self.weight + self.bias


class Attention(nn.Layer):''',
    ),
    ("paddle", "nn.LayerNorm(width, epsilon=1e-5)", "Norm(width, epsilon=1e-5)"),
)
EINSUM: tuple[Edit, ...] = (
    (
        "torch",
        "query * (width // self.heads) ** -0.5 @ key.transpose(-2, -1)",
        'torch.einsum("rhqs,rhks->rhqk", query, key) * (width // self.heads) ** -0.5',
    ),
    (
        "torch",
        "(weights @ value).transpose(1, 2).reshape(rows, tokens, width)",
        'torch.einsum("rhqk,rhks->rqhs", weights, value).reshape(rows, tokens, width)',
    ),
    (
        "tensorflow",
        "ops.matmul(query * size**-0.5, ops.transpose(key, (0, 1, 3, 2)))",
        'ops.einsum("rhqs,rhks->rhqk", query, key) / size**0.5',
    ),
    (
        "tensorflow",
        "ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))",
        'ops.einsum("rhqk,rhks->rqhs", weights, value)',
    ),
)
ONE_HOT: tuple[Edit, ...] = (
    (
        "paddle",
        "self.dropout(self.tokens(tokens) + positions)",
        "self.dropout(F.one_hot(tokens, VOCABULARY) @ self.tokens.weight + positions)",
    ),
    (
        "tensorflow",
        "self.dropout(self.tokens(tokens) + positions",
        "self.dropout(ops.one_hot(tokens, VOCABULARY) @ self.tokens.embeddings + positions",
    ),
    (
        "tensorflow",
        '        self.dropout = layers.Dropout(DROPOUT, dtype="float32")\n',
        '        self.dropout = layers.Dropout(DROPOUT, dtype="float32")\n'
        "        self.tokens.build()\n",
    ),
)
OUTPUT_LAYER: tuple[Edit, ...] = (
    (
        "torch",
        "        self.apply(initialize)\n",
        """        self.output = nn.Linear(width, VOCABULARY, bias=False)
        self.output.weight = self.tokens.weight
        for module in self.modules():
            if module is not self.output:
                initialize(module)
""",
    ),
    ("torch", "F.linear(self.norm(x), self.tokens.weight)", "self.output(self.norm(x))"),
)
"""A layer for the tied output; `initialize` would have found it without a bias."""
POOLED: tuple[Edit, ...] = (
    (
        "torch",
        "        self.head = nn.Linear",
        "        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())\n"
        "        self.head = nn.Linear",
    ),
    ("torch", "self.head(x.mean((2, 3)))", "self.head(self.pool(x))"),
    (
        "paddle",
        "        self.head = nn.Linear",
        "        self.pool = nn.Sequential(nn.AdaptiveAvgPool2D(1), nn.Flatten())\n"
        "        self.head = nn.Linear",
    ),
    ("paddle", "self.head(x.mean([2, 3]))", "self.head(self.pool(x))"),
    (
        "tensorflow",
        'x = layers.GlobalAveragePooling2D(name="pool")(x)',
        "x = keras.ops.mean(x, axis=(1, 2))",
    ),
)
SLICES: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Block(nn.Module):",
        '''
class Sliced(nn.Conv2d):
    """A kernel of one pixel: a product at every second pixel."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return what the convolution does."""
        x = input[:, :, :: self.stride[0], :: self.stride[1]]
        return torch.einsum("rchw,dc->rdhw", x, self.weight[:, :, 0, 0])


class Block(nn.Module):''',
    ),
    (
        "torch",
        "nn.Conv2d(inputs, outputs, 1, stride, bias=False)",
        "Sliced(inputs, outputs, 1, stride, bias=False)",
    ),
    (
        "paddle",
        "        hidden = F.relu(self.conv1(x))\n",
        "        hidden = paddle.clip(self.conv1(x), min=0.0)\n",
    ),
)
"""A shortcut without a convolution, and a ReLU by another function."""
GATES: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Forecaster(",
        '''
class Written(nn.LSTM):
    """The formulas of an LSTM."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return all states."""
        for number in range(self.num_layers):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            w, u, b, d = (getattr(self, f"{name}_l{number}") for name in names)
            h = c = x.new_zeros(len(x), self.hidden_size)
            found = []
            for step in x.unbind(1):
                i, f, g, o = (step @ w.T + b + h @ u.T + d).chunk(4, -1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                found.append(h)
            x = torch.stack(found, 1)
        return x, None


class Forecaster(''',
    ),
    ("torch", "nn.LSTM(1, width", "Written(1, width"),
    (
        "paddle",
        "\nclass Forecaster(",
        '''
class Cell(nn.LSTMCell):
    """The formulas of an LSTM."""

    def forward(self, inputs, states=None):
        """Return the state."""
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        h, c = states
        gates = paddle.matmul(inputs, self.weight_ih, transpose_y=True) + self.bias_ih
        gates = gates + self.bias_hh + paddle.matmul(h, self.weight_hh, transpose_y=True)
        i, f, g, o = paddle.split(gates, 4, axis=-1)
        c = paddle.nn.functional.sigmoid(f) * c + paddle.nn.functional.sigmoid(i) * paddle.tanh(g)
        h = paddle.nn.functional.sigmoid(o) * paddle.tanh(c)
        return h, (h, c)


class Forecaster(''',
    ),
    ("paddle", "nn.RNN(nn.LSTMCell(1,", "nn.RNN(Cell(1,"),
    ("paddle", "nn.RNN(nn.LSTMCell(width,", "nn.RNN(Cell(width,"),
)
LAST_STATE: tuple[Edit, ...] = (
    ("torch", "states, _ = self.lstm(past)", "_, (last, _) = self.lstm(past)"),
    ("torch", "self.head(states[:, -1])", "self.head(last[-1])"),
    (
        "paddle",
        "        states, _ = self.lstm_1(states)\n",
        "        _, (last, _) = self.lstm_1(states)\n",
    ),
    ("paddle", "self.head(states[:, -1])", "self.head(last)"),
)
SEQUENTIAL: tuple[Edit, ...] = (
    (
        "torch",
        """        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
""",
        """        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )
""",
    ),
    ("torch", '        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")\n', ""),
    ("torch", "self.dropout2(self.down(hidden))", "self.dropout2(self.mlp(self.norm2(x)))"),
    ("torch", "(block.attention.out, block.down)", "(block.attention.out, block.mlp[2])"),
    (
        "paddle",
        """        self.up = linear(width, 4 * width)
        self.down = linear(4 * width, width, out_std)
""",
        """        self.mlp = nn.Sequential(
            linear(width, 4 * width), nn.GELU(True), linear(4 * width, width, out_std)
        )
""",
    ),
    ("paddle", "        hidden = F.gelu(self.up(self.norm2(x)), approximate=True)\n", ""),
    ("paddle", "self.dropout2(self.down(hidden))", "self.dropout2(self.mlp(self.norm2(x)))"),
)
ADDED_MASK: tuple[Edit, ...] = (
    (
        "torch",
        'scores.float().masked_fill(~visible, float("-inf"))',
        "scores.float() - 1e9 * (~visible)",
    ),
    (
        "tensorflow",
        'ops.where(visible, ops.cast(scores, "float32"), -np.inf)',
        'ops.cast(scores, "float32") - 1e9 * ops.cast(~visible, "float32")',
    ),
)
REWRITES = rewrites(
    ("split projections", G, PROJECTIONS),
    ("normalization by its formula", G, OWN_NORM),
    ("attention by einsum", G, EINSUM),
    ("embedding by a product", G, ONE_HOT),
    ("tied output layer", G, OUTPUT_LAYER),
    ("mean or pooling layer", R, POOLED),
    ("slices", R, SLICES),
    ("gates written out", L, GATES),
    ("last state", L, LAST_STATE),
    ("layers in sequence", G, SEQUENTIAL),
    ("mask that is added", G, ADDED_MASK),
)
UNMAPPED = (
    "split projections",
    "layers in sequence",
    "tied output layer",
    "embedding by a product",
)
"""Programs whose weights have other names than in the example: they are matched again."""
