"""CM210: names of Keras 2 that moved or were removed."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras_names.backend import backend
from crosscast_tensorflow.migration.experimental.keras_names.names import names
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes, outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.packages import packages
from crosscast_tensorflow.migration.experimental.keras_names.private import private_imports
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    choices_of_keras_2,
    stays_as_it_is,
)
from crosscast_tensorflow.migration.experimental.keras_names.unknown_names import unknown_names


def run(subject: Subject) -> Iterator[Outcome]:
    """Change every name that is certain; refuse the others."""
    program = subject.program
    for module, node in choices_of_keras_2(program):
        yield Refusal(
            span=module.span(node),
            message="this selects Keras 2 for the whole program, which is not migrated",
            hint="remove it and migrate again: TensorFlow 2.16 and later import Keras 3 without it",
        )
    if stays_as_it_is(program):
        return
    for module in program.modules:
        out = Outcomes()
        names(module, out)
        private_imports(module, out)
        backend(module, out)
        packages(module, out)
        unknown_names(module, out)
        yield from outcomes_of(module, out, "the names of Keras 3")


_BEFORE = """\
import tensorflow as tf
from tensorflow.keras.layers.experimental import preprocessing

inputs = tf.keras.Input((32, 32, 3))
outputs = preprocessing.Rescaling(1.0 / 255)(inputs)
rate = tf.keras.experimental.CosineDecay(0.1, 1000)
optimizer = tf.keras.optimizers.legacy.SGD(rate, momentum=0.9)
"""
_AFTER = """\
import tensorflow as tf
from tensorflow.keras import layers as preprocessing

inputs = tf.keras.Input((32, 32, 3))
outputs = preprocessing.Rescaling(1.0 / 255)(inputs)
rate = tf.keras.optimizers.schedules.CosineDecay(0.1, 1000)
optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
"""
_POLICY = """\
from tensorflow.keras.mixed_precision import experimental as mixed_precision
from tensorflow.python.keras.layers.core import Dense

mixed_precision.set_policy("mixed_bfloat16")
"""
_POLICY_NEW = """\
from tensorflow.keras import mixed_precision
from tensorflow.keras.layers import Dense

mixed_precision.set_global_policy("mixed_bfloat16")
"""
_GUARDED = """\
import tensorflow as tf

if hasattr(tf.keras.optimizers, "legacy"):
    Adam = tf.keras.optimizers.legacy.Adam
else:
    Adam = tf.keras.optimizers.Adam
"""
_GONE = """\
import tensorflow as tf

model = tf.keras.utils.multi_gpu_model(model, gpus=2)
"""
_LEGACY = """\
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

optimizer = tf.keras.optimizers.legacy.Adam()
"""

CODEMOD = Codemod(
    code="CM210",
    name="keras-names",
    api="keras3",
    title="Names of Keras 2 that moved (optimizers.legacy, experimental, tensorflow.python.keras) "
    "get their names of Keras 3; removed ones and packages for Keras 2 are named",
    hints=("keras", "tensorflow", "tensorflow_addons"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_POLICY, after=_POLICY_NEW),
        Example(before=_GUARDED, after=_GUARDED),
        Example(before=_LEGACY, after=_LEGACY, refused="selects Keras 2"),
        Example(before=_GONE, after=_GONE, refused="multi_gpu_model was removed"),
    ),
    run=run,
    scope="connected",
)
