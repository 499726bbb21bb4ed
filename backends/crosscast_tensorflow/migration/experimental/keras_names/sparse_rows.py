"""Optimizers of programs with an Embedding, which Keras 3 trains otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_tensorflow.migration.experimental.keras.added_code import SUMMED
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes, policy_argument
from crosscast_tensorflow.migration.experimental.keras.program import optimizer_of
from crosscast_tensorflow.migration.experimental.keras_names.losses import strings_of
from crosscast_tensorflow.migration.experimental.keras_names.optimizers import loads_models
from crosscast_tensorflow.migration.experimental.keras_names.receivers import compiled_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_EMBEDDING = "keras.layers.Embedding"
_OPTIMIZER = re.compile(r"keras\.optimizers\.(Ada\w*|Nadam|RMSprop|Ftrl|SGD)")
EXACT = ("Adam", "Adagrad")
"""Optimizers that do what they did in Keras 2 when repeated rows are added up first."""
MOMENTUM = {"SGD": 1, "RMSprop": 2}
"""Optimizers to the place of their momentum, without which the rows do not differ."""
_NOTE = (
    "gradients of an Embedding: repeated rows are added up before an optimizer squares them, as in "
    "Keras 2; Keras 3 does not, which is 0.013 in the weights after 7 updates of Adam"
)
_OTHER = (
    "{} updates the rows of an Embedding otherwise in Keras 3: momentum moves rows that a batch "
    "lacks, and repeated rows are not added up before they are squared"
)
_WITH = " with momentum"
_HINT = "train with Adam, or SGD without momentum, if the weights must be those of Keras 2"
_LOADED = "load_model would forget it: set the optimizer after loading"


def sparse_rows(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Let the optimizers of a module add up repeated rows first.

    Returns:
        The names of the functions that the module needs.
    """
    if not any(name == _EMBEDDING for name, _ in calls_of(program)):
        return set()
    found = False
    for node, name in _optimizers(module, program):
        if module.is_dead(node) or _is_done(node, module) or name in ("SGD", "RMSprop"):
            continue
        if name not in EXACT or loads_models(program):
            hint = _LOADED if name in EXACT else _HINT
            out.refuse(module, node, _OTHER.format(name.removesuffix(_WITH)), hint)
            continue
        out.edits.append(replace_node(module, node, f"{SUMMED}({raw(module, node)})"))
        out.notes.append(_NOTE)
        found = True
    return {SUMMED} if found else set()


def _optimizers(module: Module, program: Program) -> Iterator[tuple[ast.expr, str]]:
    """Yield the optimizers that a module makes or names, and their kinds."""
    for call in module.calls:
        names = {canonical(name) for name in call.names}
        if len(names) == 1 and _OPTIMIZER.fullmatch(name := names.pop()):
            kind = last(name)
            yield call.node, kind + _WITH * _has_momentum(call, kind)
    kinds = {name.lower(): name for name in ("Adam", "Adagrad", "Nadam", "Adamax",
                                            "Adadelta", "Ftrl")}  # fmt: skip
    for call in compiled_in(module, program):
        given = optimizer_of(call)
        if given is None or isinstance(given, ast.Call):
            continue
        named = {str(node.value).lower() for node in strings_of(given, module)}
        for kind in sorted(named & kinds.keys())[:1]:
            yield given, kinds[kind]


def _has_momentum(call: Call, kind: str) -> bool:
    given = policy_argument(call.node, MOMENTUM.get(kind, 99), "momentum")
    value = value_of(given, call.module) if given is not None else Known(0)
    return not (isinstance(value, Known) and not value.value)


def _is_done(node: ast.expr, module: Module) -> bool:
    parent = module.parent(node)
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == SUMMED
    )
