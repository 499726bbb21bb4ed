"""Compare what was read with a labelled number: a value, a formula, or the name of a flag."""

from __future__ import annotations

import ast
import math
import operator
import re
from typing import Any

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
GENERIC = frozenset(
    {
        *("args", "argument", "config", "flag", "flags", "schedule", "rule", "noam", "callback"),
        *("piecewise", "default", "external", "required", "field", "dataclass", "element", "first"),
        *("self", "cfg", "params", "parameter", "hparams", "opt", "when", "in", "the", "file"),
        *("from", "by", "scaled", "times", "base", "function", "and", "of", "Trainer", "argparse"),
        *("etc", "referenced", "ramped", "step", "batch", "with", "unspecified"),
    }
)


def number(value: Any) -> float | None:
    """Return the number that a label or a reading means; `2**16` is one, a flag is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return _value(ast.parse(value.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
            return None
    return None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError


def same(left: float, other: float) -> bool:
    """Whether two numbers are equal for the score."""
    return math.isclose(left, other, rel_tol=1e-6, abs_tol=1e-300)


def names(text: str) -> set[str]:
    """Return the last components of the names in a text, without words that name nothing."""
    found = set()
    for match in re.finditer(r"[A-Za-z_][\w.]*(?:\[['\"]\w+['\"]\])*", text):
        parts = re.findall(r"\w+", match.group())
        if parts and parts[-1] not in GENERIC and not parts[-1].isdigit():
            found.add(parts[-1].lower())
    return found


def in_text(text: str) -> list[float]:
    """Return the numbers that a text mentions."""
    return [float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])", text)]


def judge(label: Any, value: Any, expression: str, default: Any = None) -> str:
    """Return `right`, `wrong`, `missed` (no value), or `` where it cannot be scored."""
    wanted, ours = number(label), number(value)
    if wanted is not None:
        if ours is not None:
            return "right" if same(wanted, ours) else "wrong"
        return "missed"
    text = str(label)
    mine = names(expression) | (names(value) if isinstance(value, str) else set())
    theirs = names(text)
    if ours is not None:
        known = [n for n in (number(default), *in_text(text)) if n is not None]
        if any(same(ours, n) for n in known):
            return "right"
    if mine & theirs:
        return "right"
    if not theirs and number(default) is None:
        return ""
    if ours is None and not mine:
        return "missed"
    return "wrong"
