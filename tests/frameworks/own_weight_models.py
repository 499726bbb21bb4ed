"""One model with a layer of every kind in three frameworks, each written as usual there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TORCH = """
import torch
from torch import nn
from torch.nn import functional as F


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8, eps=1e-3)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.depthwise = nn.Conv2d(8, 16, 3, padding=1, groups=8)
        self.groups = nn.GroupNorm(4, 16, eps=1e-3)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.volume = nn.Conv3d(1, 2, 3, padding=1)
        self.flat = nn.Linear(8 * 16, 6)

    def forward(self, image):
        x = F.relu(self.norm(self.stem(image)))
        x = self.grouped(x)
        x = F.relu(self.groups(self.depthwise(x)))
        x = F.avg_pool2d(self.up(x), 4)
        x = x + self.volume(x[:, None]).mean(1)
        return self.flat(x.flatten(1))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8, eps=1e-3)
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.narrow = nn.Conv1d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight
        self.out = nn.Linear(20, 6)

    def forward(self, ids):
        x = self.embed(ids)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        scores = (self.q(x) @ self.k(x).transpose(1, 2)).softmax(-1)
        x = x + scores @ self.v(x)
        x = x + self.narrow(x.transpose(1, 2)).transpose(1, 2)
        return self.out(self.head(x).mean(1))


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 6, batch_first=True)
        self.rnn = nn.RNN(6, 6, batch_first=True)
        self.mix = nn.Parameter(torch.randn(6, 6))
        self.gain = nn.Parameter(torch.ones(6))

    def forward(self, series):
        x = self.lstm(series)[0]
        x = self.gru(x)[0]
        x = self.rnn(x)[0][:, -1]
        return x @ self.mix * self.gain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.images, self.words, self.series = Images(), Words(), Series()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, image, ids, series):
        x = self.images(image) + self.words(ids) + self.series(series)
        return self.second(torch.tanh(self.first(x)))


build_model = Net
"""
PADDLE = """
import paddle
from paddle import nn
from paddle.nn import functional as F


class Images(nn.Layer):
    def __init__(self):
        super().__init__()
        self.flat = nn.Linear(8 * 16, 6)
        self.volume = nn.Conv3D(1, 2, 3, padding=1)
        self.up = nn.Conv2DTranspose(16, 8, 2, stride=2)
        self.groups = nn.GroupNorm(4, 16, epsilon=1e-3)
        self.depthwise = nn.Conv2D(8, 16, 3, padding=1, groups=8)
        self.grouped = nn.Conv2D(8, 8, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2D(8, epsilon=1e-3)
        self.stem = nn.Conv2D(3, 8, 3, padding=1)

    def forward(self, image):
        x = F.relu(self.norm(self.stem(image)))
        x = self.grouped(x)
        x = F.relu(self.groups(self.depthwise(x)))
        x = F.avg_pool2d(self.up(x), 4)
        x = x + self.volume(x.unsqueeze(1)).mean(1)
        return self.flat(x.flatten(1))


class Words(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.attention = nn.MultiHeadAttention(8, 2)
        self.norm = nn.LayerNorm(8, epsilon=1e-3)
        self.qkv = nn.Linear(8, 24)
        self.narrow = nn.Conv1D(8, 8, 3, padding=1)
        self.out = nn.Linear(20, 6)

    def forward(self, ids):
        x = self.embed(ids)
        x = self.norm(x + self.attention(x, x, x))
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + F.softmax(q @ k.transpose([0, 2, 1])) @ v
        x = x + self.narrow(x.transpose([0, 2, 1])).transpose([0, 2, 1])
        return self.out((x @ self.embed.weight.T).mean(1))


class Series(nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, direction="bidirect")
        self.gru = nn.GRU(12, 6)
        self.rnn = nn.SimpleRNN(6, 6)
        self.mix = self.create_parameter([6, 6])
        self.gain = self.create_parameter([6])

    def forward(self, series):
        x = self.lstm(series)[0]
        x = self.gru(x)[0]
        x = self.rnn(x)[0][:, -1]
        return x @ self.mix * self.gain


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.images, self.words, self.series = Images(), Words(), Series()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, image, ids, series):
        x = self.images(image) + self.words(ids) + self.series(series)
        return self.second(paddle.tanh(self.first(x)))


build_model = Net
"""
KERAS = """
import keras
import numpy as np
from keras import layers, ops


class Images(layers.Layer):
    def __init__(self, **named):
        super().__init__(**named)
        self.stem = layers.Conv2D(8, 3, padding="same")
        self.normalization = layers.BatchNormalization()
        self.grouped = layers.Conv2D(8, 3, padding="same", groups=2)
        self.depthwise = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2)
        self.groups = layers.GroupNormalization(4)
        self.up = layers.Conv2DTranspose(8, 2, strides=2)
        self.pool = layers.AveragePooling2D(4)
        self.volume = layers.Conv3D(2, 3, padding="same")
        self.flat = layers.Dense(6)

    def call(self, image):
        x = ops.transpose(image, (0, 2, 3, 1))
        x = ops.relu(self.normalization(self.stem(x), training=False))
        x = self.grouped(x)
        x = ops.relu(self.groups(self.depthwise(x)))
        x = self.pool(self.up(x))
        volume = self.volume(ops.transpose(x, (0, 3, 1, 2))[..., None])
        x = x + ops.transpose(ops.mean(volume, -1), (0, 2, 3, 1))
        return self.flat(ops.reshape(x, (-1, 128)))


