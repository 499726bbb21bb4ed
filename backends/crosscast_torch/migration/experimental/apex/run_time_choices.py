"""The level and the loss scale of `amp.initialize`, also if they are known only at run time."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_migrate.conditions import as_atom, as_bool, is_plain, is_pure, negated
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_torch.migration.experimental.apex.scaler_creation import Start

_LEVELS = ("O0", "O1", "O2")
_FORMAT = re.compile(r"O(%[ids]|\{(0|:d)?\})")
_DYNAMIC = (None, "dynamic")


def choose_level(start: Start, node: ast.expr | None, stops: Stops) -> None:
    """Store the level, which is a literal, a choice of O0 and another, or known at run time."""
    module = start.module
    if node is None:
        return
    if isinstance(node, ast.Constant):
        start.level = str(node.value)
        if start.level not in _LEVELS:
            stops.add(
                module,
                node,
                f"opt_level {start.level}: all weights and computations are half; torch.amp has "
                "no such level",
                "choose O1, or call model.half() and remove amp",
            )
        return
    if isinstance(node, ast.IfExp) and (switch := _switch(node, module)):
        start.level, start.switch = switch
        return
    number = _number(node)
    if number is not None and is_plain(number):
        start.number = module.text(number)
    elif not is_plain(node) and not _begins_with_letter(node):
        message = f"the level is computed: {module.text(node)}"
        stops.add(module, node, message, "choose a fixed level, or set it with a flag")
        return
    start.level, start.by_flag = as_atom(node, module), True
    flag = flag_read(number if number is not None else node, module)
    worst = (3, "3") if number is not None else ("O3",)
    start.refuses = flag is None or not flag.choices or any(w in flag.choices for w in worst)


def _number(node: ast.expr) -> ast.expr | None:
    """Return `level` of `"O%i" % level`, `"O{}".format(level)`, `f"O{level:d}"`."""
    match node:
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=right):
            if isinstance(right, ast.Tuple) and len(right.elts) == 1:
                right = right.elts[0]
            whole = _FORMAT.fullmatch(text)
            return right if whole and whole.group(1) != "%s" else None
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"),
            args=[ast.expr() as only],
            keywords=[],
        ):
            return only if text == "O{:d}" else None
        case ast.JoinedStr(
            values=[
                ast.Constant(value="O"),
                ast.FormattedValue(
                    value=value, format_spec=ast.JoinedStr(values=[ast.Constant(value="d")])
                ),
            ]
        ):
            return value
    return None


def _begins_with_letter(node: ast.expr) -> bool:
    """Whether an expression is `f"O{level}"` or `"O%s" % level`."""
    match node:
        case ast.BinOp(left=ast.Constant(value="O%s"), op=ast.Mod(), right=right):
            return is_plain(right)
        case ast.JoinedStr(
            values=[
                ast.Constant(value="O"),
                ast.FormattedValue(value=value, conversion=-1, format_spec=None),
            ]
        ):
            return is_plain(value)
    return False


def _switch(node: ast.IfExp, module: Module) -> tuple[str, str] | None:
    """Return level and condition of `"O1" if half else "O0"`; None for other expressions."""
    arms = [arm.value if isinstance(arm, ast.Constant) else "" for arm in (node.body, node.orelse)]
    if not all(arm in _LEVELS for arm in arms) or not is_plain(node.test):
        return None
    first, second = arms
    if second == "O0" and first != "O0":
        return str(first), as_bool(node.test, module)
    if first == "O0" and second != "O0":
        return str(second), f"not {module.text(node.test)}"
    return None


def choose_scale(start: Start, node: ast.expr | None, stops: Stops) -> None:
    """Store the loss scale: dynamic, a number, or either, as decided at run time."""
    module = start.module
    if node is None or (isinstance(node, ast.Constant) and node.value in _DYNAMIC):
        return
    match node:
        case ast.IfExp() if is_pure(node) and _choice(start, node):
            return
        case ast.BoolOp(op=ast.Or(), values=[number, ast.Constant(value="dynamic")]) if is_plain(
            number
        ):
            start.scale = f"float({module.text(number)})"
            start.dynamic = f"not {module.text(number)}"
            return
    value: float | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        try:
            value = float(node.value)
        except ValueError:
            value = None
    if value is not None and value > 0:
        start.scale = repr(value)
        return
    may_decide = is_pure(node) and not isinstance(node, ast.Constant)
    if may_decide and not any(_may_be_zero(part, module) for part in _values(node)):
        text = as_atom(node, module)
        start.scale = f"float({module.text(node)})"
        start.dynamic = f'{text} in (None, "dynamic")'
        return
    stops.add(
        module,
        node,
        f"whether the loss scale {module.text(node)} is constant or dynamic is known "
        "only at run time",
        "write loss_scale='dynamic', or a number",
    )


def _choice(start: Start, node: ast.IfExp) -> bool:
    """Store the scale of `"dynamic" if test else number`; return whether it has this form."""
    module = start.module
    for dynamic, other, test in (
        (node.body, node.orelse, module.text(node.test)),
        (node.orelse, node.body, negated(node.test, module)),
    ):
        if not (isinstance(dynamic, ast.Constant) and dynamic.value in _DYNAMIC):
            continue
        match other:
            case ast.Constant(value=int() | float() as value) if value > 0:
                start.scale, start.dynamic = repr(float(value)), test
                return True
        if is_plain(other):
            start.scale, start.dynamic = f"float({module.text(other)})", test
            return True
    return False


def _values(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that an expression of `or` may evaluate to at the end."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return node.values[-1:]
    if isinstance(node, ast.IfExp):
        return [*_values(node.body), *_values(node.orelse)]
    return [node]


def _may_be_zero(node: ast.expr, module: Module) -> bool:
    """Whether a flag defaults to 0, which has a different meaning in every script."""
    flag = flag_read(node, module)
    value = evaluate(node, module)
    known = value.value if isinstance(value, Known) else None
    defaults = [known, flag.default.value if flag and isinstance(flag.default, Known) else None]
    return any(isinstance(default, int | float) and default <= 0 for default in defaults)
