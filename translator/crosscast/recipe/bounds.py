"""What a recipe's reader is told about the limits of numbers."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from crosscast.recipe.section import BELOW_ONE, LARGEST_RATE, ROOT_OF_SMALLEST, SMALLEST

_LONGEST = 10
"""Characters of a limit that is shown exactly."""


def bound_text(bound: float, *, lower: bool) -> str:
    """Return a limit with few digits, rounded so that what is shown is allowed itself."""
    exact = f"{bound:.12g}"
    if len(exact) <= _LONGEST:
        return exact
    digits = 8 if bound == BELOW_ONE else 3
    context = Context(prec=digits, rounding=ROUND_CEILING if lower else ROUND_FLOOR)
    return f"{float(context.create_decimal(bound)):.{digits}g}"


def bound_sentence(bound: float, *, lower: bool) -> str:
    """Return the rule for a number, in words; the limits of float32 as the rules they stand for."""
    shown = bound_text(bound, lower=lower)
    if lower and 0 < bound <= ROOT_OF_SMALLEST:
        return f"must be above 0 (at least {shown})"
    if not lower and bound == BELOW_ONE:
        return f"must be below 1 (at most {shown})"
    return f"must be {'greater' if lower else 'less'} than or equal to {shown}"


def bound_hint(value: float, bound: float, field: str, *, lower: bool) -> str:
    """Return why a limit is not 0 or 1, or why there is one; empty for all other limits.

    Args:
        value: what the recipe has.
        bound: the limit.
        field: path of the field.
        lower: whether it is the smallest or the largest number.
    """
    if lower and value >= 0 and bound == SMALLEST:
        if field == "optimizer.eps":
            return "smaller numbers are 0 in float32: weights without a gradient would become nan"
        return "smaller numbers are 0 in float32"
    if lower and value >= 0 and 0 < bound <= ROOT_OF_SMALLEST:
        return "squares and products of smaller numbers are 0 in float32"
    if not lower and value <= 1 and bound == BELOW_ONE:
        return "larger numbers are rounded to 1 in float32"
    if not lower and bound >= LARGEST_RATE:
        return "what is computed with larger numbers does not fit into float32"
    return ""
