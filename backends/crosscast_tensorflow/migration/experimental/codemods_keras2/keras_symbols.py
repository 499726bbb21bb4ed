"""CM218: TensorFlow functions of the inputs of a functional model."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    stays_as_it_is,
)
from crosscast_tensorflow.migration.experimental.keras_names.symbol_calls import symbol_calls
from crosscast_tensorflow.migration.experimental.keras_names.symbols import Symbols


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the calls in every module."""
    program = subject.program
    if stays_as_it_is(program) or not any(map(imports_keras, program.modules)):
        return
    symbols = Symbols(program)
    for module in program.modules:
        out = Outcomes()
        added = added_code.additions(module, symbol_calls(module, symbols, out))
        if isinstance(added, Refusal):
            yield added
            continue
        out.edits[:0] = added
        yield from outcomes_of(module, out, "functions of inputs of a model, as Keras 3 takes them")


_BEFORE = """\
import tensorflow as tf


def block(x):
    x = tf.keras.layers.Conv2D(8, 3)(x)
    return tf.nn.leaky_relu(x, alpha=0.1)


inputs = tf.keras.Input((32, 32, 3))
x = block(inputs)
x = tf.concat([x, 2 * x], axis=-1)
print(x.shape.as_list())
model = tf.keras.Model(inputs, x)
"""
_AFTER = changed(
    _BEFORE,
    (
        "import tensorflow as tf\n",
        "import tensorflow as tf\n\n\n"
        + "\n\n".join(added_code.TEXTS[n] for n in (added_code.SYMBOLIC, added_code.CALLED)),
    ),
    ("tf.nn.leaky_relu(x, alpha", f'{added_code.CALLED}("nn.leaky_relu", x, alpha'),
    ("tf.concat([x", f'{added_code.CALLED}("concat", [x'),
    ("x.shape.as_list()", "list(x.shape)"),
)
_TENSORS = """\
import tensorflow as tf


class Double(tf.keras.layers.Layer):
    def call(self, x):
        return tf.concat([x, x], -1)


inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, Double()(inputs))
print(tf.reduce_sum(model(tf.ones((1, 3)))), rows.shape.as_list())
"""
_MAPPED = """\
import tensorflow as tf

inputs = tf.keras.Input((3,))
outputs = tf.map_fn(lambda x: 2 * x, inputs)
"""

CODEMOD = Codemod(
    code="CM218",
    name="keras-symbols",
    api="keras3",
    title="Functions of TensorFlow that are called with inputs of a functional model are called by "
    "a layer, and shapes are tuples",
    hints=("Input", "layers", "applications"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_TENSORS, after=_TENSORS),
        Example(before=_MAPPED, after=_MAPPED, refused="is called with an input of a model"),
    ),
    run=run,
)
