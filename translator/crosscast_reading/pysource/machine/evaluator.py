"""Python's rules for expressions, over the values of any domain.

A domain says what values are: it derives from `Evaluator`, which knows in what order the parts of
an expression are computed, which of them are, and what becomes of their values.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from crosscast_reading.pysource.syntax.truth import is_combination, of_combination
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.budget import NoValueError

Place = TypeVar("Place")
"""Where an expression stands, as a domain needs to know it."""
_LONGEST_SHOWN = 2000


class Evaluator(ABC, Generic[Place]):
    """Computes expressions; a value that is not known is a value of the domain, or an exception."""

    has_effects: ClassVar[bool] = False
    """Whether computing an expression may change something: then a part is computed only if a run
    would surely compute it."""

    def value(self, node: ast.expr, place: Place) -> Any:
        """Return the value of an expression."""
        handler = HANDLERS.get(node.__class__)
        return self.unknown(node, place) if handler is None else handler(self, node, place)

    def truth(self, node: ast.expr, place: Place) -> bool | None:
        """Return whether a condition is met; None if that is not known."""
        if is_combination(node) and not self.has_effects:
            return of_combination(node, lambda part: self.truth(part, place))
        return self.truth_of(self.value(node, place))

    # ---- what a domain says

    @abstractmethod
    def unknown(self, node: ast.AST, place: Place, reason: str = "") -> Any:
        """Return, or raise, what stands for a value that is not known."""

    @abstractmethod
    def truth_of(self, value: Any) -> bool | None:
        """Return whether a value counts as true; None if that is not known."""

    @abstractmethod
    def applied(
        self, node: ast.AST, values: Sequence[Any], compute: Callable[..., object], place: Place
    ) -> Any:
        """Return the result of an operation on plain values, for values of the domain."""

    @abstractmethod
    def name(self, node: ast.Name, place: Place) -> Any:
        """Return the value of a name."""

    @abstractmethod
    def attribute(self, node: ast.Attribute, place: Place) -> Any:
        """Return the value of an attribute."""

    @abstractmethod
    def subscript(self, node: ast.Subscript, place: Place) -> Any:
        """Return the value of an entry."""

    @abstractmethod
    def call(self, node: ast.Call, place: Place) -> Any:
        """Return the value of a call."""

    def lifted(self, content: object) -> Any:
        """Return a plain value, or a container of parts, as one of the domain."""
        return content

    def part(self, value: Any) -> Any:
        """Return a value as it is held by a list, tuple, set or dictionary."""
        return value

    def items(self, value: Any, node: ast.expr, place: Place) -> Sequence[Any] | None:
        """Return the items of a value; None if they are not known.

        Args:
            value: of the expression.
            node: the expression.
            place: of it.
        """
        return list(value) if isinstance(value, list | tuple | dict | str) else None

    def entries(self, value: Any) -> Mapping[Any, Any] | None:
        """Return a dictionary that another one takes over; None if it is not known."""
        return value if isinstance(value, dict) else None

    def is_key(self, part: Any) -> bool:
        """Whether something may be the key of a dictionary."""
        return isinstance(part, str | int | float | None)

    def undecided(self, node: ast.BoolOp, values: Sequence[Any], place: Place) -> Any:
        """Return the value of `and` or `or`; of the first of the values no truth is known."""
        decisive = isinstance(node.op, ast.Or)

        def first(*parts: object) -> object:
            return next((part for part in parts if bool(part) is decisive), parts[-1])

        return self.applied(node, values, first, place)

    def either(self, node: ast.IfExp, place: Place) -> Any:
        """Return the value of `a if test else b` where the test is not known."""
        return self.unknown(node, place)

    def comprehension(self, node: Comprehension, place: Place) -> Any:
        """Return the value of a comprehension."""
        return self.unknown(node, place)

    def function(self, node: ast.Lambda, place: Place) -> Any:
        """Return the value of a `lambda`."""
        return self.unknown(node, place)

    def named(self, node: ast.NamedExpr, place: Place) -> Any:
        """Return the value of `name := value`."""
        return self.value(node.value, place)

    # ---- what is the same in every domain

    def constant(self, node: ast.Constant, place: Place) -> Any:
        """Return the value of a literal."""
        return self.lifted(node.value)

    def binary(self, node: ast.BinOp, place: Place) -> Any:
        """Return the value of `left op right`."""
        kind = type(node.op)
        values = [self.value(node.left, place), self.value(node.right, place)]
        return self.applied(node, values, lambda a, b: arithmetic.binary(kind, a, b), place)

    def unary(self, node: ast.UnaryOp, place: Place) -> Any:
        """Return the value of `op operand`."""
        kind = type(node.op)
        if kind is ast.Not:
            answer = self.truth(node.operand, place)
            return self.unknown(node, place) if answer is None else self.lifted(not answer)
        value = self.value(node.operand, place)
        return self.applied(node, [value], lambda a: arithmetic.unary(kind, a), place)

    def comparison(self, node: ast.Compare, place: Place) -> Any:
        """Return the value of a comparison, of a chain up to the first pair that is false."""
        left = self.value(node.left, place)
        is_sure = True
        for op, side in zip(node.ops, node.comparators, strict=True):
            right = self.value(side, place)
            value = self.compared(node, op, left, right, place)
            if side is node.comparators[-1] and is_sure:
                return value
            answer = self.truth_of(value)
            if answer is False:
                return value
            if answer is None:
                if self.has_effects:
                    break
                is_sure = False
            left = right
        return self.unknown(node, place)

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any, place: Place
    ) -> Any:
        """Return the value of `left op right`."""
        kind = type(op)
        return self.applied(node, [left, right], lambda a, b: arithmetic.compare(kind, a, b), place)

    def boolean(self, node: ast.BoolOp, place: Place) -> Any:
        """Return the value of `and` or `or`: that of the part which decides, else of the last."""
        decisive = isinstance(node.op, ast.Or)
        last = node.values[-1]
        open_: list[Any] = []
        for part in node.values:
            value = self.value(part, place)
            answer = self.truth_of(value)
            if answer is (not decisive) and part is not last:
                continue
            open_.append(value)
            if answer is decisive:
                break
            if answer is None and part is not last and self.has_effects:
                return self.unknown(node, place)
        return open_[0] if len(open_) == 1 else self.undecided(node, open_, place)

    def conditional(self, node: ast.IfExp, place: Place) -> Any:
        """Return the value of `body if test else orelse`."""
        answer = self.truth(node.test, place)
        if answer is None:
            return self.either(node, place)
        return self.value(node.body if answer else node.orelse, place)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set, place: Place) -> Any:
        """Return the value of a list, tuple or set."""
        parts: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                items = self.items(self.value(element.value, place), element.value, place)
                if items is None:
                    return self.unknown(node, place, "it holds parts that are not known")
                parts.extend(items)
            else:
                parts.append(self.part(self.value(element, place)))
        try:
            return self.lifted(_SEQUENCES[type(node)](parts))
        except TypeError:
            return self.unknown(node, place, "it holds parts that are not known")

    def dictionary(self, node: ast.Dict, place: Place) -> Any:
        """Return the value of a dictionary."""
        content: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                entries = self.entries(self.value(value, place))
                if entries is None:
                    return self.unknown(node, place, "it holds parts that are not known")
                content.update(entries)
                continue
            word = self.part(self.value(key, place))
            if not self.is_key(word):
                return self.unknown(node, place, "it has a key that is not known")
            content[word] = self.part(self.value(value, place))
        return self.lifted(content)

    def formatted(self, node: ast.JoinedStr, place: Place) -> Any:
        """Return the value of an f-string without formats."""
        values: list[Any] = []
        for piece in node.values:
            inner = piece
            if isinstance(piece, ast.FormattedValue):
                if piece.format_spec is not None or piece.conversion not in (-1, 115):
                    return self.unknown(node, place, "it is formatted")
                inner = piece.value
            values.append(self.value(inner, place))
        return self.applied(node, values, lambda *parts: "".join(map(_shown, parts)), place)


Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_SEQUENCES: Mapping[type[ast.expr], Callable[[list[Any]], Any]] = {
    ast.List: list,
    ast.Tuple: tuple,
    ast.Set: set,
}


def _shown(part: object) -> str:
    if not isinstance(part, str | int | float | None) or len(text := str(part)) > _LONGEST_SHOWN:
        raise NoValueError
    return text


HANDLERS: Mapping[type[ast.AST], Callable[[Evaluator[Any], Any, Any], Any]] = {
    ast.Constant: lambda domain, node, place: domain.constant(node, place),
    ast.Name: lambda domain, node, place: domain.name(node, place),
    ast.Attribute: lambda domain, node, place: domain.attribute(node, place),
    ast.Subscript: lambda domain, node, place: domain.subscript(node, place),
    ast.Call: lambda domain, node, place: domain.call(node, place),
    ast.BinOp: lambda domain, node, place: domain.binary(node, place),
    ast.UnaryOp: lambda domain, node, place: domain.unary(node, place),
    ast.Compare: lambda domain, node, place: domain.comparison(node, place),
    ast.BoolOp: lambda domain, node, place: domain.boolean(node, place),
    ast.IfExp: lambda domain, node, place: domain.conditional(node, place),
    **dict.fromkeys(
        (ast.List, ast.Tuple, ast.Set), lambda domain, node, place: domain.sequence(node, place)
    ),
    ast.Dict: lambda domain, node, place: domain.dictionary(node, place),
    ast.JoinedStr: lambda domain, node, place: domain.formatted(node, place),
    ast.NamedExpr: lambda domain, node, place: domain.named(node, place),
    ast.Await: lambda domain, node, place: domain.value(node.value, place),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp),
        lambda domain, node, place: domain.comprehension(node, place),
    ),
    ast.Lambda: lambda domain, node, place: domain.function(node, place),
}
