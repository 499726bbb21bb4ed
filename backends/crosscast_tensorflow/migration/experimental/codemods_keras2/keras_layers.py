"""CM215: layers and cells of the program itself that Keras 3 treats differently."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.own_layers import cells, graph_calls
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is

_MESSAGE = "your layers do in Keras 3 what they did in Keras 2"


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the classes of every module."""
    program = subject.program
    if stays_as_it_is(program):
        return
    for module in program.modules:
        out = Outcomes()
        graph_calls(module, program, out)
        if cells(module, out):
            added = added_code.additions(module, [added_code.CELL])
            if isinstance(added, Refusal):
                yield added
                continue
            out.edits[:0] = added
        yield from outcomes_of(module, out, _MESSAGE)


_BEFORE = """\
import tensorflow as tf


class Sum(tf.keras.layers.AbstractRNNCell):
    state_size = 3

    def call(self, inputs, states):
        total = inputs + states[0]
        return total, [total]
"""
_AFTER = changed(
    _BEFORE,
    (
        "import tensorflow as tf\n\n\n",
        f"import tensorflow as tf\n\n\n{added_code.TEXTS[added_code.CELL]}\n\n",
    ),
    ("class Sum(tf.keras.layers.AbstractRNNCell)", f"class Sum({added_code.CELL})"),
)
_SHUFFLE = """\
import tensorflow as tf


class Flip(tf.keras.layers.Layer):
    def call(self, inputs):
        draw = tf.random.uniform([])
        if draw > 0.5:
            return tf.reverse(inputs, [1])
        return inputs
"""
_PLAIN = """\
import tensorflow as tf


class Drop(tf.keras.layers.Layer):
    def call(self, inputs, training=None):
        if training and inputs.shape.rank > 2:
            inputs = tf.nn.dropout(inputs, 0.5)
        return inputs
"""
_KEPT = changed(_SHUFFLE, ("        if draw", "        self.draw = draw\n        if draw"))

CODEMOD = Codemod(
    code="CM215",
    name="keras-layers",
    api="keras3",
    title="Cells of AbstractRNNCell get another base, and call of a layer that asks for the value "
    "of a tensor becomes a tf.function",
    hints=("AbstractRNNCell", "call"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(
            before=_SHUFFLE,
            after=changed(_SHUFFLE, ("    def call", "    @tf.function\n    def call")),
        ),
        Example(before=_PLAIN, after=_PLAIN),
        Example(before=_KEPT, after=_KEPT, refused="does not convert call by AutoGraph"),
    ),
    run=run,
)
