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
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation import choices, name_values
from crosscast_reading.pysource.evaluation.calls import of_call
from crosscast_reading.pysource.machine.evaluator import Evaluator
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.combine import plain, spread
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

MAX_ENTRIES = 2000
_WORDS: dict[type[ast.AST], str] = {
    ast.Lambda: "a function without a name",
    ast.ListComp: "a list that is made when the program runs",
    ast.DictComp: "a dictionary that is made when the program runs",
}


def value_of_node(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression without using the cache."""
    return _VALUES.computed(node, module)


def circular(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression that depends on itself."""
    return Unknown(module.text(node)[:200], "it depends on itself")


class _Values(Evaluator["Module"]):
    """The domain of values that hold in every run; those of parts are asked of the cache."""

    def value(self, node: ast.expr, place: Module) -> Value:
        return evaluate(node, place)

    def computed(self, node: ast.expr, place: Module) -> Value:
        """Return the value of an expression without using the cache."""
        value: Value = super().value(node, place)
        return value

    def truth(self, node: ast.expr, place: Module) -> bool | None:
        return choices.certain_truth(node, place)

    def truth_of(self, value: Value) -> bool | None:
        if isinstance(value, Known) and not isinstance(value.value, Symbol | Unknown | Choice):
            return bool(value.value)
        return None

    def unknown(self, node: ast.AST, place: Module, reason: str = "") -> Unknown:
        what = reason or _WORDS.get(type(node), "an expression that only a run can tell")
        return Unknown(place.text(node)[:200], what)

    def applied(
        self,
        node: ast.AST,
        values: Sequence[Value],
        compute: Callable[..., object],
        place: Module,
    ) -> Value:
        return spread(place.text(node), values, compute)

    def lifted(self, content: object) -> Known:
        return Known(content)

    def part(self, value: Value) -> object:
        return plain(value)

    def items(self, value: Value, node: ast.expr, place: Module) -> Sequence[object] | None:
        match value:
            case Known(value=list() | tuple() as items):
                return items
        return None

    def entries(self, value: Value) -> Mapping[object, object] | None:
        match value:
            case Known(value=dict() as entries):
                return entries
        return None

    def is_key(self, part: object) -> bool:
        return isinstance(part, str | int | float | Symbol | None)

    def name(self, node: ast.Name, place: Module) -> Value:
        return name_values.of_name(node, place)

    def attribute(self, node: ast.Attribute, place: Module) -> Value:
        return name_values.of_attribute(node, place)

    def subscript(self, node: ast.Subscript, place: Module) -> Value:
        return name_values.of_subscript(node, place)

    def call(self, node: ast.Call, place: Module) -> Value:
        return of_call(node, place)

    def unary(self, node: ast.UnaryOp, place: Module) -> Value:
        kind = type(node.op)
        value = evaluate(node.operand, place)
        if kind is ast.Not and isinstance(value, Symbol | Instance):
            return Known(False, "derived")
        return self.applied(node, [value], lambda a: arithmetic.unary(kind, a), place)

    def comparison(self, node: ast.Compare, place: Module) -> Value:
        if len(node.ops) == 1:
            value: Value = super().comparison(node, place)
            return value
        values = [evaluate(side, place) for side in (node.left, *node.comparators)]

        def all_of(*parts: object) -> bool:
            pairs = zip(node.ops, parts, parts[1:], strict=False)
            return all(arithmetic.compare(type(op), left, right) for op, left, right in pairs)

        return self.applied(node, values, all_of, place)

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Value, right: Value, place: Module
    ) -> Value:
        match op, left, right:
            case ast.Is() | ast.IsNot(), Symbol() | Instance(), Known(value=None):
                return Known(isinstance(op, ast.IsNot), "derived")
        value: Value = super().compared(node, op, left, right, place)
        return value

    def either(self, node: ast.IfExp, place: Module) -> Value:
        body, orelse = evaluate(node.body, place), evaluate(node.orelse, place)
        return choices.choice([(node.test, True, body), (node.test, False, orelse)], place)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set, place: Module) -> Value:
        if len(node.elts) > MAX_ENTRIES:
            return self.unknown(node, place, "it is too long")
        value: Value = super().sequence(node, place)
        return value

    def dictionary(self, node: ast.Dict, place: Module) -> Value:
        if len(node.keys) > MAX_ENTRIES:
            return self.unknown(node, place, "it is too long")
        value: Value = super().dictionary(node, place)
        return value


_VALUES = _Values()
