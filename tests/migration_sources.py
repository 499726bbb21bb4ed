"""Training scripts of the frameworks, written for tests of migrations; short and complete."""

from __future__ import annotations

from collections.abc import Iterable

TORCH = """\
import torch
from torch import nn

ACCUMULATE = 4

model = nn.Linear(16, 3).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.05)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)


def train(loader):
    for index, (inputs, labels) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(inputs), labels) / ACCUMULATE
        scaler.scale(loss).backward()
        if (index + 1) % ACCUMULATE == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""

OWN_MODEL = TORCH.replace("nn.Linear(16, 3).cuda()", "model_of(16)")
"""Its model cannot be read."""

APEX = """\
import torch
from apex import amp

model = torch.nn.Linear(8, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1", loss_scale="dynamic")


def train(loader):
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""

APEX_TYPO = APEX.replace("amp.scale_loss", "amp.scaled_loss")

SUMMED = """\
import torch
from torch import nn

model = nn.Linear(16, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)


def train(loader):
    for index, (inputs, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        if (index + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
"""The losses of a window are added up and never divided."""

CLIPS_SCALED = """\
import torch
from torch import nn

model = nn.Linear(16, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scaler = torch.amp.GradScaler("cuda")


def train(loader):
    for inputs, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""
"""Gradients are clipped while they are still scaled."""

UNSCALED = """\
import torch
from torch import nn

model = nn.Linear(16, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)


def train(loader):
    for inputs, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
"""float16 without a loss scale."""

KERAS = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam(learning_rate=2e-4, epsilon=1e-6)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=optimizer, loss=loss_fn)
model.fit(dataset, epochs=3, batch_size=32)
"""

PADDLE = """\
import paddle

model = paddle.nn.Linear(8, 2)
clip = paddle.nn.ClipGradByGlobalNorm(1.0)
optimizer = paddle.optimizer.AdamW(
    learning_rate=1e-3, parameters=model.parameters(), weight_decay=0.02, grad_clip=clip
)
scaler = paddle.amp.GradScaler(init_loss_scaling=2048.0)


def train(loader):
    for inputs, labels in loader:
        with paddle.amp.auto_cast():
            loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
"""

LAUNCH = """\
#!/bin/bash
python run_classifier.py \\
    --use_cuda true \\
    --use_fp16=true \\
    --learning_rate 2e-5 \\
    --weight_decay 0.01 \\
    --warmup_proportion 0.1 \\
    --max_seq_len 64 \\
    --color_of_logs blue
"""

LAUNCH_COMMENT = """\
#!/bin/bash
python run_classifier.py \\
    --use_fp16=true \\  # half precision
    --learning_rate 2e-5
"""
"""Behind the backslash stands a comment: the flag after it never reaches the program."""

NOTHING = "def add(a, b):\n    return a + b\n"
"""A program that trains nothing."""


def with_experimental(words: Iterable[object]) -> list[str]:
    """Return the words of a command; a migration in place is asked for although experimental."""
    texts = [*map(str, words)]
    return texts if "-o" in texts or "--list-changes" in texts else [*texts, "--experimental"]
