"""Means of cross-entropy in Paddle that count labels which are ignored."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

LOSS = re.compile(r"paddle\.nn\.(functional\.cross_entropy|CrossEntropyLoss)")
DEFAULT = -100
"""The label that is ignored if no other one is given."""


def counts_ignored(call: Call) -> bool:
    """Whether a loss is a mean that Paddle 3 divides by all labels, ignored or not.

    It does so if the ignored label is below zero; if it is the default, only programs that write
    that label are meant. Paddle 2 divides by the labels that count, and both do for other labels
    and for soft ones. The probe `loss.ignored` shows it.

    Args:
        call: A call of the functions that match `LOSS`.
    """
    reduction, soft = call.argument("reduction"), call.argument("soft_label")
    if reduction is not None and plain(reduction) != "mean":
        return False
    if soft is not None and plain(soft) is not False:
        return False
    ignored = call.argument("ignore_index")
    if ignored is None:
        return any(map(_writes_default, call.module.program.modules))
    label = plain(ignored)
    return isinstance(label, int) and label < 0


def _writes_default(module: Module) -> bool:
    """Whether a module writes the label that is ignored by default."""
    return any(
        isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and node.operand.value == -DEFAULT
        for node in module.every(ast.UnaryOp)
    )