class Words(layers.Layer):
    def __init__(self, **named):
        super().__init__(**named)
        self.embed = layers.Embedding(20, 8)
        self.attention = layers.MultiHeadAttention(2, 4)
        self.norm = layers.LayerNormalization()
        self.q, self.k, self.v = layers.Dense(8), layers.Dense(8), layers.Dense(8)
        self.narrow = layers.Conv1D(8, 3, padding="same")
        self.out = layers.Dense(6)

    def call(self, ids):
        x = self.embed(ids)
        x = self.norm(x + self.attention(x, x))
        scores = ops.softmax(self.q(x) @ ops.transpose(self.k(x), (0, 2, 1)))
        x = x + scores @ self.v(x)
        x = x + self.narrow(x)
        return self.out(ops.mean(x @ ops.transpose(self.embed.embeddings), 1))


class Series(layers.Layer):
    def __init__(self, **named):
        super().__init__(**named)
        self.lstm = layers.Bidirectional(layers.LSTM(6, return_sequences=True))
        self.gru = layers.GRU(6, return_sequences=True)
        self.rnn = layers.SimpleRNN(6)
        self.mix = self.add_weight(shape=(6, 6), name="mix")
        self.gain = self.add_weight(shape=(6,), name="gain")

    def call(self, series):
        x = self.lstm(series)
        x = self.rnn(self.gru(x))
        return ops.matmul(x, ops.transpose(self.mix)) * self.gain


class Net(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.images, self.words, self.series = Images(), Words(), Series()
        self.dense_one, self.dense_two = layers.Dense(6), layers.Dense(6)

    def call(self, inputs, training=False):
        x = self.images(inputs["image"]) + self.words(inputs["ids"])
        x = x + self.series(inputs["series"])
        return self.dense_two(ops.tanh(self.dense_one(x)))


def build_model():
    model = Net()
    model({
        "image": np.zeros((1, 3, 8, 8), "float32"),
        "ids": np.zeros((1, 7), "int64"),
        "series": np.zeros((1, 4, 5), "float32"),
    })
    return model
"""
SOURCES = {"torch": TORCH, "tensorflow": KERAS, "paddle": PADDLE}
RECIPE = """
version: 1
name: own
model:
  kind: custom
  factory: {torch: "own_torch:build_model", tensorflow: "own_tensorflow:build_model",
    paddle: "own_paddle:build_model"}
data: {source: npz, train: rows.npz, eval: rows.npz}
batch: {micro_batch_size: 4, global_batch_size: 4}
optimizer: {name: adamw, learning_rate: 0.001}
schedule: {total_steps: 4}
"""


def write_rows(path: Path) -> None:
    rng = np.random.default_rng(1)
    np.savez(
        path,
        image=rng.standard_normal((4, 3, 8, 8), dtype=np.float32),
        ids=rng.integers(0, 20, (4, 7)),
        series=rng.standard_normal((4, 4, 5), dtype=np.float32),
        labels=np.arange(4) % 3,
    )


def write_models(folder: Path, **sources: str) -> Path:
    """Write models, rows and their recipe, and return the path of the recipe."""
    for framework, source in (SOURCES | sources).items():
        (folder / f"own_{framework}.py").write_text(source)
    write_rows(folder / "rows.npz")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder / "recipe.yaml"
