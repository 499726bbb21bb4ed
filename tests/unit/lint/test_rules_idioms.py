"""Idioms of real training programs that rules must see through, or must see."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples
from crosscast_tensorflow.answers.keras import LOOP

from .lint_results import codes, swap

ACCUMULATION, EPOCHS = examples.ACCUMULATION, examples.EPOCHS

# ---- counters that a method tests and its caller moves

TRAINER = """\
import torch


class Trainer:
    def __init__(self, model, optimizer, steps):
        self.model, self.optimizer, self.steps = model, optimizer, steps
        self.micro = 0

    def fit_batch(self, batch):
        end = self.micro % self.steps == 0
        loss = self.model(batch).mean() / self.steps
        loss.backward()
        if end:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def fit(self, loader):
        for batch in loader:
            self.micro += 1
            self.fit_batch(batch)
"""


def test_a_counter_that_the_caller_moves_first() -> None:
    assert codes(TRAINER) == set()
    later = swap(
        TRAINER,
        (
            "            self.micro += 1\n            self.fit_batch(batch)\n",
            "            self.fit_batch(batch)\n            self.micro += 1\n",
        ),
    )
    assert codes(later) == {"CL104"}


PASSED = """\
import torch


def train_batch(model, optimizer, batch, step, steps):
    loss = model(batch).mean() / steps
    loss.backward()
    if step % steps == 0:
        optimizer.step()
        optimizer.zero_grad()


def train(model, optimizer, loader, steps):
    step = 0
    for batch in loader:
        step += 1
        train_batch(model, optimizer, batch, step, steps)
"""


def test_a_counter_that_is_an_argument() -> None:
    assert codes(PASSED) == set()
    later = swap(
        PASSED,
        ("        step += 1\n        train", "        train"),
        ("step, steps)\n", "step, steps)\n        step += 1\n"),
    )
    later = later.replace("steps):\n        step += 1\n", "steps):\n")
    assert codes(later) == {"CL104"}


def test_lengths_of_first_windows_do_not_count_with_defaults() -> None:
    from crosscast.messages.source import Source
    from crosscast_reading.lint.engine import lint_sources

    text = "import argparse\n" + swap(
        ACCUMULATION,
        (
            "steps = 4\n",
            "parser = argparse.ArgumentParser()\n"
            'parser.add_argument("--steps", type=int, default=1)\n'
            "args = parser.parse_args()\ndone = 0\n",
        ),
        ("/ steps", "/ args.steps"),
        ("    loss.backward()\n", "    loss.backward()\n    done += 1\n"),
        ("(step + 1) % steps", "(done + 1) % args.steps"),
    )
    messages = [
        finding.message
        for finding in lint_sources([Source("train.py", text)])
        if finding.code == "CL104"
    ]
    assert messages == ["the first window has args.steps - 1 micro-batches instead of args.steps"]


# ---- gradients that the first batch of an epoch clears

OPENED = swap(
    EPOCHS,
    (" or step + 1 == len(loader)", ""),
    ("    optimizer.zero_grad()\n    for step", "    for step"),
    (
        "        loss.backward()\n",
        "        {test}:\n            {clear}\n        loss.backward()\n",
    ),
)


@pytest.mark.parametrize(
    ("test", "clear", "expected"),
    [
        ("if step == 0", "optimizer.zero_grad()", {"CL106"}),
        ("if not step", "optimizer.zero_grad()", {"CL106"}),
        ("if step == 0", "print(step)", {"CL105"}),
        ("if epoch == 0", "optimizer.zero_grad()", {"CL105", "CL108"}),
    ],
)
def test_the_first_batch_clears(test: str, clear: str, expected: set[str]) -> None:
    found = codes(OPENED.replace("{test}", test).replace("{clear}", clear))
    assert found & {"CL105", "CL106"} == expected & {"CL105", "CL106"}


# ---- epochs of several files

FILES = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
steps = 4
done = 0
for epoch in range(3):
    {reset}
    for loader in loaders:
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets) / steps
            loss.backward()
            done += 1
            if done % steps == 0:
                optimizer.step()
                optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        ("done = 0", {"CL105"}),
        ("done, seen = 0, 0", {"CL105"}),
        ("print(epoch)", {"CL118"}),
        ("optimizer.zero_grad()", {"CL118"}),
        ("done = 0\n    optimizer.zero_grad()", {"CL106"}),
    ],
)
def test_epochs_of_several_files(reset: str, expected: set[str]) -> None:
    assert codes(FILES.replace("{reset}", reset)) == expected


# ---- clips within apex's scale_loss

APEX = """\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
criterion = torch.nn.CrossEntropyLoss()
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
"""


def test_the_scale_is_taken_out_where_scale_loss_ends() -> None:
    assert codes(APEX) == set()
    within = swap(APEX, ("    torch.nn.utils", "        torch.nn.utils"))
    assert codes(within) == {"CL301"}
    own = swap(within, ("amp.master_params(optimizer)", "model.parameters()"))
    assert "CL301" in codes(own)
    value = swap(within, ("clip_grad_norm_", "clip_grad_value_"))
    assert codes(value) == {"CL302"}


# ---- one update of the scale for each of several optimizers

SEVERAL = """\
import torch

