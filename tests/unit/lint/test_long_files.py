"""The work of lint grows in proportion to the functions, loops and classes of a file."""

from __future__ import annotations

import pytest

from cpu_cost import calls_made
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from tiers import cases

HEADS = {
    "torch": "import torch\n\nmodel = torch.nn.Linear(4, 2)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    "paddle": "import paddle\n\nmodel = paddle.nn.Linear(4, 2)\n"
    "optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())\n",
    "tensorflow": "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\n"
    "optimizer = tf.keras.optimizers.Adam(1e-3)\n",
}
LOOP = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
PARTS = {
    "loops that share a loss": ("torch", LOOP),
    "loops of Paddle": (
        "paddle",
        LOOP.replace("torch.nn", "paddle.nn").replace("zero_grad", "clear_grad"),
    ),
    "loops of tapes": (
        "tensorflow",
        """\
for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.keras.losses.mse(y, model(x)))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
""",
    ),
    "functions with loops": (
        "torch",
        "def train{n}(model, optimizer, loader):\n"
        + LOOP.replace("    ", "        ").replace("for", "    for")
        + "train{n}(torch.nn.Linear(4, 2), torch.optim.SGD(weights), data)\n",
    ),
    "plain functions": ("torch", "def f{n}(a, b=None):\n    return f{n}(a + {n}, b)\n"),
    "classes with scalers": (
        "torch",
        """\
class Trainer{n}:
    def __init__(self, model, args):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
        self.scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
        self.steps = args.steps

    def train(self, loader):
        for i, (x, y) in enumerate(loader):
            with torch.autocast("cuda"):
                loss = torch.nn.functional.cross_entropy(self.model(x), y) / self.steps
            self.scaler.scale(loss).backward()
            if (i + 1) % self.steps == 0:
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()
""",
    ),
    "classes of Keras": (
        "tensorflow",
        """\
class Trainer{n}:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.mse(y, self.model(x)))
            scaled = self.optimizer.get_scaled_loss(loss)
        grads = tape.gradient(scaled, self.model.trainable_variables)
        grads = self.optimizer.get_unscaled_gradients(grads)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
""",
    ),
    "models of Lightning": (
        "torch",
        """\
class Model{n}(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Linear(4, 2)

    def training_step(self, batch, i):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
""",
    ),
}


def calls_of(head: str, part: str, count: int) -> int:
    """Return how many calls of functions lint makes for a file of many parts."""
    parts = (part.replace("{n}", str(number)) for number in range(count))
    source = Source("train.py", HEADS[head] + "".join(parts))
    return calls_made(lambda: lint_sources([source]))


QUICK = ("functions with loops", "classes with scalers", "loops of Paddle", "loops of tapes")


@pytest.mark.parametrize("name", cases(PARTS, quick=QUICK, reason="more kinds of parts"))
def test_four_times_as_many_parts_are_four_times_the_work(name: str) -> None:
    head, part = PARTS[name]
    calls_of(head, part, 1)  # what is loaded and kept from then on
    few = calls_of(head, part, 30)
    assert calls_of(head, part, 120) < 4.6 * few
