"""Loops with manual scaling: get_scaled_loss, get_unscaled_gradients, apply_gradients."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, replace_node
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import (
    check_conditions,
    known_owner,
)
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import (
    APPLIED,
    SCALED,
    UNSCALED,
    Loop,
)
from crosscast_tensorflow.migration.experimental.keras.unscaling import check_applied, unscale

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_GONE = {
    "loss_scale": "dynamic_scale",
    "dynamic": "nothing: the scale of this class is always dynamic",
    "dynamic_counter": "step_counter",
    "lr": "learning_rate",
    "_optimizer": "inner_optimizer",
    "minimize": "a loop with apply_gradients",
    "compute_gradients": "a GradientTape",
    "get_gradients": "a GradientTape",
    "weights": "variables",
    "get_weights": "variables",
}


def loops_of(program: Program) -> list[Loop]:
    """Return the loops that scale with the methods of Keras 2, with edits or refusals."""
    found: dict[tuple[int, int, str], Loop] = {}
    for module in program.modules:
        if SCALED not in module.source.text and UNSCALED not in module.source.text:
            continue
        for call in module.calls:
            if call.receiver is None or call.method not in (SCALED, UNSCALED, APPLIED):
                continue
            if any(name.startswith("tf_keras.") for name in call.names):
                continue
            function = module.function_of(call.node)
            owner = module.text(call.receiver)
            loop = found.setdefault(
                (id(module), id(function), owner), Loop(module, function, owner)
            )
            kinds = {SCALED: loop.scaled, UNSCALED: loop.unscaled, APPLIED: loop.applied}
            kinds[call.method].append(call)
    loops = [loop for loop in found.values() if loop.scaled or loop.unscaled]
    for loop in loops:
        _settle(loop, program)
    return loops


def _settle(loop: Loop, program: Program) -> None:
    """Find the edits of a loop, or the reasons against them."""
    first = (loop.scaled or loop.unscaled)[0].node
    if not loop.scaled or not loop.unscaled or not loop.applied:
        missing = [
            name
            for name, calls in (
                (SCALED, loop.scaled),
                (UNSCALED, loop.unscaled),
                (APPLIED, loop.applied),
            )
            if not calls
        ]
        return loop.refuse(
            first,
            f"{' and '.join(missing)} of {loop.owner} is not in the function of this call: Keras 3 "
            "unscales in apply_gradients, which must receive the scaled gradients",
            "move scale_loss and apply_gradients of one optimizer into one function, or rewrite "
            "the loop: scale_loss must not be traced before the optimizer is built",
        )
    if not known_owner(loop, program):
        return loop.refuse(
            first,
            f"the given files do not define {loop.owner}",
            "pass the file that creates the optimizer as well",
        )
    _refuse_removed(loop)
    check_conditions(loop)
    for call in loop.scaled:
        if len(call.node.args) != 1 or call.node.keywords:
            loop.refuse(call.node, "get_scaled_loss has unusual arguments", "migrate it by hand")
        loop.edits.append(_method(loop.module, call, "scale_loss"))
    for call in loop.applied:
        if len(call.node.args) + len(call.node.keywords) != 1:
            loop.refuse(
                call.node,
                "apply_gradients of Keras 3 takes only gradients and variables",
                "decide what the other arguments are for; gradients are not aggregated afterwards",
            )
    if not loop.refusals:
        for call in loop.unscaled:
            unscale(loop, call)
        check_applied(loop)


def _refuse_removed(loop: Loop) -> None:
    """Refuse uses of removed attributes of the optimizer."""
    for node in loop.module.every(ast.Attribute):
        new = _GONE.get(node.attr)
        if new and loop.module.text(node.value) == loop.owner and not loop.module.is_dead(node):
            loop.refuse(
                node,
                f"{loop.owner}.{node.attr} was removed in Keras 3",
                f"replacement: {new}",
            )
    for call in loop.module.calls:
        mine = call.receiver is not None and loop.module.text(call.receiver) == loop.owner
        if mine and call.method == "variables" and not call.node.args:
            text = raw(loop.module, call.node.func)
            loop.edits.append(replace_node(loop.module, call.node, text))


def _method(module: Module, call: Call, name: str) -> Edit:
    """Return the edit that renames the method of a call."""
    function = call.node.func
    assert isinstance(function, ast.Attribute)
    line = function.end_lineno or function.lineno
    end = column_at(module, line, function.end_col_offset or 0)
    return Edit(
        file=module.source.name,
        line=line,
        column=end - len(function.attr),
        end_line=line,
        end_column=end,
        text=name,
    )
