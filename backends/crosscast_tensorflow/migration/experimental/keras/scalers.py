"""Constructor calls of LossScaleOptimizer, from Keras 2 to Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.compiled_models import factor_edits, unscaled
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw, remove
from crosscast_tensorflow.migration.experimental.keras.loss_scales import is_literal
from crosscast_tensorflow.migration.experimental.keras.program import (
    compiles,
    is_keras_optimizer,
    maker_of,
    open_call,
    optimizer_of,
    own_choice,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OLD_ORDER = ("inner_optimizer", "dynamic", "initial_scale", "dynamic_growth_steps")
_FOREIGN = ("tensorflow.train.", "tensorflow_addons.", "horovod.", "keras.optimizers.legacy.")
_LEFT = "keras.mixed_precision.experimental."

Rewrite = list[Edit] | Refusal


def is_scaler(name: str) -> bool:
    """Whether a canonical name is the LossScaleOptimizer of tf.keras or Keras."""
    return name in (
        "keras.mixed_precision.LossScaleOptimizer",
        "keras.optimizers.LossScaleOptimizer",
    )


def scaler_calls(program: Program) -> list[Call]:
    """Return the calls that wrap an optimizer, including the experimental name.

    The package tf_keras is excluded: it is Keras 2 and keeps working.
    """
    found: dict[int, Call] = {}
    for call in program.calls():
        names = call.names
        if (
            names
            and all(
                (is_scaler(canonical(name)) or canonical(name) == f"{_LEFT}LossScaleOptimizer")
                and not name.startswith("tf_keras.")
                for name in names
            )
            and not own_choice(call.module, call.node, "LossScaleOptimizer")
        ):
            found[id(call.node)] = call
    return list(found.values())


def constructor(call: Call, program: Program, looped: Collection[int] | None) -> Rewrite:
    """Return the edits of a constructor call, empty if it is already correct, or a refusal.

    Args:
        call: a call of LossScaleOptimizer.
        program: all of it.
        looped: ids of the calls whose optimizers are used in loops of Keras 2; None if the program
            has no such loops, so that it may be written for Keras 3.
    """
    module = call.module
    if any(canonical(name).startswith(_LEFT) for name in call.names):
        return _refuse(call, "the experimental name must become the stable one first", "see CM201")
    given = _arguments(call, old=looped is not None)
    if given is None:
        return _refuse(
            call,
            "the arguments of this LossScaleOptimizer are not certain",
            "pass them by name: Keras 3 has initial_scale and dynamic_growth_steps",
        )
    inner = given.get("inner_optimizer")
    if inner is None or (foreign := _foreign(inner, module)):
        what = foreign if inner is not None else "nothing"
        return _refuse(
            call,
            f"the LossScaleOptimizer of Keras 3 cannot wrap {what}",
            "use an inner optimizer from keras.optimizers",
        )
    dynamic = given.get("dynamic")
    if dynamic is not None:
        value = value_of(dynamic, module)
        if not isinstance(value, Known) or not isinstance(dynamic, ast.Constant):
            return _refuse(
                call,
                f"{module.text(dynamic)} determines whether the scale is dynamic, and Keras 3 has "
                "no LossScaleOptimizer with a fixed scale",
                "use LossScaleOptimizer(...) for a dynamic scale and an optimizer with "
                "loss_scale_factor=... for a fixed one",
            )
        if value.value is False:
            return _fixed(call, given, program, looped or ())
    return _dynamic(call, given)


def _arguments(call: Call, *, old: bool) -> dict[str, ast.expr] | None:
    """Return the arguments under their names in Keras 2."""
    node = call.node
    if open_call(node):
        return None
    found: dict[str, ast.expr] = {
        keyword.arg: keyword.value for keyword in node.keywords if keyword.arg
    }
    if "loss_scale" in found:
        return None
    if len(node.args) > 1:
        value = value_of(node.args[1], call.module)
        if not isinstance(value, Known) or not isinstance(value.value, int | float):
            return None
        if not is_literal(node.args[1]):
            return None
        if not isinstance(value.value, bool):
            # Written for Keras 3, where the scale comes second.
            return None if old else {"inner_optimizer": node.args[0]} | found
    for name, argument in zip(_OLD_ORDER, node.args, strict=False):
        if name in found:
            return None
        found[name] = argument
    return found if len(node.args) <= len(_OLD_ORDER) else None


def _foreign(inner: ast.expr, module: Module) -> str:
    """Return the name of an inner optimizer that Keras 3 cannot wrap; empty otherwise."""
    for meaning in meanings_of(inner, module):
        name = canonical(meaning.name)
        if name.startswith(_FOREIGN) or ".legacy." in name:
            return name
    return ""


def _dynamic(call: Call, given: dict[str, ast.expr]) -> list[Edit]:
    """Remove `dynamic` and arguments that are None; pass the others by name."""
    node, module = call.node, call.module
    dropped = [
        argument
        for name, argument in given.items()
        if name == "dynamic"
        or (
            name in _OLD_ORDER[2:] and isinstance(argument, ast.Constant) and argument.value is None
        )
    ]
    moved: list[str] = []
    if given.get("dynamic") in node.args:
        for name in _OLD_ORDER[2:]:
            argument = given.get(name)
            if argument is not None and argument in node.args and argument not in dropped:
                moved.append(f"{name}={raw(module, argument)}")
                dropped.append(argument)
    return argument_edits(module, node, dropped, tuple(moved)) if dropped else []


def _fixed(
    call: Call, given: dict[str, ast.expr], program: Program, looped: Collection[int]
) -> Rewrite:
    """Move a fixed scale to the inner optimizer, and remove the wrapper."""
    node, module = call.node, call.module
    scale, inner = given.get("initial_scale"), given["inner_optimizer"]
    if scale is None or not is_literal(scale):
        return _refuse(
            call,
            "in Keras 3 a fixed loss scale belongs to the inner optimizer, and this one is not a "
            "literal",
            "pass loss_scale_factor=... to the inner optimizer and remove the wrapper",
        )
    maker = maker_of(inner, module)
    text = raw(module, scale)
    added = None
    if (
        maker is not None
        and maker.module is module
        and is_keras_optimizer(maker)
        and not open_call(maker.node)
        and _only_wrapped(maker, inner, call)
        and (id(node) in looped or _is_compiled(call, program))
    ):
        added = factor_edits(maker, text)
    if maker is None or added is None:
        return _refuse(
            call,
            "in Keras 3 a fixed loss scale belongs to the inner optimizer, and its creation or use "
            "is not certain",
            f"pass loss_scale_factor={text} to the inner optimizer and remove the wrapper",
        )
    silenced = unscaled(program, only=node)
    if isinstance(silenced, Refusal):
        return silenced
    if maker.node is inner:
        whole = raw(module, inner)
        new = f"{whole[:-1].rstrip().rstrip(',')}, loss_scale_factor={text})"
        if not (maker.node.args or maker.node.keywords):
            new = f"{whole[:-1]}loss_scale_factor={text})"
        if "#" in whole or "\n" in whole:
            return _refuse(call, "its arguments span several lines", "remove the wrapper by hand")
        return [replace_node(module, node, new), *silenced]
    statement = module.parent(node)
    if (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and ast.unparse(statement.targets[0]) == ast.unparse(inner)
    ):
        gone = remove(module, statement)
        if gone is not None:
            return [*added, gone, *silenced]
    return [*added, replace_node(module, node, raw(module, inner)), *silenced]


def _is_compiled(wrapper: Call, program: Program) -> bool:
    """Whether a model is compiled with the result of a call."""
    for call in compiles(program):
        node = optimizer_of(call)
        maker = maker_of(node, call.module) if node is not None else None
        if maker is not None and maker.node is wrapper.node:
            return True
    return False


def _only_wrapped(maker: Call, inner: ast.expr, call: Call) -> bool:
    """Whether an optimizer is created and wrapped under the same conditions."""
    module = call.module
    made = {branch.text for branch in branches(maker.node, module, callers=False)}
    wrapped = {branch.text for branch in branches(call.node, module, callers=False)}
    return maker.node is inner or (
        isinstance(inner, ast.Name)
        and made == wrapped
        and module.function_of(maker.node) is module.function_of(call.node)
    )


def _refuse(call: Call, message: str, hint: str) -> Refusal:
    return Refusal(span=call.module.span(call.node), message=message, hint=hint)
