"""Lengths of schedules in the wrong unit or the wrong order: PyTorch, Keras and Paddle."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.rules.schedule.schedule_swapped import RULE as SWAPPED

from .lint_results import swap

WATCHED = ("CL503", "CL509")


def codes(text: str) -> list[str]:
    found = lint_sources([Source("train.py", text)])
    return sorted({d.code for d in found if d.code in WATCHED})


PADDLE = """\
import paddle

model = paddle.nn.Linear(8, 2)
rate = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=0.1, T_max=args.epochs)
optimizer = paddle.optimizer.Momentum(rate, parameters=model.parameters())
for epoch in range(args.epochs):
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        rate.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL503"]),
        ("T_max=args.epochs", "T_max=args.epochs * len(loader)", []),
        ("T_max=args.epochs", "T_max=args.steps", []),
        ("        rate.step()\n", "    rate.step()\n", []),
        ("        rate.step()\n", "        rate.step(epoch)\n", []),
        ("        rate.step()\n", "        other.step()\n", []),
        ("        rate.step()\n", "        if new_epoch:\n            rate.step()\n", []),
        ("for epoch in range(args.epochs):\n    for x", "if True:\n    for x", []),
        ("    for x, y in loader:", "    for epoch_part, y in epoch_parts:", []),
    ],
)
def test_a_paddle_loop(old: str, new: str, expected: list[str]) -> None:
    assert old in PADDLE
    text = PADDLE.replace(old, new) if old else PADDLE
    if new.startswith("    rate"):
        text = PADDLE.replace(old, "").rstrip() + "\n" + new
    assert codes(text) == expected


TORCH = """\
import torch

epochs = 30
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        schedule.step()
"""


def test_a_length_behind_a_name() -> None:
    assert codes(TORCH) == ["CL503"]
    counted = TORCH.replace("epochs = 30", "num_epochs = 30 * len(loader)")
    assert codes(counted.replace("T_max=epochs", "T_max=num_epochs")) == []
    named = TORCH.replace("epochs = 30", "num_epochs = 30")
    named = named.replace("T_max=epochs", "T_max=num_epochs").replace(
        "range(epochs", "range(num_epochs"
    )
    assert codes(named) == ["CL503"]


def test_a_schedule_that_counts_the_steps_of_an_epoch() -> None:
    made = "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)"
    own = "own.get_cosine_schedule(optimizer, total_steps=epochs{})"
    assert codes(swap(TORCH, (made, own.format("")))) == ["CL503"]
    told = own.format(", steps_per_epoch=len(loader)")
    assert codes(swap(TORCH, (made, told))) == []
    cycle = "torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=epochs)"
    assert codes(swap(TORCH, (made, cycle))) == ["CL503"]


BY_LAMBDA = """\
def share(at):
    return (1 - float(at) / float(args.epochs)) ** 0.9


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=share)
"""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((), ["CL503"]),
        ((("args.epochs)) **", "args.epochs * 100)) **"),), []),
        ((("float(at) / float(args.epochs)", "at / args.steps"),), []),
        ((("float(at) / float(args.epochs)", "args.epochs / at"),), []),
        (
            (("        schedule.step()", "        if args.decay:\n            schedule.step()"),),
            ["CL503"],
        ),
        ((("        schedule.step()", "        if part:\n            schedule.step()"),), []),
        ((("        schedule.step()", "    schedule.step()"),), []),
        ((("lr_lambda=share", "lr_lambda=lambda at: 1 - at / args.epochs"),), ["CL503"]),
    ],
)
def test_lengths_in_functions(changes: tuple[tuple[str, str], ...], expected: list[str]) -> None:
    made = "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)\n"
    text = TORCH.replace(made, BY_LAMBDA).replace("range(epochs)", "range(args.epochs)")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (("count < args.max_steps", "count += 1"), ["CL503"]),
        (("count < args.epochs", "count += 1"), []),
        (("count < args.max_steps", "count += len(loader)"), []),
        (("best < args.max_steps", "count += 1"), []),
    ],
)
def test_a_run_that_ends_after_steps(run: tuple[str, str], expected: list[str]) -> None:
    made = "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)\n"
    text = TORCH.replace(made, f"{BY_LAMBDA}count = 0\n")
    text = text.replace("for epoch in range(epochs)", f"while {run[0]}")
    text = text.replace("        schedule.step()", f"        schedule.step()\n        {run[1]}")
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("guard", "expected"),
    [("epoch >= 10", ["CL503"]), ("epoch > late", ["CL503"]), ("epoch % 10 == 0", [])],
)
def test_a_schedule_that_begins_late(guard: str, expected: list[str]) -> None:
    text = TORCH.replace("T_max=epochs", "T_max=len(loader)")
    late = f"    if {guard}:\n        schedule.step()"
    assert codes(text.replace("        schedule.step()", late)) == expected


