"""Values that depend on conditions: the default choice, and what is certain."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.conditions import truth
from crosscast_reading.pysource.flags import reading
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.combine import same
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

Option = tuple[ast.expr | None, bool, Value]
"""Condition (None: there is none), whether it must hold, and the value."""


def choice(options: Sequence[Option], module: Module, places: Sequence[str] = ()) -> Value:
    """Return the value of options; first what holds with the defaults of the flags.

    Args:
        options: condition, whether it must hold, and value.
        module: whose text the conditions are.
        places: for each option where it is set; the words for one without a condition.
    """
    if len(options) == 1 or same([v for _, _, v in options]):
        return options[0][2]
    conditions = [(c, h) for c, h, _ in options if c is not None]
    flat: list[tuple[bool, str, Value]] = []
    for number, (condition, holds, value) in enumerate(options):
        place = places[number] if number < len(places) else ""
        if condition is None:
            words = _otherwise(conditions, module) or place
            likely = all(_truth(c, module) is (not h) for c, h in conditions) and bool(conditions)
        else:
            words = _words(condition, holds, module)
            likely = _truth(condition, module) is holds
        if isinstance(value, Choice):
            flat += [
                (likely, " and ".join(p for p in (words, w) if p), v) for w, v in value.options
            ]
        else:
            flat.append((likely, words, value))
    flat.sort(key=lambda option: not option[0])
    decided = flat[0][0] and not any(isinstance(v, Choice) and not v.decided for _, _, v in options)
    return Choice(tuple((words, value) for _, words, value in flat[:32]), decided)


def _otherwise(conditions: Sequence[tuple[ast.expr, bool]], module: Module) -> str:
    return " and ".join(dict.fromkeys(_words(c, not h, module) for c, h in conditions))


def _words(condition: ast.expr, holds: bool, module: Module) -> str:
    owner = module.owner_of(condition)
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return _words(condition.operand, not holds, owner)
    text = owner.text(condition)[:200]
    if holds:
        return text
    plain = isinstance(condition, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"not {text}" if plain else f"not ({text})"


def _truth(condition: ast.expr, module: Module) -> bool | None:
    return truth(condition, module.owner_of(condition))


def certain_truth(condition: ast.expr, module: Module) -> bool | None:
    """Return the truth of a condition by constants and the launch command alone."""
    value = evaluate(condition, module)
    if not isinstance(value, Known) or isinstance(value.value, Symbol | Unknown | Choice):
        return None
    for part in walk(condition):
        if isinstance(part, ast.Attribute | ast.Name | ast.Subscript):
            part_value = evaluate(part, module)
            if (
                isinstance(part_value, Known)
                and part_value.flag
                and not reading.is_given(part_value.flag, module.program)
            ):
                return None
    return bool(value.value)
