"""Whole programs of PyTorch that are carried with model and rows, one of each kind; one of JAX."""

from __future__ import annotations

from collections.abc import Mapping

_HEAD = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.x = {inputs}
        self.labels = rng.integers(0, 3, count)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), int(self.labels[index])

"""
_LOOP = """

model = Net()
optimizer = {optimizer}
loader = DataLoader({rows}, batch_size=16, shuffle=True, drop_last=True)
for epoch in range(2):
    for x, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        {clip}optimizer.step()
"""
UPDATES = 20
"""Of every program: two epochs of ten batches."""
_ROWS = f"Rows({UPDATES * 8}, 1)"
_ADAMW = "torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.02)"
_CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        "
_NUMBERS = "rng.normal(size=(count, 6)).astype(np.float32)"
_IMAGES = "rng.normal(size=(count, 1, 10, 10)).astype(np.float32)"
_TOKENS = "rng.integers(0, 20, (count, 7))"


def _program(
    inputs: str, model: str, optimizer: str, *, clip: str = "", rows: str = _ROWS, head: str = _HEAD
) -> str:
    loop = _LOOP.format(optimizer=optimizer, clip=clip, rows=rows)
    return head.replace("{inputs}", inputs) + model + loop


_OWN_ROWS = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SCALE = 0.5


def waves(count, size):
    steps = np.arange(size, dtype=np.float32)
    return np.sin(np.outer(np.arange(1, count + 1, dtype=np.float32), steps) * SCALE)


class Waves(Dataset):
    def __init__(self, count, size=6):
        self.rows = waves(count, size)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return {
            "x": torch.tensor(row, dtype=torch.float32),
            "labels": torch.tensor(int(row.sum() > 0), dtype=torch.long),
        }

"""
PROGRAMS: Mapping[str, str] = {
    "mlp": _program(
        _NUMBERS,
        """
class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.fc1 = nn.Linear(6, hidden)
        self.fc2 = nn.Linear(hidden, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))
""",
        _ADAMW,
        clip=_CLIP,
    ),
    "cnn": _program(
        _IMAGES,
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.GELU(), nn.AvgPool2d(2, padding=1),
        )
        self.head = nn.Linear(6 * 2 * 2, 3)

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))
""",
        "torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)",
    ),
    "batch-norm": _program(
        _IMAGES,
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, bias=False)
        self.norm1 = nn.BatchNorm2d(4)
        self.fc1 = nn.Linear(4 * 8 * 8, 8, bias=False)  # the norm takes a bias out
        self.norm2 = nn.BatchNorm1d(8, eps=1e-3, momentum=0.2)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        x = F.leaky_relu(self.norm1(self.conv(x)), 0.1)
        x = torch.sigmoid(self.norm2(self.fc1(x.view(x.size(0), -1))))
        return self.fc2(x)
""",
        "torch.optim.Adam(model.parameters(), lr=1e-3)",
    ),
    "embedding": _program(
        _TOKENS,
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.norm = nn.LayerNorm(8)
        self.conv = nn.Conv1d(8, 6, 3, padding=1)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = self.norm(self.words(x))
        x = F.relu(self.conv(x.permute(0, 2, 1)))
        return self.head(x.mean(dim=2))
""",
        _ADAMW,
        clip=_CLIP,
    ),
    "residual": _program(
        _NUMBERS,
        """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 8)
        self.blocks = nn.ModuleList([Block(8) for _ in range(3)])
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
""",
        "torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.8, 0.95))",
    ),
    "own-rows": _program(
        "",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 2))

    def forward(self, x):
        return self.layers(x)
""",
        "torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)",
        rows=f"Waves({UPDATES * 8})",
        head=_OWN_ROWS,
    ),
}
"""By kind."""

OF_JAX = """
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(4, momentum=0.9, rngs=rngs)
        self.after = nnx.Conv(4, 6, (3, 3), strides=2, padding=((1, 0), (0, 1)), rngs=rngs)
        self.layers = nnx.Sequential(nnx.Linear(6 * 5 * 5, 8, rngs=rngs), nnx.gelu)
        self.scaled = nnx.LayerNorm(8, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), padding="SAME")
        x = jnp.tanh(self.after(x)).reshape(x.shape[0], -1)
        return self.head(self.scaled(self.layers(x)))


def loss_fn(model, batch):
    logits = model(batch["x"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()


@nnx.jit
def train_step(model, optimizer, batch):
    loss, gradients = nnx.value_and_grad(loss_fn)(model, batch)
    optimizer.update(model, gradients)
    return loss


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3, b2=0.99), wrt=nnx.Param)
for batch in batches:
    train_step(model, optimizer, batch)
"""
SAID_OF_JAX: Mapping[str, object] = {
    "batch.micro_batch_size": 16,
    "loss.kind": "cross_entropy",
    "accumulation.normalize_by": "sample",
    "accumulation.tail": "drop",
    "optimizer.groups": [],
    "data.shuffle": True,
}
"""What stays to be said of the program of JAX, besides its rows."""
