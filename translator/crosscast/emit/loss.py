"""What templates see of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.emit.render import py_literal
from crosscast.plan.operations import LossUnit, Normalize, Plan
from crosscast.recipe.document import CrossEntropy, CustomLoss

WIDTH = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class LossView:
    """The loss: what the recipe says of it, and how the script gets at its parts."""

    kind: Literal["cross_entropy", "binary_cross_entropy", "mse", "custom"]
    target: str | None
    """The array that it takes; None if a function of the user's takes what it needs."""
    unit: LossUnit
    smoothing: float
    weights: tuple[float, ...]
    """Factors of the classes; empty for none."""
    function: str | None
    """The user's function, `package.module:function`; None for a loss of the framework."""

    @property
    def key(self) -> Literal['"labels"', "TARGET"]:
        """The name of the array, as code."""
        return '"labels"' if self.target == "labels" else "TARGET"

    @property
    def weighs(self) -> bool:
        """Whether the cross-entropy is not the plain one."""
        return bool(self.smoothing or self.weights)

    @property
    def target_constant(self) -> tuple[str, ...]:
        """The constant with the name of the array, as lines."""
        named = self.target not in (None, "labels")
        return (f"TARGET = {py_literal(self.target)}",) if named else ()

    @property
    def constants(self) -> tuple[str, ...]:
        """The constants of the formula, as lines."""
        if self.smoothing:
            return (f"LABEL_SMOOTHING = {py_literal(self.smoothing)}",)
        if not self.weights:
            return ()
        line = f"CLASS_WEIGHTS = {py_literal(self.weights)}"
        if len(line) <= WIDTH:
            return (line,)
        return ("CLASS_WEIGHTS = (", *(f"    {py_literal(each)}," for each in self.weights), ")")

    @property
    def doc(self) -> str:
        """What the number of a micro-batch is, in words."""
        return _REDUCED[self.unit].format(_NAMES[self.kind])

    def rows(self, batch: str) -> str:
        """Return the code of the number of rows of a dict of arrays."""
        return row_count(batch, self.key if self.target else "")


def row_count(batch: str, key: str) -> str:
    """Return the code of the number of rows of a dict of arrays.

    Args:
        batch: The dict, as code.
        key: The name of one of the arrays, as code; empty if none is known.
    """
    return f"len({batch}[{key}])" if key else f"len(next(iter({batch}.values())))"


_NAMES = {
    "cross_entropy": "cross-entropy",
    "binary_cross_entropy": "binary cross-entropy",
    "mse": "squared error",
    "custom": "loss",
}
_REDUCED = {
    "sample": "Summed {}",
    "microbatch": "Mean {}",
    "token": "Summed {} of the labels that are not -100",
}


def loss_view(plan: Plan, frame: Frame, backend: str) -> LossView:
    """Return the view of a loss in a backend."""
    loss = frame.loss
    classes = loss if isinstance(loss, CrossEntropy) else None
    return LossView(
        kind=loss.kind,
        target=loss.target,
        unit=plan.get(Normalize).unit,
        smoothing=classes.label_smoothing if classes else 0.0,
        weights=classes.class_weights if classes else (),
        function=loss.function[backend] if isinstance(loss, CustomLoss) else None,
    )
