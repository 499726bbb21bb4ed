"""Optimizers whose formulas are others in Keras 3; a test runs both releases."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import PLAIN_RMSPROP
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import optimizer_of
from crosscast_tensorflow.migration.experimental.keras_names.losses import strings_of
from crosscast_tensorflow.migration.experimental.keras_names.receivers import compiled_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_RMSPROP = "keras.optimizers.RMSprop"
_NADAM = "keras.optimizers.Nadam"
_NOTE = (
    "RMSprop without momentum adds epsilon after the root, as Keras 2 did up to 2.10; Keras 3 adds "
    "it before, which changes the steps where gradients are below 0.01: remove the class if the "
    "program was made for 2.11 or later"
)
_ROOT = "this can be RMSprop, which has another formula in Keras 3"
_SCHEDULE = "Nadam has another momentum schedule in Keras 3 (0.8 % of the weights after 6 updates)"
_HINT = "take Adam, or write the optimizer of Keras 2 by hand"


def old_optimizers(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Keep the formula of RMSprop, and refuse Nadam.

    Returns:
        The names of the classes that the module needs.
    """
    found = False
    for call in module.calls:
        names = {canonical(name) for name in call.names}
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        if names == {_RMSPROP}:
            out.edits.append(replace_node(module, call.node.func, PLAIN_RMSPROP))
            found = True
        elif names == {_NADAM}:
            out.refuse(module, call.node, _SCHEDULE, _HINT)
    for compiled in compiled_in(module, program):
        given = optimizer_of(compiled)
        if given is None or module.is_dead(given):
            continue
        named = {str(node.value).lower() for node in strings_of(given, module)}
        if "rmsprop" in named and isinstance(given, ast.Constant):
            out.edits.append(replace_node(module, given, f"{PLAIN_RMSPROP}()"))
            found = True
        elif "rmsprop" in named:
            out.refuse(module, given, _ROOT, "write tf.keras.optimizers.RMSprop(), and run again")
        elif "nadam" in named:
            out.refuse(module, given, _SCHEDULE, _HINT)
    out.notes += [_NOTE] if found else []
    return {PLAIN_RMSPROP} if found else set()
