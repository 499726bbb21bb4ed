"""All models that are carried: whole ones of every framework, and the rarer operations."""

from __future__ import annotations

from carried_models import CASES as WHOLE
from carried_models import Case
from sequence_cases import SEQUENCES

PADDLE = (
    Case(
        name="lenet",
        framework="paddle",
        inputs={"inputs": (1, 12, 12)},
        text="""
class LeNet(nn.Layer):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 8, 3, bias_attr=False),
            nn.BatchNorm2D(8),
            nn.ReLU(),
            nn.AvgPool2D(2, 2),
        )
        self.fc = nn.Sequential(nn.Linear(32, 12), nn.LayerNorm(12), nn.Linear(12, num_classes))

    def forward(self, inputs):
        x = self.features(inputs)
        x = paddle.flatten(x, 1)
        return self.fc(x)


def make():
    return LeNet(num_classes=4)
""",
    ),
)
NNX = (
    Case(
        name="nnx-images",
        framework="jax",
        inputs={"x": (14, 14, 1)},
        text="""
class CNN(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
        self.conv1 = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.conv2 = nnx.Conv(
            4, 6, (3, 3), strides=2, padding=((0, 1), (1, 1)), use_bias=False, rngs=rngs
        )
        self.norm = nnx.BatchNorm(6, momentum=0.9, rngs=rngs)
        self.pool = partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))
        self.dropout = nnx.Dropout(rate=0.25, rngs=rngs)
        self.linear = nnx.Linear(54, 3, kernel_init=nnx.initializers.he_normal(), rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.conv1(x)), (3, 3), strides=(1, 1), padding="SAME")
        x = nnx.gelu(self.norm(self.conv2(x)))
        x = self.pool(x)
        x = x.reshape(x.shape[0], -1)
        return self.linear(self.dropout(x))


def make():
    return CNN(rngs=nnx.Rngs(0))
""",
    ),
    Case(
        name="nnx-residual",
        framework="jax",
        inputs={"images": (8, 8, 3)},
        text="""
conv = partial(nnx.Conv, kernel_size=(3, 3), padding=1, use_bias=False)


class Block(nnx.Module):
    def __init__(self, inputs, outputs, strides, rngs):
        self.conv1 = conv(inputs, outputs, strides=strides, rngs=rngs)
        self.norm1 = nnx.BatchNorm(outputs, rngs=rngs)
        self.conv2 = conv(outputs, outputs, rngs=rngs)
        self.norm2 = nnx.BatchNorm(outputs, scale_init=nnx.initializers.zeros, rngs=rngs)
        shortcut = None
        if strides != 1 or inputs != outputs:
            shortcut = nnx.Conv(inputs, outputs, (1, 1), strides, use_bias=False, rngs=rngs)
        self.shortcut = shortcut

    def __call__(self, x):
        y = nnx.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.shortcut is not None:
            x = self.shortcut(x)
        return nnx.relu(x + y)


class ResNet(nnx.Module):
    def __init__(self, widths, rngs):
        self.stem = conv(3, widths[0], rngs=rngs)
        blocks = []
        for before, width in zip(widths, widths[1:]):
            blocks.append(Block(before, width, 1 if before == width else 2, rngs))
        self.blocks = nnx.List(blocks)
        self.head = nnx.Linear(widths[-1], 5, rngs=rngs)

    def __call__(self, images):
        x = self.stem(images)
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(x, axis=(1, 2)))


def make():
    return ResNet((4, 4, 6), nnx.Rngs(0))
""",
    ),
    Case(
        name="nnx-words",
        framework="jax",
        inputs={"tokens": (7,), "segments": (7,)},
        integers=10,
        refused={"tensorflow": "how many features flattened rows have"},
        text="""
class Words(nnx.Module):
    def __init__(self, rngs):
        self.words = nnx.Embed(10, 6, rngs=rngs)
        self.segments = nnx.Embed(num_embeddings=10, features=6, rngs=rngs)
        self.norm = nnx.LayerNorm(6, rngs=rngs)
        self.layers = nnx.Sequential(
            nnx.Linear(6, 8, rngs=rngs), nnx.silu, nnx.Linear(8, 6, use_bias=False, rngs=rngs)
        )
        self.conv = nnx.Conv(6, 4, (3,), padding="VALID", kernel_dilation=2, rngs=rngs)
        self.head = nnx.Linear(4 * 3 + 6, 2, rngs=rngs)

    def __call__(self, tokens, segments):
        x = self.norm(self.words(tokens) + self.segments(segments))
        x = x + self.layers(x)
        y = jnp.tanh(self.conv(x)).reshape(x.shape[0], -1)
        z = nnx.softmax(x.transpose(0, 2, 1), axis=-1).mean(axis=-1)
        return self.head(jnp.concatenate([y, z], axis=-1) * 2.0)


def make():
    return Words(nnx.Rngs(0))
""",
    ),
)

