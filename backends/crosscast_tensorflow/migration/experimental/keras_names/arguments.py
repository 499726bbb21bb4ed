"""Arguments and methods of Keras 2 that Keras 3 has under other names, rejects or ignores."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import insert_before, replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, last, value_of
from crosscast_tensorflow.migration.experimental.edits import (
    argument_edits,
    raw,
    renamed,
    with_attribute,
)
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.receivers import (
    is_model,
    is_optimizer,
)
from crosscast_tensorflow.migration.experimental.keras_names.table import (
    ARGUMENTS,
    GENERATORS,
    Argument,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_COMMON = (".fit", ".evaluate", ".predict", ".save", ".load_weights", ".save_weights")
"""Methods that objects of other libraries also have."""
_ASKED = (".fit", ".evaluate", ".predict")
"""Methods that are asked about if it is not certain whose they are."""
_RATES = ("lr", "learning_rate")
_SET, _GET = "keras.backend.set_value", "keras.backend.get_value"
_UNKNOWN = "remove it, or write what Keras 3 has instead"


def arguments(module: Module, program: Program, out: Outcomes, done: set[int]) -> None:
    """Add the edits and refusals of the calls in a module that uses Keras.

    Args:
        module: to change.
        program: of the module.
        out: receives the edits and refusals.
        done: ids of calls that are replaced.
    """
    for call in module.calls:
        if id(call.node) in done or module.is_dead(call.node):
            continue
        if any(name.startswith("tf_keras.") for name in call.names):
            continue
        if call.method in GENERATORS and call.receiver is not None:
            if program.function(call) is None:
                _generator(call, out)
            continue
        rows = [row for row in ARGUMENTS if _fits(row, call, program)]
        mine: bool | None = True
        if call.receiver is not None and any(row.call in _COMMON for row in rows):
            mine = is_model(call.receiver, module, program)
        if mine is None and any(row.call in _ASKED for row in rows):
            out.refuse(
                module,
                call.node,
                f"{call.receiver_text} is not certainly a model of Keras, whose {call.method} "
                f"does not take {rows[0].old}",
                f"write {rows[0].new or 'nothing'} instead if it is one",
            )
        if not mine:
            continue
        _arguments(call, rows, out)
        for word in _unknown(call, program):
            if word not in {row.old for row in rows}:
                name = call.method or last(call.name)
                message = f"{name} takes no argument {word} in Keras 3"
                out.refuse(module, call.node, message, _UNKNOWN)


def _fits(row: Argument, call: Call, program: Program) -> bool:
    if not any(keyword.arg == row.old for keyword in call.node.keywords):
        return False
    if row.call.startswith("."):
        mine = call.method == row.call[1:] and call.receiver is not None
        others = any(canonical(name).startswith("tensorflow.") for name in call.names)
        return mine and not others and program.function(call) is None
    names = [canonical(name) for name in call.names]
    return bool(names) and all(re.fullmatch(row.call, name) for name in names)


def _unknown(call: Call, program: Program) -> list[str]:
    """Return the arguments that a function of Keras 3, or a method of a model, does not take."""
    names = {canonical(name) for name in call.names}
    known = present.arguments(names.pop()) if len(names) == 1 else None
    others = any(canonical(name).startswith("tensorflow.") for name in call.names)
    if known is None and call.receiver and not others and program.function(call) is None:
        taken = present.of_method(call.method)
        known = taken if taken and is_model(call.receiver, call.module, program) else None
    if known is None:
        return []
    return [k.arg for k in call.node.keywords if k.arg and k.arg not in known]


def _arguments(call: Call, rows: list[Argument], out: Outcomes) -> None:
    module, node = call.module, call.node
    dropped: list[ast.expr] = []
    for row in rows:
        keyword = next(keyword for keyword in node.keywords if keyword.arg == row.old)
        if row.new:
            if not any(other.arg == row.new for other in node.keywords):
                out.edits.append(renamed(module, keyword, row.new))
        elif row.harmless is None or _is_one_of(row.harmless, keyword.value, module):
            dropped.append(keyword.value)
            out.notes += [row.note] if row.note else []
        elif row.hint:
            message = f"{row.old} was removed in Keras 3, and its value is not harmless"
            out.refuse(module, keyword.value, message, row.hint)
    if dropped:
        out.edits += argument_edits(module, node, dropped)


def _is_one_of(values: tuple[object, ...], node: ast.expr, module: Module) -> bool:
    value = value_of(node, module)
    return isinstance(value, Known) and any(
        value.value is each or (value.value == each and type(value.value) is type(each))
        for each in values
    )


def _generator(call: Call, out: Outcomes) -> None:
    """`fit_generator(rows, 100, 5)` is `fit(rows, steps_per_epoch=100, epochs=5)`."""
    module, node = call.module, call.node
    new, order = GENERATORS[call.method]
    if len(node.args) > len(order) or any(isinstance(a, ast.Starred) for a in node.args):
        message = f"{call.method} was removed in Keras 3, and its arguments are not visible"
        return out.refuse(module, node, message, f"write {new} with the arguments by name")
    assert isinstance(node.func, ast.Attribute)
    out.edits.append(with_attribute(module, node.func, new))
    pairs = zip(order[1:], node.args[1:], strict=False)
    out.edits += [insert_before(module, given, f"{name}=") for name, given in pairs]
    out.edits += [renamed(module, k, "x") for k in node.keywords if k.arg == "generator"]
    return None


def rates(module: Module, program: Program, out: Outcomes) -> None:
    """Rename `optimizer.lr`, which Keras 3 does not have, and silently sets without effect."""
    for node in module.every(ast.Attribute):
        if node.attr != "lr" or module.is_dead(node) or _is_own(node, module, program):
            continue
        parent = module.parent(node)
        asked = isinstance(parent, ast.Call) and canonical(module.call(parent).name) in (_SET, _GET)
        mine = True if asked else is_optimizer(node.value, module, program)
        if mine is None:
            owner = module.text(node.value)
            out.refuse(
                module,
                node,
                f"{owner} is perhaps an optimizer of Keras 3, which does not have lr",
                f"write {owner}.learning_rate if it is one",
            )
        elif mine:
            out.edits.append(with_attribute(module, node, "learning_rate"))


def set_values(module: Module, out: Outcomes) -> None:
    """Assign the rate of an optimizer: `K.set_value` fails for variables of Keras 3."""
    for call in module.calls:
        if canonical(call.name) != _SET or module.is_dead(call.node):
            continue
        match call.node.args:
            case [ast.Attribute(attr=name) as rate, value] if name in _RATES:
                if name == "learning_rate" and isinstance(module.parent(call.node), ast.Expr):
                    text = f"{raw(module, rate)} = {raw(module, value)}"
                    out.edits.append(replace_node(module, call.node, text))
                continue  # its name comes first
        message = "set_value of keras.backend fails for variables of Keras 3"
        out.refuse(module, call.node, message, "write variable.assign(value)")


def _is_own(node: ast.Attribute, module: Module, program: Program) -> bool:
    """Whether `self.lr` is an attribute that the class itself sets."""
    owner = module.class_of(node) if module.text(node.value) == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    return scope is not None and program.has_attribute(scope, "lr")
