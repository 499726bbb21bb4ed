"""CM211: arguments and methods of Keras 2 that Keras 3 rejects or ignores."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras_names.arguments import (
    arguments,
    rates,
    set_values,
)
from crosscast_tensorflow.migration.experimental.keras_names.optimizers import decays, metrics
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes, outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.positions import positions
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    is_for_keras_3,
    stays_as_it_is,
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change every argument that is certain; refuse the others."""
    program = subject.program
    if stays_as_it_is(program) or not any(map(imports_keras, program.modules)):
        return
    for module in program.modules:
        out = Outcomes()
        done = decays(module, program, out)
        arguments(module, program, out, done)
        rates(module, program, out)
        set_values(module, out)
        metrics(module, program, out)
        if not is_for_keras_3(program):
            positions(module, program, out)
        yield from outcomes_of(module, out, "the arguments and methods of Keras 3")


_BEFORE = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(lr=1e-3, decay=1e-5)
model = tf.keras.Sequential([tf.keras.layers.Dense(1), tf.keras.layers.BatchNormalization(fused=True)])
model.compile(optimizer, loss="mse", experimental_run_tf_function=False)
model.fit_generator(rows, 100, epochs=2, workers=4, use_multiprocessing=True)
Own = tf.keras.Model(inputs, outputs, "own")
"""  # noqa: E501
_AFTER = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(learning_rate=tf.keras.optimizers.schedules.InverseTimeDecay(1e-3, 1, 1e-5))
model = tf.keras.Sequential([tf.keras.layers.Dense(1), tf.keras.layers.BatchNormalization()])
model.compile(optimizer, loss="mse")
model.fit(rows, steps_per_epoch=100, epochs=2)
Own = tf.keras.Model(inputs, outputs, name="own")
"""  # noqa: E501
_RATE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), loss="mse")
tf.keras.backend.set_value(model.optimizer.lr, 0.01)
print(model.optimizer.lr)
"""
_RATE_NEW = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), loss="mse")
model.optimizer.learning_rate = 0.01
print(model.optimizer.learning_rate)
"""
_OTHER = """\
import tensorflow as tf

args.lr = 0.1
scheduler = Scheduler(lr=args.lr, decay=0.5)
engine.fit_generator
"""
_SCHEDULED = """\
import tensorflow as tf

model.compile(tf.keras.optimizers.SGD(0.1, decay=1e-4), loss="mse")
model.fit(rows, callbacks=[tf.keras.callbacks.ReduceLROnPlateau()])
"""
_OLDEST = """\
import tensorflow as tf

layer = tf.keras.layers.Dense(2, batch_input_shape=(4, 3))
"""

CODEMOD = Codemod(
    code="CM211",
    name="keras-arguments",
    api="keras3",
    title="Arguments and methods of Keras 2 (lr, decay, fit_generator, workers, reset_states) "
    "become those of Keras 3; arguments that it does not take are named",
    hints=("keras", "tensorflow"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_RATE, after=_RATE_NEW),
        Example(before=_OTHER, after=_OTHER),
        Example(before=_SCHEDULED, after=_SCHEDULED, refused="ReduceLROnPlateau sets the rate"),
        Example(before=_OLDEST, after=_OLDEST, refused="takes no argument batch_input_shape"),
    ),
    run=run,
    scope="connected",
)
