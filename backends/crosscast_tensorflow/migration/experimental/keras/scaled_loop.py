"""A loop with manual loss scaling."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.readers.python.conditions import branches
from crosscast_tensorflow.migration.experimental.keras.clips import Clip

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

SCALED, UNSCALED, APPLIED = "get_scaled_loss", "get_unscaled_gradients", "apply_gradients"


@dataclass(slots=True)
class Loop:
    """The three calls of one optimizer in one function."""

    module: Module
    function: Function | None
    owner: str
    """Source text of the optimizer."""
    scaled: list[Call] = field(default_factory=list)
    unscaled: list[Call] = field(default_factory=list)
    applied: list[Call] = field(default_factory=list)
    makers: list[Call] = field(default_factory=list)
    """The LossScaleOptimizers that it can be."""
    edits: list[Edit] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    """Clipping that must move to the optimizer."""
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, node: ast.AST, message: str, hint: str) -> None:
        """Add a reason why the loop is not changed."""
        self.refusals.append(Refusal(span=self.module.span(node), message=message, hint=hint))


def texts_around(node: ast.AST, module: Module) -> list[str]:
    """Return the conditions around a node within its function, as texts."""
    return [branch.text for branch in branches(node, module, callers=False)]
