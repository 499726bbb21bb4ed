"""Attributes and settings of Keras 2 that Keras 3 lets pass and gives no effect or no value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.arguments import is_optimizer

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_RATES = ("lr", "learning_rate")


def silent(module: Module, program: Program, out: Outcomes) -> None:
    """Change what is certain; refuse what would mean something else."""
    for call in module.calls:
        if module.is_dead(call.node):
            continue
        if call.name in ("hasattr", "getattr") and len(call.node.args) >= 2:
            _asked(call, program, out)
        elif call.method == "value" and not call.node.args:
            _value(call, program, out)
        elif call.method == "exclude_from_weight_decay":
            _excluded(call, out)
        elif canonical(call.name) == "keras.backend.set_value" and call.node.args:
            _set(call, program, out)
    for node in module.every(ast.Attribute):
        if node.attr == "compiled_loss" and not module.is_dead(node):
            _compiled_loss(node, module, out)


def _asked(call: Call, program: Program, out: Outcomes) -> None:
    """`hasattr(optimizer, "lr")` is always false in Keras 3."""
    owner, name = call.node.args[:2]
    if not isinstance(name, ast.Constant) or name.value != "lr":
        return
    mine = is_optimizer(owner, call.module, program)
    if mine:
        out.edits.append(replace_node(call.module, name, '"learning_rate"'))
    elif mine is None:
        out.refuse(
            call.module,
            name,
            f"{call.module.text(owner)} is perhaps an optimizer of Keras 3, which does not have lr",
            'ask for "learning_rate" if it is one',
        )


def _value(call: Call, program: Program, out: Outcomes) -> None:
    """`value` of a rate is a method of variables of TensorFlow, and no method in Keras 3."""
    if call.receiver is not None and _is_rate(call.receiver, call.module, program):
        text = f"{raw(call.module, call.receiver)}.value"
        out.edits.append(replace_node(call.module, call.node, text))


def _is_rate(node: ast.expr, module: Module, program: Program) -> bool:
    """Whether an expression is the rate of an optimizer, or a name that was given one."""
    if isinstance(node, ast.Attribute):
        return node.attr in _RATES and bool(is_optimizer(node.value, module, program))
    function = module.function_of(node)
    if not isinstance(node, ast.Name) or function is None:
        return False
    given = [
        part.value
        for part in ast.walk(function)
        if isinstance(part, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == node.id for target in part.targets)
    ]
    return any(
        isinstance(value, ast.Attribute) and _is_rate(value, module, program) for value in given
    )


def _excluded(call: Call, out: Outcomes) -> None:
    """Patterns of `exclude_from_weight_decay` see "bias" in Keras 3, and saw "dense/bias:0"."""
    module = call.module
    named = [k.value for k in call.node.keywords if k.arg == "var_names"]
    names = next(iter([*named, *call.node.args[1:2]]), None)
    if names is None:
        return
    value = value_of(names, module)
    known = value.value if isinstance(value, Known) else None
    if isinstance(known, list | tuple) and all(
        isinstance(name, str) and name.isidentifier() for name in known
    ):
        return
    out.refuse(
        module,
        names,
        "the patterns are looked for in the name of a variable, which is without its layer in "
        "Keras 3 (bias, not dense/bias:0): others match nothing",
        "write exclude_from_weight_decay(var_list=[...]) with the variables",
    )


def _set(call: Call, program: Program, out: Outcomes) -> None:
    given = call.node.args[0]
    if not isinstance(given, ast.Attribute) or given.attr != "weight_decay":
        return
    if is_optimizer(given.value, call.module, program) is not False:
        out.refuse(
            call.module,
            call.node,
            "weight_decay of an optimizer is a number in Keras 3, which fit compiles in",
            "keep weight_decay constant, or apply the decay to the variables in a callback",
        )


def _compiled_loss(node: ast.Attribute, module: Module, out: Outcomes) -> None:
    """`model.compiled_loss is None` is always false: in Keras 3 it is a method."""
    parent = module.parent(node)
    owner = raw(module, node.value)
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        return  # perhaps an attribute of the program's own class
    if isinstance(parent, ast.Compare) and parent.left is node and len(parent.ops) == 1:
        right = parent.comparators[0]
        none = isinstance(right, ast.Constant) and right.value is None
        if none and isinstance(parent.ops[0], ast.Is):
            out.edits.append(replace_node(module, parent, f"not {owner}.compiled"))
            return
        if none and isinstance(parent.ops[0], ast.IsNot):
            out.edits.append(replace_node(module, parent, f"{owner}.compiled"))
            return
    if isinstance(parent, ast.Call) and parent.func is node:
        return  # still computes the loss
    out.refuse(
        module,
        node,
        "compiled_loss is a method in Keras 3, and no object that holds the losses",
        f"write {owner}.loss for what was given to compile",
    )