KERAS = """\
import tensorflow as tf

EPOCHS = 30
rate = tf.keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=EPOCHS)
model.compile(tf.keras.optimizers.Adam(rate), loss="mse")
model.fit(rows, epochs=EPOCHS)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL503"]),
        ("decay_steps=EPOCHS", "decay_steps=EPOCHS * steps_per_epoch", []),
        ("decay_steps=EPOCHS", "decay_steps=1000", []),
        ("CosineDecay(1e-3, decay_steps=EPOCHS)", "ExponentialDecay(1e-3, EPOCHS, 0.9)", []),
        ("EPOCHS = 30", "EPOCHS = 30 * steps", []),
        ("Adam(rate)", "Adam(tf.keras.callbacks.LearningRateScheduler(rate))", []),
    ],
)
def test_schedules_of_keras(old: str, new: str, expected: list[str]) -> None:
    assert codes(KERAS.replace(old, new) if old else KERAS) == expected


CALLS = [
    ("get_linear_schedule_with_warmup(optimizer, total_steps, warmup_steps)", ["CL509"]),
    ("get_linear_schedule_with_warmup(optimizer, warmup_steps, total_steps)", []),
    (
        "get_linear_schedule_with_warmup(optimizer, num_training_steps=total_steps, "
        "num_warmup_steps=warmup_steps)",
        [],
    ),
    ("get_linear_schedule_with_warmup(optimizer, args.warmup, args.max_steps)", []),
    ("get_linear_schedule_with_warmup(optimizer, args.max_steps, args.warmup)", ["CL509"]),
    ("get_linear_schedule_with_warmup(optimizer, 1000, 100)", []),
    ("get_linear_schedule_with_warmup(optimizer, total_steps, rest)", []),
    ("get_linear_schedule_with_warmup(optimizer, warmup_steps, warmup_steps)", []),
]


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_the_order_of_transformers(call: str, expected: list[str]) -> None:
    right = "get_linear_schedule_with_warmup(optimizer, warmup_steps, total_steps)"
    assert codes(SWAPPED.right.replace(right, call)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("5e-5, total_steps, warmup_steps", []),
        ("5e-5, warmup_steps, total_steps", ["CL509"]),
        ("5e-5, total_steps, warmup=warmup_steps", []),
    ],
)
def test_the_order_of_paddlenlp(given: str, expected: list[str]) -> None:
    text = (
        "import paddle\nfrom paddlenlp.transformers import LinearDecayWithWarmup\n"
        f"rate = LinearDecayWithWarmup({given})\n"
        "optimizer = paddle.optimizer.AdamW(rate, parameters=model.parameters())\n"
    )
    assert codes(text) == expected


def test_functions_of_the_program() -> None:
    text = """\
import tensorflow as tf

def create_optimizer(rate, num_train_steps, num_warmup_steps):
    return tf.keras.optimizers.Adam(course(rate, num_train_steps, num_warmup_steps))

optimizer = create_optimizer(1e-4, {})
model.compile(optimizer, loss="mse")
"""
    assert codes(text.format("warmup_steps, train_steps")) == ["CL509"]
    assert codes(text.format("train_steps, warmup_steps")) == []


TOLD = """\
import lightning as L
from modules import Reader

module = Reader(lr=1e-3, num_epochs=20, warmup_epochs=2)
trainer = L.Trainer(max_epochs=1, precision="16-mixed")
trainer.fit(module, rows)
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("max_epochs=1", "max_epochs=1"), True),
        (("max_epochs=1", "max_epochs=20"), False),
        (("max_epochs=1", "max_epochs=-1"), False),
        (("max_epochs=1", "max_epochs=args.epochs"), False),
        (("max_epochs=1,", ""), False),
        (("num_epochs=20", "num_epochs=args.epochs"), False),
        (("num_epochs=20, ", ""), False),
        (("trainer.fit(module, rows)", "trainer.test(module, rows)"), False),
        (("trainer.fit(module", "trainer.fit(other"), False),
        (("trainer.fit(module, rows)", "trainer.fit(module, a)\ntrainer.fit(module, b)"), False),
    ],
)
def test_epochs_that_a_module_is_told(change: tuple[str, str], found: bool) -> None:
    assert ("CL503" in codes(swap(TOLD, change))) is found


COUNTED = """\
import paddle
from paddle.optimizer.lr import CosineAnnealingDecay, NoamDecay

scheduler = CosineAnnealingDecay(0.1, T_max=epochs)
optimizer = paddle.optimizer.SGD(scheduler, parameters=model.parameters())
count = 0
for epoch in range(epochs):
    for x, y in loader:
        loss = paddle.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if isinstance(scheduler, (CosineAnnealingDecay, NoamDecay)):
            scheduler.step(count)
        count += 1
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("count += 1", "count += 1"), True),
        (("step(count)", "step()"), True),
        (("step(count)", "step(epoch)"), False),
        (("(CosineAnnealingDecay, NoamDecay)):", "NoamDecay):"), False),
        (("if isinstance(scheduler, (CosineAnnealingDecay, NoamDecay)):", "if other:"), False),
        (("T_max=epochs", "T_max=epochs * len(loader)"), False),
    ],
)
def test_schedules_that_are_set_to_a_count(change: tuple[str, str], found: bool) -> None:
    assert ("CL503" in codes(swap(COUNTED, change))) is found


REPLICAS = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
everything = FLAGS.rows * strategy.num_replicas_in_sync
data = load(folder).batch(everything)
with strategy.scope():
    updates = images // FLAGS.rows
    rate = tf.keras.optimizers.schedules.CosineDecay(0.1, decay_steps=FLAGS.epochs * updates)
    optimizer = tf.keras.optimizers.SGD(rate)
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("load(folder)", "load(folder)"), True),
        (("tf.keras.optimizers.schedules.CosineDecay(0.1,", "warm.CosineDecay(0.1,"), True),
        ((".batch(everything)", "(batch_size=everything)"), True),
        (("images // FLAGS.rows", "images // everything"), False),
        (("images // FLAGS.rows", "images // FLAGS.rows // replicas"), False),
        ((".batch(everything)", ".batch(FLAGS.rows)"), False),
        ((".batch(everything)", ".batch(32)"), False),
        (("images // FLAGS.rows", "images // FLAGS.group"), False),
        (("FLAGS.epochs * updates", "count(images // FLAGS.rows)"), False),
        (("decay_steps", "seed"), False),
    ],
)
def test_lengths_of_one_replica(change: tuple[str, str], found: bool) -> None:
    assert ("CL503" in codes(swap(REPLICAS, change))) is found
