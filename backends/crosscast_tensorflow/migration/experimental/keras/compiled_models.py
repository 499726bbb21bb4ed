"""Sets or disables a fixed loss scale in the optimizers of compiled models."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.readers.python.library_calls import last
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits
from crosscast_tensorflow.migration.experimental.keras.program import (
    compiles,
    is_keras_optimizer,
    maker_of,
    open_call,
    optimizer_of,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCALING = ("loss_scale_factor", "auto_scale_loss")


def unscaled(program: Program, *, only: ast.Call | None = None) -> list[Edit] | Refusal:
    """Return the edits that turn off loss scaling in `compile`.

    Args:
        program: all of it.
        only: the optimizer whose models to edit; None for all models.
    """
    edits: list[Edit] = []
    for call in compiles(program):
        maker = _maker(call)
        if only is not None and maker is not None and maker.node is not only:
            continue
        if maker is not None and last(maker.name) == "LossScaleOptimizer" and only is None:
            continue  # explicit, regardless of the policy
        if open_call(call.node) or (maker is None and only is not None):
            return _unknown_optimizer(call.node, call.module)
        if not any(keyword.arg == _SCALING[1] for keyword in call.node.keywords):
            edits += argument_edits(call.module, call.node, [], (f"{_SCALING[1]}=False",))
    return edits


def fixed_scale(
    program: Program, scale: str, wrapper: Call | None = None, inner: Call | None = None
) -> list[Edit] | Refusal:
    """Return the edits that set a fixed scale in the optimizers of all compiled models.

    Args:
        program: all of it.
        scale: an expression of constants.
        wrapper: a call to be removed; limits the edits to models compiled with its result.
        inner: the wrapped optimizer.
    """
    edits: list[Edit] = []
    done: set[int] = set()
    for call in compiles(program):
        maker = _maker(call)
        if maker is not None and last(maker.name) == "LossScaleOptimizer":
            continue
        if wrapper is not None:
            maker = inner if maker is not None and maker.node is wrapper.node else None
        if maker is None or not is_keras_optimizer(maker) or open_call(maker.node):
            return _unknown_optimizer(call.node, call.module)
        if id(maker.node) not in done:
            done.add(id(maker.node))
            added = factor_edits(maker, scale)
            if added is None:
                return _unknown_optimizer(call.node, call.module)
            edits += added
    silenced = unscaled(program)
    return silenced if isinstance(silenced, Refusal) else [*edits, *silenced]


def factor_edits(maker: Call, scale: str) -> list[Edit] | None:
    """Return the edits that set a fixed scale in an optimizer; None if it already has one."""
    if any(keyword.arg == _SCALING[0] for keyword in maker.node.keywords):
        return None
    return argument_edits(maker.module, maker.node, [], (f"{_SCALING[0]}={scale}",))


def _maker(call: Call) -> Call | None:
    node = optimizer_of(call)
    return maker_of(node, call.module) if node is not None else None


def _unknown_optimizer(node: ast.AST, module: Module) -> Refusal:
    return Refusal(
        span=module.span(node),
        message="the optimizer of this compile is not certain, and in Keras 3 a fixed loss scale "
        "belongs to the optimizer",
        hint="pass loss_scale_factor=... to the optimizer and auto_scale_loss=False to compile",
    )