models = [torch.nn.Linear(4, 2).cuda(), torch.nn.Linear(4, 2).cuda()]
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        outputs = models[0](inputs) + models[1](inputs)
        loss = torch.nn.functional.cross_entropy(outputs, targets)
    scaler.scale(loss).backward()
    for one in optimizers:
        scaler.step(one)
    scaler.update()
    for one in optimizers:
        one.zero_grad()
"""


def test_updates_in_the_loop_over_optimizers() -> None:
    assert codes(SEVERAL) == set()
    each = swap(SEVERAL, ("    scaler.update()", "        scaler.update()"))
    assert codes(each) == {"CL203"}
    index = swap(
        each,
        ("for one in optimizers:\n        scaler", "for i in range(2):\n        scaler"),
        ("scaler.step(one)", "scaler.step(optimizers[i])"),
    )
    assert codes(index) == {"CL203"}


# ---- Accelerate that is told a length and never accumulates

ACCELERATE = """\
import argparse

import torch
from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
args = parser.parse_args()
accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("import torch\n", "import torch\n"), {"CL109"}),
        (("=args.gradient_accumulation_steps)", "=4)"), {"CL109", "CL912"}),
        (
            (
                "optimizer.step()",
                "if accelerator.sync_gradients:\n        print(1)\n    optimizer.step()",
            ),
            {"CL109"},
        ),
        (("import torch\n", "import deepspeed\nimport torch\n"), set()),
        (("in loader:\n", "in loader:\n  with accelerator.accumulate(model):\n"), set()),
    ],
)
def test_accelerate_without_accumulate(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(ACCELERATE, change)) == expected


# ---- losses that models of transformers return

OUTPUTS = swap(
    ACCUMULATION,
    ("import torch\n", "import torch\nfrom transformers import BertForTokenClassification\n"),
    ("criterion(model(inputs), targets) / steps", "{loss}"),
)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("model(**inputs)[0]", {"CL101"}),
        ("model(**inputs)[0] / steps", set()),
        ("inputs[0]", set()),
        ("model(**inputs)[1]", set()),
    ],
)
def test_the_first_output_is_the_loss(loss: str, expected: set[str]) -> None:
    assert codes(OUTPUTS.replace("{loss}", loss)) == expected
    pair = f"outputs[0]\n    loss, _ = {loss.replace('[0]', '')}".partition("\n    ")[2]
    if loss == "model(**inputs)[0]":
        assert codes(OUTPUTS.replace("loss = {loss}", pair)) == {"CL101"}


def test_a_first_output_of_something_else_is_no_mean() -> None:
    other = OUTPUTS.replace("from transformers import BertForTokenClassification\n", "")
    assert codes(other.replace("{loss}", "model(**inputs)[0]")) == set()


# ---- TensorFlow: a scaled loss and an unscaled clip in branches that exclude each other

BRANCHES = swap(
    LOOP,
    (
        "        scaled = optimizer.get_scaled_loss(loss)\n",
        "        scaled = optimizer.scale_loss(loss) if half else loss\n",
    ),
    (
        "    gradients = optimizer.get_unscaled_gradients(gradients)\n",
        "    if not half:\n        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n",
    ),
    ("mixed_precision.LossScaleOptimizer", "optimizers.LossScaleOptimizer"),
)


def test_clips_where_nothing_is_scaled() -> None:
    assert "CL712" not in codes(BRANCHES)
    assert "CL712" in codes(BRANCHES.replace("if not half:", "if half:"))
    assert "CL712" in codes(BRANCHES.replace("if not half:", "if other:"))
    both = BRANCHES.replace("if not half:", "if limit and not half:")
    assert "CL712" not in codes(both)


# ---- windows with an update at the very first micro-batch

FIRST = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)
total = [tf.Variable(tf.zeros_like(one)) for one in model.trainable_variables]


def train_step(inputs, targets, first, take_step):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets)) / 4
    gradients = tape.gradient(loss, model.trainable_variables)
    for one, more in zip(total, gradients):
        one.assign_add(more)
    if {test}:
        optimizer.apply_gradients(zip(total, model.trainable_variables))
        for one in total:
            one.assign(tf.zeros_like(one))


for step, (inputs, targets) in enumerate(dataset):
    train_step(inputs, targets, step == 0, (step + 1) % 4 == 0)
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("first or take_step", {"CL104"}),
        ("take_step", set()),
        ("take_step or forced", set()),
    ],
)
def test_the_first_micro_batch_is_no_window(test: str, expected: set[str]) -> None:
    assert codes(FIRST.replace("{test}", test)) & {"CL104"} == expected


def test_a_first_round_that_is_written_out() -> None:
    text = swap(ACCUMULATION, ("(step + 1) % steps == 0", "step == 0 or (step + 1) % steps == 0"))
    assert codes(text) == {"CL104"}
