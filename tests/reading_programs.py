"""Programs whose readings are proven by a run, and misreadings that a run contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax_reading_programs import READ


@dataclass(frozen=True)
class Program:
    """A script; `misread`: wrong values of fields of its recipe."""

    framework: str
    text: str
    misread: dict[str, Any]


TORCH_AMP = """\
import torch
from torch.amp import GradScaler, autocast

torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=48)
scaler = GradScaler("cuda", init_scale=1024.0, growth_interval=5)
rows = torch.randn(96, 8)
labels = torch.randint(0, 4, (96,))
for number in range(24):
    part = slice(4 * number, 4 * number + 4)
    with autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(rows[part]), labels[part]) / 2
    scaler.scale(loss).backward()
    if (number + 1) % 2 == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        optimizer.zero_grad()
"""

FINE_TUNING = """\
import torch
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = torch.nn.Embedding(40, 12)
        self.dense = torch.nn.Linear(12, 12)
        self.LayerNorm = torch.nn.LayerNorm(12)
        self.classifier = torch.nn.Linear(12, 3)

    def forward(self, tokens):
        hidden = torch.nn.functional.gelu(self.dense(self.embeddings(tokens).mean(1)))
        return self.classifier(self.LayerNorm(hidden))

torch.manual_seed(42)
model = Classifier()
no_decay = ["bias", "LayerNorm.weight"]
named = list(model.named_parameters())
groups = [
    {"params": [p for n, p in named if not any(d in n for d in no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in named if any(d in n for d in no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=2e-3, eps=1e-6)
warmup, total = 3, 20


def rate(step):
    if step < warmup:
        return step / max(1, warmup)
    return max(0.0, (total - step) / max(1, total - warmup))

scheduler = LambdaLR(optimizer, rate)
data = TensorDataset(torch.randint(0, 40, (80, 6)), torch.randint(0, 3, (80,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(2):
    for tokens, labels in loader:
        loss = criterion(model(tokens), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
"""

IMAGES = """\
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)
)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
images = torch.utils.data.TensorDataset(torch.randn(64, 3, 8, 8), torch.randint(0, 10, (64,)))
loader = torch.utils.data.DataLoader(images, batch_size=8, shuffle=False)
for epoch in range(2):
    net.train()
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
"""

APEX = """\
import torch
from apex import amp
from apex.optimizers import FusedAdam

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
optimizer = FusedAdam(model.parameters(), lr=1e-3, weight_decay=0.05)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
rows, labels = torch.randn(64, 8), torch.randint(0, 4, (64,))
for step in range(8):
    part = slice(8 * step, 8 * step + 8)
    loss = torch.nn.functional.cross_entropy(model(rows[part]), labels[part])
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.5)
    optimizer.step()
    optimizer.zero_grad()
"""

APEX_LAMB = """\
import torch
from apex.optimizers import FusedLAMB

torch.manual_seed(2)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
optimizer = FusedLAMB(model.parameters(), lr=1e-2, max_grad_norm=0.2)
rows, labels = torch.randn(64, 8), torch.randint(0, 4, (64,))
for step in range(8):
    part = slice(8 * step, 8 * step + 8)
    loss = torch.nn.functional.cross_entropy(model(rows[part]), labels[part])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""

APEX_STEPS = """\
import torch
from apex import amp
from apex.optimizers import FusedSGD

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
optimizer = FusedSGD(model.parameters(), lr=1e-2, momentum=0.9)
model, optimizer = amp.initialize(model, optimizer, opt_level="O2", loss_scale=128.0)
rows, labels = torch.randn(96, 8), torch.randint(0, 4, (96,))
for step in range(12):
    part = slice(8 * step, 8 * step + 8)
    loss = torch.nn.functional.cross_entropy(model(rows[part]), labels[part]) / 2
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    if (step + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

KERAS_FIT = """\
import keras
import numpy as np

keras.utils.set_random_seed(11)
rows = np.random.randn(96, 8).astype("float32")
labels = np.random.randint(0, 4, 96)
model = keras.Sequential(
    [
        keras.layers.Dense(16, activation="tanh"),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(4),
    ]
)
rate = keras.optimizers.schedules.PolynomialDecay(1e-2, 30, end_learning_rate=1e-3)
model.compile(
    optimizer=keras.optimizers.SGD(rate, momentum=0.9, global_clipnorm=0.5),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(rows, labels, batch_size=8, epochs=1, shuffle=False, verbose=0)
"""

KERAS_LOOP = """\
import numpy as np
import tensorflow as tf

tf.random.set_seed(2)
tf.keras.mixed_precision.set_global_policy("mixed_float16")
rows = np.random.randn(64, 8).astype("float32")
labels = np.random.randint(0, 4, 64)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(4, dtype="float32")]
)
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(
    tf.keras.optimizers.Adam(3e-3, beta_2=0.98), initial_scale=4096.0, dynamic_growth_steps=3
)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for step in range(8):
    part = slice(8 * step, 8 * step + 8)
    with tf.GradientTape() as tape:
        loss = loss_of(labels[part], model(rows[part], training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""

KERAS_ACCUMULATION = """\
import keras
import numpy as np

keras.utils.set_random_seed(12)
rows = np.random.randn(120, 8).astype("float32")
labels = np.random.randint(0, 4, 120)
model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(4)])
optimizer = keras.optimizers.SGD(
    0.05, momentum=0.9, global_clipnorm=0.2, gradient_accumulation_steps=3
)
model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(rows, labels, batch_size=5, epochs=1, shuffle=False, verbose=0)
"""

KERAS_2 = """\
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(4)
rows = np.random.randn(64, 8).astype("float32")
targets = np.random.randn(64, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.AdamW(2e-3, weight_decay=0.02), loss="mse")
model.fit(rows, targets, batch_size=8, epochs=1, verbose=0)
"""

PADDLE_AMP = """\
import paddle
import paddle.nn.functional as F

paddle.seed(5)
model = paddle.nn.Sequential(
    paddle.nn.Linear(8, 16), paddle.nn.LayerNorm(16), paddle.nn.Tanh(), paddle.nn.Linear(16, 4)
)
optimizer = paddle.optimizer.AdamW(
    2e-3,
    parameters=model.parameters(),
    weight_decay=0.05,
    grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5),
)
scaler = paddle.amp.GradScaler(init_loss_scaling=2048.0, incr_every_n_steps=4)
rows = paddle.randn([96, 8])
labels = paddle.randint(0, 4, [96])
for step in range(24):
    part = slice(4 * step, 4 * step + 4)
    with paddle.amp.auto_cast():
        loss = F.cross_entropy(model(rows[part]), labels[part]) / 2
    scaler.scale(loss).backward()
    if (step + 1) % 2 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
"""

PADDLE_MOMENTUM = """\
import paddle

paddle.seed(6)
net = paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.ReLU(), paddle.nn.Linear(16, 4))
rate = paddle.optimizer.lr.PolynomialDecay(0.05, decay_steps=40, end_lr=0.0)
optimizer = paddle.optimizer.Momentum(
    learning_rate=rate, momentum=0.9, parameters=net.parameters(), weight_decay=1e-3
)
criterion = paddle.nn.CrossEntropyLoss()
rows = paddle.randn([96, 8])
labels = paddle.randint(0, 4, [96])
for step in range(12):
    part = slice(8 * step, 8 * step + 8)
    loss = criterion(net(rows[part]), labels[part])
    loss.backward()
    optimizer.step()
    rate.step()
    optimizer.clear_grad()
"""

_OF_ADAM = {"optimizer.learning_rate": 1.1e-4, "optimizer.betas": (0.8, 0.999)}

PROGRAMS = {
    "amp": Program(
        "torch",
        TORCH_AMP,
        {
            **_OF_ADAM,
            "optimizer.weight_decay": 0.01,
            "optimizer.no_decay": ("bias", "layer_norm"),
            "clipping.max_norm": 1.0,
            "clipping.kind": "none",
            "loss_scaling.init_scale": 65536.0,
            "loss_scaling.growth_interval": 2000,
            "accumulation.steps": 1,
            "schedule.name": "cosine",
            "schedule.tick": "update",
        },
    ),
    "fine-tuning": Program(
        "torch",
        FINE_TUNING,
        {
            **_OF_ADAM,
            "optimizer.eps": 1e-8,
            "optimizer.no_decay": (),
            "schedule.warmup_steps": 0,
            "loss.label_smoothing": 0.0,
            "data.shuffle": False,
            "batch.micro_batch_size": 16,
        },
    ),
    "images": Program(
        "torch",
        IMAGES,
        {
            "optimizer.momentum": 0.8,
            "optimizer.nesterov": False,
            "optimizer.weight_decay": 0.0,
            "optimizer.name": "adamw",
            "schedule.name": "linear",
            "data.shuffle": True,
        },
    ),
    "apex": Program(
        "torch", APEX, {**_OF_ADAM, "optimizer.weight_decay": 0.0, "clipping.max_norm": 1.0}
    ),
    "apex lamb": Program(
        "torch",
        APEX_LAMB,
        {"optimizer.name": "adamw", "clipping.max_norm": 1.0, "clipping.kind": "none"},
    ),
    "apex, two steps": Program(
        "torch",
        APEX_STEPS,
        {"loss_scaling.scale": 1024.0, "accumulation.steps": 1, "optimizer.momentum": 0.8},
    ),
    "keras fit": Program(
        "tensorflow",
        KERAS_FIT,
        {
            "optimizer.momentum": 0.8,
            "clipping.max_norm": 1.0,
            "schedule.end_lr": 0.0,
            "batch.micro_batch_size": 32,
        },
    ),
    "keras loop": Program(
        "tensorflow",
        KERAS_LOOP,
        {**_OF_ADAM, "loss_scaling.init_scale": 32768.0, "loss_scaling.growth_interval": 2000},
    ),
    "keras accumulation": Program(
        "tensorflow",
        KERAS_ACCUMULATION,
        {
            "accumulation.steps": 1,
            "optimizer.momentum": 0.8,
            "clipping.max_norm": 1.0,
            "batch.micro_batch_size": 15,
        },
    ),
    "keras 2": Program("tensorflow", KERAS_2, {**_OF_ADAM, "optimizer.weight_decay": 0.004}),
    "paddle amp": Program(
        "paddle",
        PADDLE_AMP,
        {
            **_OF_ADAM,
            "clipping.max_norm": 1.0,
            "loss_scaling.init_scale": 32768.0,
            "accumulation.steps": 1,
        },
    ),
    "paddle momentum": Program(
        "paddle",
        PADDLE_MOMENTUM,
        {"optimizer.momentum": 0.8, "optimizer.weight_decay": 0.0, "schedule.name": "constant"},
    ),
} | {name: Program("jax", *known) for name, known in READ.items()}
