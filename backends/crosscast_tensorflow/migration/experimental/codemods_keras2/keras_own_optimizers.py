"""CM213: optimizer classes that were written for Keras 2."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.added_code import OWN, TEXTS, UPDATES
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.own_optimizers import own_optimizers
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is


def run(subject: Subject) -> Iterator[Outcome]:
    """Give optimizers for Keras 2 a base that calls their methods."""
    program = subject.program
    if stays_as_it_is(program):
        return
    for module in program.modules:
        out = Outcomes()
        added = added_code.additions(module, own_optimizers(module, program, out))
        if isinstance(added, Refusal):
            yield added
            out.edits.clear()
        else:
            out.edits[:0] = added
        yield from outcomes_of(module, out, "Keras 3 calls the update methods of Keras 2")


_BEFORE = """\
import tensorflow as tf


class Decayed(tf.keras.optimizers.Adam):
    def _resource_apply_dense(self, grad, var, apply_state=None):
        if "bias" not in var.name:
            var.assign_sub(0.01 * self._decayed_lr(var.dtype) * var)
        return super()._resource_apply_dense(grad, var, apply_state=apply_state)
"""
_AFTER = changed(
    _BEFORE,
    ("as tf\n\n\n", f"as tf\n\n\n{TEXTS[UPDATES]}\n\n"),
    ("class Decayed(tf", f"class Decayed({UPDATES}, tf"),
    ("var.name", "self.name_in_keras_2(var)"),
)
_OWN = """\
import tensorflow as tf


class Sign(tf.keras.optimizers.Optimizer):
    def __init__(self, learning_rate=0.01, name="Sign", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)

    def _resource_apply_dense(self, grad, var):
        return var.assign_sub(self._get_hyper("learning_rate", var.dtype) * tf.sign(grad))
"""
_OWN_AFTER = changed(
    _OWN,
    ("as tf\n\n\n", f"as tf\n\n\n{TEXTS[UPDATES]}\n\n{TEXTS[OWN]}\n\n"),
    ("Sign(tf.keras.optimizers.Optimizer)", f"Sign({OWN})"),
    ("grad, var)", "grad, var, apply_state=None)"),
)
_SGD = """\
import tensorflow as tf


class Sign(tf.keras.optimizers.SGD):
    def _resource_apply_dense(self, grad, var, apply_state=None):
        return var.assign_sub(self.learning_rate * tf.sign(grad))
"""
_HOOK = """\
import tensorflow as tf


class Scaled(tf.keras.optimizers.Adam):
    def _create_slots(self, var_list):
        super()._create_slots(var_list)

    def _transform_gradients(self, grads_and_vars):
        return [(0.5 * g, v) for g, v in grads_and_vars]
"""
_NEW = """\
import tensorflow as tf


class Sign(tf.keras.optimizers.SGD):
    def update_step(self, gradient, variable, learning_rate):
        self.assign_sub(variable, learning_rate * tf.sign(gradient))
"""

CODEMOD = Codemod(
    code="CM213",
    name="keras-own-optimizers",
    api="keras3",
    title="Optimizer classes for Keras 2 (_resource_apply_dense, slots, hyperparameters) run "
    "their own updates in Keras 3",
    hints=(
        "_resource_apply",
        "_create_slots",
        "_prepare_local",
        "get_updates",
        "apply_gradients",
    ),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_OWN, after=_OWN_AFTER),
        Example(before=_NEW, after=_NEW),
        Example(before=_SGD, after=_SGD, refused="is an optimizer for Keras 2"),
        Example(before=_HOOK, after=_HOOK, refused="nothing calls its _transform_gradients"),
    ),
    run=run,
)
