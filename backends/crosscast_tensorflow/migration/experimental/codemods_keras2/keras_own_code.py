"""CM224: code of the program that Keras 3 may run otherwise, and that was not looked at."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras_names.model_inputs import ModelInputs
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.own_code import listed, own_code
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    keeps_meanings,
    uses_keras_2,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_programs import (
    is_old_keras_program,
)

_FIRST = "correct the places of TensorFlow 1 and migrate again, or take --to tf.compat.v1"
_INPUTS = (
    "inputs of a functional model are passed to no function of TensorFlow in Keras 3, and their "
    "shapes are tuples: call it in a Lambda or in your own layer, or use keras.ops"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Name the classes, and the functions of inputs, of every module."""
    program = subject.program
    using = [module for module in program.modules if imports_keras(module)]
    if using and is_old_keras_program(program) and not uses_keras_2(program):
        yield Refusal(
            span=using[0].span(using[0].tree.body[0]),
            message="not looked at: Keras in this program, which has names of TensorFlow 1",
            hint=_FIRST,
        )
    if not using or keeps_meanings(program):
        return
    for module in program.modules:
        out = Outcomes()
        own_code(module, program, out)
        yield from out.refusals
    for module, calls in ModelInputs(program).places.items():
        yield Refusal(
            span=module.span(next(iter(calls.values()))),
            message=f"{listed([*calls])} of an input of a model, which Keras 3 does not take",
            hint=_INPUTS,
        )


_PLAIN = """\
import tensorflow as tf

inputs = tf.keras.Input((3,))
outputs = tf.keras.layers.Dense(2)(inputs)
outputs = tf.keras.layers.Lambda(lambda x: tf.concat([x, x], -1))(outputs)
model = tf.keras.Model(inputs, outputs)
"""
_CALLED = _PLAIN.replace(
    "tf.keras.layers.Lambda(lambda x: tf.concat([x, x], -1))(outputs)",
    "tf.concat([outputs, outputs], -1)",
)
_LAYER = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, x, training):
        return self.dense(self.drop(x, training))
"""
_OPTIMIZER = """\
import tensorflow as tf


class Sign(tf.keras.optimizers.Optimizer):
    def _resource_apply_dense(self, grad, var):
        return var.assign_sub(0.1 * tf.sign(grad))
"""

CODEMOD = Codemod(
    code="CM224",
    name="keras-own-code",
    api="keras3",
    title="Layers, models, optimizers and other classes of the program, and functions of "
    "TensorFlow beside Input, are named as not looked at",
    hints=("keras", "tensorflow"),
    examples=(
        Example(before=_PLAIN, after=_PLAIN),
        Example(before=_CALLED, after=_CALLED, refused="tensorflow.concat of an input of a model"),
        Example(before=_LAYER, after=_LAYER, refused="your own layers and models (Net)"),
        Example(before=_OPTIMIZER, after=_OPTIMIZER, refused="Sign is an optimizer for Keras 2"),
    ),
    run=run,
    scope="connected",
    names_only=True,
)
