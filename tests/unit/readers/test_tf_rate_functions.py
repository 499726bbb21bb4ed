"""Tables of optimizers, rates that are functions, schedules and strategies of callers."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import EVERYTHING
from crosscast_reading.sources.subject_builder import subject_of


def told(text: str, field: str) -> dict[str, object]:
    """Return the known values of a field, by subject."""
    subject, _ = subject_of([Source("train.py", text)], EVERYTHING.versions)
    return {f.subject: f.value for f in subject.profile if f.field == field and f.known}


TABLE = """\
import tensorflow as tf

rate = start = 0.01


def current():
    return rate


optimizers = {
    "adam": tf.keras.optimizers.Adam(current, beta_1=0.8),
    "sgd": tf.keras.optimizers.SGD(current, momentum=0.9),
    "fixed": tf.keras.optimizers.RMSprop(start),
}
optimizer = optimizers[args.optimizer]
for epoch in range(90):
    if epoch % 30 == 29:
        rate = rate * 0.1
    for inputs, targets in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(inputs) - targets))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_a_table_of_optimizers() -> None:
    assert sorted(map(str, told(TABLE, "optimizer.name").values())) == ["adam", "rmsprop", "sgd"]
    rates = told(TABLE, "optimizer.learning_rate")
    assert list(rates.values()) == [0.01, 0.01, 0.01]
    assert told(TABLE, "schedule.name") == {"": "step"}
    assert told(TABLE, "schedule.stepped_per") == {"": "epoch"}


@pytest.mark.parametrize(
    ("old", "new", "decay"),
    [
        ("if epoch % 30 == 29", "if epoch == 29", {"": "custom"}),
        ("rate = rate * 0.1", "rate *= 0.1", {"": "step"}),
        ("def current():\n    return rate", "current = lambda: rate", {"": "step"}),
        ("def current()", "def current(step)", {}),
        ("return rate", "return rate + 0.0", {}),
        ("rate = rate * 0.1", "print(rate)", {}),
    ],
)
def test_rates_that_are_functions(old: str, new: str, decay: dict[str, str]) -> None:
    assert old in TABLE
    assert told(TABLE.replace(old, new), "schedule.name") == decay


TRAINER = """\
import tensorflow as tf


class Trainer:
    def __init__(self, model, optimizer, scheduler=None, strategy=None):
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.strategy = strategy or tf.distribute.get_strategy()

    def fit(self, data):
        for epoch in range(self.epochs):
            if epoch == self.frozen_epochs:
                self.optimizer.learning_rate.assign(self.base_rate)
            for batch in data:
                self.strategy.run(self.step, args=(batch,))
            if self.scheduler is not None:
                self.scheduler.step()

    def step(self, batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(batch[0]) - batch[1]))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
"""


def test_what_the_caller_decides() -> None:
    assert told(TRAINER, "schedule.name") == {"": "caller"}
    for old, new, unit in (
        ("for epoch in range(self.epochs)", "for epoch in range(self.epochs)", "epoch"),
        ("for epoch in range(self.epochs)", "for ep in range(epochs)", "epoch"),
        ("for epoch in range(self.epochs)", "for rep in range(epochs)", "step"),
    ):
        assert told(TRAINER.replace(old, new), "schedule.stepped_per") == {"": unit}
    assert told(TRAINER, "parallel.kind") == {"": ("caller",)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.scheduler.step()", "self.sampler.step()"),
        ("self.scheduler = scheduler", "self.scheduler = Curve(optimizer)"),
        ("            if self.scheduler is not None:\n                self.scheduler.step()\n", ""),
    ],
)
def test_schedules_of_the_program(old: str, new: str) -> None:
    assert old in TRAINER
    assert told(TRAINER.replace(old, new), "schedule.name") == {"": "custom"}


STEPS = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
for step, (inputs, targets) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
{rest}
"""


@pytest.mark.parametrize(
    ("rest", "decay"),
    [
        ("    if step == 300:\n        optimizer.learning_rate.assign(0.01)", {"": "custom"}),
        ("    if step == 300:\n        optimizer.learning_rate = 0.01", {"": "custom"}),
        ("    optimizer.learning_rate.assign(0.1)", {}),
        ("optimizer.learning_rate.assign(0.01)", {}),
        ("    if step == 300:\n        counter.assign(0.01)", {}),
    ],
)
def test_a_rate_that_is_set_at_some_steps_is_no_constant_one(
    rest: str, decay: dict[str, str]
) -> None:
    assert told(STEPS.format(rest=rest), "schedule.name") == decay
