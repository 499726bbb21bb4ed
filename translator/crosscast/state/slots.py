"""The moments of optimizers, by their names in checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping

_Wanted = Callable[[int], tuple[str, ...]]


def _fixed_slots(*slots: str) -> _Wanted:
    return lambda dimensions: slots


def _factored(dimensions: int) -> tuple[str, ...]:
    return ("row_var", "col_var") if dimensions > 1 else ("variance",)


FAMILIES: Mapping[frozenset[str], _Wanted] = {
    frozenset(): _fixed_slots(),
    frozenset({"momentum_buffer"}): _fixed_slots("momentum_buffer"),
    frozenset({"exp_avg", "exp_avg_sq"}): _fixed_slots("exp_avg", "exp_avg_sq"),
    frozenset({"exp_avg"}): _fixed_slots("exp_avg"),
    frozenset({"row_var", "col_var", "variance"}): _factored,
    frozenset({"row_var", "col_var"}): _factored,
    frozenset({"variance"}): _factored,
}
"""Sets of moments, and those of a weight with a given number of dimensions."""


def slot_shape(slot: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a moment for a weight's shape."""
    if slot == "row_var" and len(shape) > 1:
        return (*shape[:-1], 1)
    if slot == "col_var" and len(shape) > 1:
        return (*shape[:-2], 1, shape[-1])
    return shape


FACTORED = {"row_var": "col_var", "col_var": "row_var"}
"""Factored moments, and what becomes of them where a weight swaps its last two axes."""
