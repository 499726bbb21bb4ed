"""Values of expressions, found without running anything.

`evaluate` returns one of the five values of `values/value.py`. What its parts mean here:

- `Known.origin`: literal (also arithmetic on literals alone), constant (a named one), derived
  (arithmetic on others), flag, config (an entry of a container that the program writes out),
  function_argument (the only call gives it). `Known.flag` is the flag or entry as it is written.
- `Choice.options`: in the order of the text, but first what holds with the defaults of the flags.
  Conditions that constants or the launch command decide are no choice.
- `Unknown.default`: of a parameter, of an environment variable, or computed from such.

`truth` tells what a condition is with the defaults of flags.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation import choices, name_values
from crosscast_reading.pysource.evaluation.calls import of_call
from crosscast_reading.pysource.evaluation.conditions import truth
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.pysource.values.combine import plain, spread
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

MAX_ENTRIES = 2000


def value_of_node(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression without using the cache."""
    handler = _HANDLERS.get(node.__class__)
    return handler(node, module) if handler is not None else _other(node, module)


def circular(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression that depends on itself."""
    return Unknown(module.text(node)[:200], "it depends on itself")


def _name(node: ast.Name, module: Module) -> Value:
    return name_values.of_name(node, module)


def _attribute(node: ast.Attribute, module: Module) -> Value:
    return name_values.of_attribute(node, module)


def _subscript(node: ast.Subscript, module: Module) -> Value:
    return name_values.of_subscript(node, module)


def _binary(node: ast.BinOp, module: Module) -> Value:
    kind = type(node.op)
    return spread(
        module.text(node),
        [evaluate(node.left, module), evaluate(node.right, module)],
        lambda a, b: arithmetic.binary(kind, a, b),
    )


def _unary(node: ast.UnaryOp, module: Module) -> Value:
    kind = type(node.op)
    value = evaluate(node.operand, module)
    if kind is ast.Not and isinstance(value, Symbol | Instance):
        return Known(False, "derived")
    return spread(module.text(node), [value], lambda a: arithmetic.unary(kind, a))


def _compare(node: ast.Compare, module: Module) -> Value:
    values = [evaluate(side, module) for side in (node.left, *node.comparators)]
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
        left, right = values
        if isinstance(left, Symbol | Instance) and isinstance(right, Known) and right.value is None:
            return Known(isinstance(node.ops[0], ast.IsNot), "derived")

    def all_of(*parts: object) -> object:
        for place, op in enumerate(node.ops):
            if not arithmetic.compare(type(op), parts[place], parts[place + 1]):
                return False
        return True

    return spread(module.text(node), values, all_of)


def _boolean(node: ast.BoolOp, module: Module) -> Value:
    decisive = isinstance(node.op, ast.Or)
    values: list[Value] = []
    for part in node.values:
        value = evaluate(part, module)
        if isinstance(value, Known) and not isinstance(value.value, Symbol | Unknown | Choice):
            if bool(value.value) == decisive:
                if not values:
                    return value
                values.append(value)
                break
            if part is not node.values[-1]:
                continue
        values.append(value)
    if len(values) == 1:
        return values[0]

    def first(*parts: object) -> object:
        for part in parts:
            if bool(part) == decisive:
                return part
        return parts[-1]

    return spread(module.text(node), values, first)


def _conditional(node: ast.IfExp, module: Module) -> Value:
    decided = choices.certain_truth(node.test, module)
    if decided is not None:
        return evaluate(node.body if decided else node.orelse, module)
    return choices.choice(
        [
            (node.test, True, evaluate(node.body, module)),
            (node.test, False, evaluate(node.orelse, module)),
        ],
        module,
    )


def _sequence(node: ast.List | ast.Tuple | ast.Set, module: Module) -> Value:
    if len(node.elts) > MAX_ENTRIES:
        return Unknown(module.text(node)[:200], "it is too long")
    found: list[object] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(element.value, module)
            if not isinstance(inner, Known) or not isinstance(inner.value, list | tuple):
                return Unknown(module.text(node)[:200], "it holds parts that are not known")
            found.extend(inner.value)
        else:
            found.append(plain(evaluate(element, module)))
    if isinstance(node, ast.List):
        return Known(found)
    if isinstance(node, ast.Tuple):
        return Known(tuple(found))
    try:
        return Known(set(found))
    except TypeError:
        return Unknown(module.text(node)[:200], "it holds parts that are not known")


def _dictionary(node: ast.Dict, module: Module) -> Value:
    if len(node.keys) > MAX_ENTRIES:
        return Unknown(module.text(node)[:200], "it is too long")
    found: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = evaluate(value, module)
            if not isinstance(inner, Known) or not isinstance(inner.value, dict):
                return Unknown(module.text(node)[:200], "it holds parts that are not known")
            found.update(inner.value)
            continue
        name = plain(evaluate(key, module))
        if not isinstance(name, str | int | float | Symbol | None):
            return Unknown(module.text(node)[:200], "it has a key that is not known")
        found[name] = plain(evaluate(value, module))
    return Known(found)


def _text(node: ast.JoinedStr, module: Module) -> Value:
    values: list[Value] = []
    for piece in node.values:
        if isinstance(piece, ast.FormattedValue):
            if piece.format_spec is not None or piece.conversion not in (-1, 115):
                return Unknown(module.text(node)[:200], "it is formatted")
            values.append(evaluate(piece.value, module))
        else:
            values.append(evaluate(piece, module))
    return spread(module.text(node), values, lambda *parts: "".join(map(_shown, parts)))


def _shown(part: object) -> str:
    if not isinstance(part, str | int | float | None) or len(text := str(part)) > 2000:
        raise NoValueError
    return text


def _inner(node: ast.NamedExpr | ast.Await, module: Module) -> Value:
    return evaluate(node.value, module)


_WORDS: dict[type[ast.AST], str] = {
    ast.Lambda: "a function without a name",
    ast.ListComp: "a list that is made when the program runs",
    ast.DictComp: "a dictionary that is made when the program runs",
}


def _other(node: ast.expr, module: Module) -> Value:
    what = _WORDS.get(type(node), "an expression that only a run can tell")
    return Unknown(module.text(node)[:200], what)


_HANDLERS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dictionary,
    ast.JoinedStr: _text,
    ast.NamedExpr: _inner,
    ast.Await: _inner,
    ast.Call: of_call,
}

__all__ = ["evaluate", "truth"]
