"""Arguments and methods of Keras 2 that Keras 3 rejects or, worse, ignores."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_table import OLD_METHODS
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_uses import (
    is_super,
    own_parameters,
)
from crosscast_tensorflow.migration.experimental.keras_names.receivers import (
    is_model,
    named_as_settings,
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
_VALUES = ("keras.backend.get_value", "keras.backend.set_value")


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
        if rows and mine:
            _arguments(call, rows, out)
        elif mine is None and any(row.call in _ASKED for row in rows):
            out.refuse(
                module,
                call.node,
                f"{call.receiver_text} is not certainly a model of Keras, whose {call.method} "
                f"does not take {rows[0].old}",
                f"write {rows[0].new or 'nothing'} instead if it is one",
            )


def _fits(row: Argument, call: Call, program: Program) -> bool:
    if not any(keyword.arg == row.old for keyword in call.node.keywords):
        return False
    if row.call.startswith("."):
        mine = call.method == row.call[1:] and call.receiver is not None
        others = any(canonical(name).startswith("tensorflow.") for name in call.names)
        if call.method == "apply_gradients" and _scales_by_hand(program):
            return False  # the codemod for the loop sees to it
        return mine and not others and program.function(call) is None and not _converted(call)
    found = [canonical(name) for name in call.names]
    return bool(found) and all(re.fullmatch(row.call, name) for name in found)


def _scales_by_hand(program: Program) -> bool:
    return any("get_scaled_loss" in module.source.text for module in program.modules)


def _converted(call: Call) -> bool:
    """Whether a call is one of the base in an optimizer for Keras 2, which gets another base."""
    owner = call.module.class_of(call.node)
    if call.receiver is None or owner is None or not is_super(call.receiver):
        return False
    return any(method.name in OLD_METHODS for method in own_parameters(owner))


def _arguments(call: Call, rows: list[Argument], out: Outcomes) -> None:
    module, node = call.module, call.node
    dropped: list[ast.expr] = []
    for row in rows:
        keyword = next(keyword for keyword in node.keywords if keyword.arg == row.old)
        if row.new:
            if any(other.arg == row.new for other in node.keywords):
                continue
            out.edits.append(renamed(module, keyword, row.new))
            continue
        if row.harmless is not None:
            value = value_of(keyword.value, module)
            known = isinstance(value, Known) and any(
                value.value is each or (value.value == each and type(value.value) is type(each))
                for each in row.harmless
            )
            if not known and not row.hint:
                continue
            if not known:
                out.refuse(
                    module,
                    keyword.value,
                    f"{row.old} was removed in Keras 3, and its value is not harmless",
                    row.hint,
                )
                continue
        dropped.append(keyword.value)
        out.notes += [row.note] if row.note else []
    if dropped:
        out.edits += argument_edits(module, node, dropped)


def renamed(module: Module, keyword: ast.keyword, new: str) -> Edit:
    """Return the edit that renames a keyword argument."""
    column = column_at(module, keyword.lineno, keyword.col_offset)
    return Edit(
        file=module.source.name,
        line=keyword.lineno,
        column=column,
        end_line=keyword.lineno,
        end_column=column + len(keyword.arg or ""),
        text=new,
    )


def _generator(call: Call, out: Outcomes) -> None:
    """`fit_generator(rows, 100, 5)` is `fit(rows, steps_per_epoch=100, epochs=5)`."""
    module, node = call.module, call.node
    new, order = GENERATORS[call.method]
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return out.refuse(
            module,
            node,
            f"{call.method} was removed in Keras 3, and its arguments are not visible",
            f"write {new} with the arguments by name",
        )
    function = node.func
    assert isinstance(function, ast.Attribute)
    line = function.end_lineno or function.lineno
    end = column_at(module, line, function.end_col_offset or 0)
    out.edits.append(
        Edit(
            file=module.source.name,
            line=line,
            column=end - len(function.attr),
            end_line=line,
            end_column=end,
            text=new,
        )
    )
    for name, argument in list(zip(order, node.args, strict=False))[1:]:
        where = (argument.lineno, argument.col_offset)
        out.edits.append(insert(module, where[0], column_at(module, *where), f"{name}="))
    for keyword in node.keywords:
        if keyword.arg == "generator":
            out.edits.append(renamed(module, keyword, "x"))
    return None


def rates(module: Module, program: Program, out: Outcomes) -> None:
    """Rename `optimizer.lr`, which Keras 3 does not have, and silently sets without effect."""
    for node in module.every(ast.Attribute):
        if node.attr != "lr" or module.is_dead(node):
            continue
        parent = module.parent(node)
        if _is_own(node, module, program):
            continue
        mine = True if _is_value(parent, module) else is_optimizer(node.value, module, program)
        if mine is None:
            owner = module.text(node.value)
            out.refuse(
                module,
                node,
                f"{owner} is perhaps an optimizer of Keras 3, which does not have lr",
                f"write {owner}.learning_rate if it is one",
            )
        if not mine:
            continue
        setter = _setter(parent, node, module)
        if setter is not None:
            text = f"{raw(module, node.value)}.learning_rate = {raw(module, setter.args[1])}"
            out.edits.append(replace_node(module, setter, text))
        else:
            text = f"{raw(module, node.value)}.learning_rate"
            out.edits.append(replace_node(module, node, text))


def steps(module: Module, program: Program, out: Outcomes) -> None:
    """Assign to `optimizer.iterations`, which cannot be another variable in Keras 3."""
    for node in module.every(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr != "iterations":
            continue
        if module.is_dead(node) or len(node.targets) > 1:
            continue
        if is_optimizer(target.value, module, program):
            text = f"{raw(module, target)}.assign({raw(module, node.value)})"
            out.edits.append(replace_node(module, node, text))


def _is_own(node: ast.Attribute, module: Module, program: Program) -> bool:
    """Whether `self.lr` is an attribute that the class itself sets."""
    owner = module.class_of(node) if module.text(node.value) == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    return scope is not None and program.has_attribute(scope, "lr")


def _is_value(parent: ast.AST | None, module: Module) -> bool:
    """Whether a node is the argument of `K.get_value` or `K.set_value`."""
    return isinstance(parent, ast.Call) and canonical(module.call(parent).name) in _VALUES


def _setter(parent: ast.AST | None, node: ast.Attribute, module: Module) -> ast.Call | None:
    """Return `K.set_value(optimizer.lr, rate)` if it is a statement of its own."""
    if not isinstance(parent, ast.Call) or parent.args[:1] != [node] or len(parent.args) != 2:
        return None
    called = canonical(module.call(parent).name)
    alone = isinstance(module.parent(parent), ast.Expr)
    return parent if called == "keras.backend.set_value" and alone else None


def is_optimizer(node: ast.expr, module: Module, program: Program) -> bool | None:
    """Whether an object is an optimizer of Keras; None if that is not certain."""
    makers = makers_of(node, module)
    if makers is not None:
        return all(
            re.fullmatch(r"keras\.(optimizers|mixed_precision)\.[\w.]*", canonical(name))
            for maker in makers
            for name in maker.names or ("",)
        )
    if not isinstance(node, ast.Attribute) or node.attr != "optimizer":
        return False
    if named_as_settings(module.text(node.value)):
        return False
    owner = module.text(node.value)
    return owner == "self" or is_model(node.value, module, program) or None
