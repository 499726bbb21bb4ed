"""Optimizers of `tf.train` that an optimizer of Keras 3 computes exactly.

Read in TensorFlow 1.15.5 and Keras 3; tests/frameworks/test_tensorflow1_keras.py compares updates.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Instance, Known
from crosscast_reading.readers.python.library_calls import value_of
from crosscast_tensorflow.migration.experimental.edits import raw
from crosscast_tensorflow.migration.experimental.keras.program import open_call


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerRow:
    """An optimizer of `tf.train`."""

    new: str
    """Its class in `keras.optimizers`, or one of `added_code`."""
    order: tuple[str, ...]
    """The arguments in the order of `tf.train`."""
    renamed: Mapping[str, str]
    """Argument to its name in Keras."""
    added: Mapping[str, str] = field(default_factory=dict)
    """Arguments of Keras, and the default of `tf.train` where that of Keras is another one."""


_RATE = {"learning_rate": "learning_rate"}
OPTIMIZERS: Mapping[str, OptimizerRow] = {
    "train.AdamOptimizer": OptimizerRow(
        new="Adam",
        order=("learning_rate", "beta1", "beta2", "epsilon", "use_locking", "name"),
        renamed=_RATE | {"beta1": "beta_1", "beta2": "beta_2", "epsilon": "epsilon"},
        added={"epsilon": "1e-08"},
    ),
    "train.GradientDescentOptimizer": OptimizerRow(
        new="SGD", order=("learning_rate", "use_locking", "name"), renamed=_RATE
    ),
    "train.MomentumOptimizer": OptimizerRow(
        new="SGD",
        order=("learning_rate", "momentum", "use_locking", "name", "use_nesterov"),
        renamed=_RATE | {"momentum": "momentum", "use_nesterov": "nesterov"},
    ),
    "train.RMSPropOptimizer": OptimizerRow(
        new="RMSpropFromOnes",
        order=(
            "learning_rate", "decay", "momentum", "epsilon", "use_locking", "centered", "name"
        ),
        renamed=_RATE
        | {"decay": "rho", "momentum": "momentum", "epsilon": "epsilon", "centered": "centered"},
        added={"epsilon": "1e-10"},
    ),
    "train.AdagradOptimizer": OptimizerRow(
        new="Adagrad",
        order=("learning_rate", "initial_accumulator_value", "use_locking", "name"),
        renamed=_RATE | {"initial_accumulator_value": "initial_accumulator_value"},
        added={"epsilon": "0.0"},
    ),
    "train.AdadeltaOptimizer": OptimizerRow(
        new="Adadelta",
        order=("learning_rate", "rho", "epsilon", "use_locking", "name"),
        renamed=_RATE | {"rho": "rho", "epsilon": "epsilon"},
        added={"epsilon": "1e-08"},
    ),
}  # fmt: skip
"""Path under `tf` to its row."""
_DROPPED = ("use_locking", "name")


def arguments_of(row: OptimizerRow, call: ast.Call, module: Module) -> str | None:
    """Return the arguments for Keras of a call of an optimizer; None if they are not certain."""
    if open_call(call) or len(call.args) > len(row.order):
        return None
    given = dict(zip(row.order, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if any(name not in row.renamed and name not in _DROPPED for name in given):
        return None
    rate = given.get("learning_rate")
    if rate is not None and not _is_number(rate, module):
        return None
    texts = {
        row.renamed[name]: raw(module, value)
        for name, value in given.items()
        if name in row.renamed
    }
    texts |= {name: text for name, text in row.added.items() if name not in texts}
    rates = [texts.pop("learning_rate")] if call.args else []
    return ", ".join([*rates, *(f"{name}={text}" for name, text in texts.items())])


def _is_number(rate: ast.expr, module: Module) -> bool:
    """Whether a rate is a number of Python: a tensor may change while the program runs."""
    value = value_of(rate, module)
    if isinstance(value, Instance) or (isinstance(value, Known) and not _is_float(value)):
        return False
    return all(_is_plain(node) for node in ast.walk(rate) if isinstance(node, ast.Call))


def _is_float(value: Known) -> bool:
    """Whether a value is what Keras 3 takes as a rate: a whole number is none."""
    return isinstance(value.value, float)


def _is_plain(call: ast.Call) -> bool:
    """Whether a call gives a number of Python: `float(x)`, or `hvd.size()`."""
    name = ast.unparse(call.func)
    return name in ("float", "int", "max", "min") or name.endswith((".size", ".local_size"))
