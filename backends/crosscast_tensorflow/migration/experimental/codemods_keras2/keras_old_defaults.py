"""CM220: defaults and formulas of Keras 2 that are others in Keras 3."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.old_defaults import old_defaults
from crosscast_tensorflow.migration.experimental.keras_names.old_optimizers import old_optimizers
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.positions import positions
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    keeps_meanings,
)
from crosscast_tensorflow.migration.experimental.keras_names.sparse_rows import sparse_rows


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the calls of every module."""
    program = subject.program
    if keeps_meanings(program) or not any(map(imports_keras, program.modules)):
        return
    for module in program.modules:
        out = Outcomes()
        positions(module, program, out)
        needed = old_defaults(module, out) | old_optimizers(module, program, out)
        needed |= sparse_rows(module, program, out)
        added = added_code.additions(module, needed)
        if isinstance(added, Refusal):
            yield added
            continue
        out.edits[:0] = added
        yield from outcomes_of(module, out, "arguments, defaults and formulas as in Keras 2")


_BEFORE = """\
import tensorflow as tf


class Squared(tf.keras.losses.Loss):
    def __init__(self):
        super().__init__(tf.keras.losses.Reduction.NONE, "squared")


regularizer = tf.keras.regularizers.l1_l2(l2=1e-4)
gate = tf.keras.layers.Dense(8, activation="hard_sigmoid")
pool = tf.keras.layers.AveragePooling2D()
loss = tf.keras.losses.SparseCategoricalCrossentropy(True, "none")
"""
_AFTER = changed(
    _BEFORE,
    (
        "import tensorflow as tf\n\n\n",
        f"import tensorflow as tf\n\n\n{added_code.TEXTS[added_code.HARD]}\n\n",
    ),
    ('Reduction.NONE, "squared"', 'Reduction.NONE, name="squared"'),
    ("__init__(tf", "__init__(reduction=tf"),
    ("l1_l2(l2=1e-4)", "l1_l2(l2=1e-4, l1=0.01)"),
    ('"hard_sigmoid"', added_code.HARD),
    ("Pooling2D()", "Pooling2D(pool_size=2)"),
    ('(True, "none")', '(True, reduction="none")'),
)
_SAME = """\
import tensorflow as tf

regularizer = tf.keras.regularizers.L1L2(l2=1e-4)
gate = tf.keras.layers.Dense(8, activation="sigmoid")
pool = tf.keras.layers.AveragePooling2D(3)
loss = tf.keras.losses.SparseCategoricalCrossentropy(True, 255)
print("hard_sigmoid")
"""
_OPEN = """\
import tensorflow as tf

regularizer = tf.keras.regularizers.l1_l2(**settings)
"""

CODEMOD = Codemod(
    code="CM220",
    name="keras-old-defaults",
    api="keras3",
    title="Positional arguments that are others in Keras 3 get their names, changed defaults are "
    "written out, and hard_sigmoid keeps its formula",
    hints=("keras", "tensorflow"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_SAME, after=_SAME),
        Example(before=_OPEN, after=_OPEN, refused="its arguments are not visible"),
    ),
    run=run,
)