OPERATIONS = (
    Case(
        name="numbers",
        framework="torch",
        inputs={"x": (6,)},
        text="""
class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(6, 12)
        self.two = nn.Linear(6, 12, bias=False)
        self.norm = nn.LayerNorm(12, elementwise_affine=False)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        a, b = F.relu6(self.one(x) * 4), F.selu(self.two(x))
        c = torch.exp(a / 6) - torch.sqrt(torch.abs(b) + 0.5)
        d = torch.stack([a * b, a / (torch.exp(b) + 1), c], dim=1)
        e = self.norm(d).reshape(-1, 3, 4, 3)
        g = torch.matmul(e, e.permute(0, 1, 3, 2)).sum(dim=1)
        h = F.log_softmax(g, dim=-1).unsqueeze(1).squeeze(1)
        k = F.elu(h[:, 1], 0.5) * torch.sign(h[:, 3]) * h.amax(dim=1)
        return self.head(h[:, 2] + h[..., 0] + k)


def make():
    return Numbers()
""",
    ),
    Case(
        name="volumes",
        framework="torch",
        inputs={"x": (2, 5, 5, 9)},
        text="""
class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 4, (3, 2, 3), stride=(1, 1, 2), padding=(1, 0, 1))
        self.norm = nn.BatchNorm3d(4, affine=False)
        self.after = nn.Conv3d(4, 4, 2, dilation=2, groups=2)
        self.most = nn.AdaptiveMaxPool3d(1)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool3d(torch.relu(self.norm(self.conv(x))), 2, stride=1)
        x = torch.tanh(self.after(x))
        return self.head(torch.cat([self.most(x).flatten(1), x.mean((2, 3, 4))], dim=1))


def make():
    return Volumes()
""",
    ),
    Case(
        name="sequences",
        framework="torch",
        inputs={"x": (3, 8)},
        refused={"tensorflow": "how many features flattened rows have"},
        text="""
class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding=2, dilation=2)
        self.pad = nn.ZeroPad2d((1, 0, 0, 2))
        self.image = nn.Conv2d(1, 2, 2)
        self.head = nn.Linear(18, 3)

    def forward(self, x):
        y = F.avg_pool1d(F.leaky_relu(self.conv(x), 0.3), 2, stride=1, padding=1)
        y = F.max_pool1d(y, 3, padding=1)
        z = F.avg_pool2d(self.image(self.pad(x.unsqueeze(1))), 2, padding=1)
        return self.head(torch.cat([y.flatten(1), z.mean(dim=3).flatten(1)], dim=1))


def make():
    return Sequences()
""",
    ),
    Case(
        name="adaptive",
        framework="torch",
        inputs={"x": (1, 7, 9)},
        refused=dict.fromkeys(("tensorflow", "jax"), "adaptive_avg has no counterpart"),
        text="""
class Adaptive(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.mean = nn.AdaptiveAvgPool2d((2, 3))
        self.most = nn.AdaptiveMaxPool2d(3)
        self.head = nn.Linear(2 * 15, 3)

    def forward(self, x):
        x = torch.sigmoid(self.conv(x))
        return self.head(torch.cat([self.mean(x).flatten(1), self.most(x).flatten(1)], dim=1))


def make():
    return Adaptive()
""",
    ),
    Case(
        name="nnx-numbers",
        framework="jax",
        inputs={"x": (6,)},
        text="""
class Numbers(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(6, 12, rngs=rngs)
        self.two = nnx.Linear(6, 12, use_bias=False, rngs=rngs)
        self.norm = nnx.LayerNorm(12, use_bias=False, use_scale=False, rngs=rngs)
        self.same = nnx.identity
        self.head = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        a, b = jax.nn.relu6(self.one(x) * 4), nnx.selu(self.two(x))
        c = jnp.subtract(jnp.exp(a / 6), jnp.sqrt(nnx.softplus(b) + 0.5))
        d = jnp.stack([jnp.multiply(a, b), jnp.divide(a, jnp.exp(b) + 1), c], axis=1)
        e = jnp.reshape(self.norm(self.same(d)), (x.shape[0], 3, 4, 3))
        g = jnp.sum(e @ jnp.transpose(e, (0, 1, 3, 2)), axis=1)
        h = jnp.squeeze(jnp.expand_dims(nnx.log_softmax(g), 1), axis=1)
        k = nnx.sigmoid(nnx.elu(h[:, 1], alpha=0.5)) * nnx.leaky_relu(h[:, 3], 0.1)
        k = k * jnp.abs(h[:, 0].astype(jnp.float32)) * jnp.sign(h[:, 3]) + jnp.max(h, axis=-1)
        return self.head(jnp.add(h[:, 2], h[..., 0]) + k)


def make():
    return Numbers(nnx.Rngs(0))
""",
    ),
    Case(
        name="nnx-volumes",
        framework="jax",
        inputs={"x": (5, 5, 9, 2)},
        refused=dict.fromkeys(("torch", "paddle", "tensorflow"), "an average does not count"),
        text="""
class Volumes(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(
            2, 4, (3, 2, 3), (1, 1, 2), padding=((1, 1), (0, 1), (2, 0)), rngs=rngs
        )
        self.norm = nnx.BatchNorm(4, use_bias=False, use_scale=False, rngs=rngs)
        self.after = nnx.Conv(
            4, 4, (2, 2, 2), padding="VALID", kernel_dilation=2, feature_group_count=2, rngs=rngs
        )
        self.line = nnx.Conv(4, 3, 2, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.conv(x))), (2, 2, 2))
        x = jnp.tanh(self.after(x)).mean(axis=(1, 2))
        x = jnp.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=0.5)
        x = nnx.avg_pool(x, (2,), padding=((1, 0),), count_include_pad=False)
        return self.head(nnx.swish(self.line(x)).mean(axis=1))


def make():
    return Volumes(nnx.Rngs(0))
""",
    ),
)
CASES = (*WHOLE, *PADDLE, *NNX, *OPERATIONS, *SEQUENCES)
