"""CM222: callbacks, their logs and the metrics of compile."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    keeps_meanings,
)
from crosscast_tensorflow.migration.experimental.keras_names.training_calls import (
    logged_rates,
    modes,
    output_metrics,
    schedules,
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the callbacks and metrics of every module."""
    program = subject.program
    if keeps_meanings(program) or not any(map(imports_keras, program.modules)):
        return
    for module in program.modules:
        out = Outcomes()
        for found in (schedules, modes, logged_rates, output_metrics):
            found(module, program, out)
        yield from outcomes_of(module, out, "callbacks, logs and metrics as Keras 3 reads them")


_BEFORE = """\
import tensorflow as tf

falling = tf.keras.optimizers.schedules.PolynomialDecay(0.1, 10)
model.compile("sgd", loss=["mse", "mae"], metrics=["accuracy", "mse"])
history = model.fit(
    rows,
    callbacks=[
        tf.keras.callbacks.LearningRateScheduler(falling),
        tf.keras.callbacks.EarlyStopping("val_iou"),
    ],
)
print(history.history["lr"])
"""
_AFTER = changed(
    _BEFORE,
    ('["accuracy", "mse"]', '[["accuracy", "mse"], ["accuracy", "mse"]]'),
    ("Scheduler(falling)", "Scheduler(lambda epoch: float(falling(epoch)))"),
    ('"val_iou"', '"val_iou", mode="min"'),
    ('["lr"]', '["learning_rate"]'),
)
_SAME = """\
import tensorflow as tf

model.compile("sgd", loss=["mse", "mae"], metrics=[["accuracy"], ["mse"]])
stop = tf.keras.callbacks.EarlyStopping("val_accuracy")
best = tf.keras.callbacks.ModelCheckpoint("a.keras", "val_iou")
rates = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 * 0.9**epoch)
print(settings["lr"])
"""
_SHARED = """\
import tensorflow as tf

model.compile("sgd", loss=["mse", "mae"], metrics=[tf.keras.metrics.AUC()])
"""

CODEMOD = Codemod(
    code="CM222",
    name="keras-training-calls",
    api="keras3",
    title="Schedules of LearningRateScheduler return numbers, callbacks keep the mode that auto "
    "meant, logs have learning_rate, and metrics are listed for each output",
    hints=("Scheduler", "Stopping", "Checkpoint", "Plateau", "compile", '"lr"', "'lr'"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_SAME, after=_SAME),
        Example(before=_SHARED, after=_SHARED, refused="belong to one output each"),
    ),
    run=run,
)
