"""The machine: it computes expressions, statements and functions of a program in a domain.

Nothing of a source is run. A domain derives from `Machine` and says what names, attributes, calls
and operators mean where plain Python data do not say it; what it does not know ends in `unknown`.
How much is computed is limited by a budget.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from crosscast_reading.pysource.machine.evaluator import HANDLERS, Comprehension
from crosscast_reading.pysource.machine.frames import Closure, Variables
from crosscast_reading.pysource.machine.functions import Array, each
from crosscast_reading.pysource.machine.statements import ReturnError, StatementRunner
from crosscast_reading.pysource.values import arithmetic, builtins
from crosscast_reading.pysource.values.budget import (
    MAX_SIZE,
    NUMBERS,
    Budget,
    NoValueError,
    measure,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_HOLDERS = (list, tuple, dict, set, str)
_FREE = 50
"""Parts of operands that are counted as a step."""


class Machine(StatementRunner):
    """Computes functions of a program."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    # ---- what a domain says

    @abstractmethod
    def exhausted(self, node: ast.AST, module: Module, *, is_deep: bool = False) -> NoReturn:
        """Raise the error of a computation that takes too long, or whose calls are too deep."""

    @abstractmethod
    def is_unknown(self, value: Any) -> bool:
        """Whether a value has no content that operators could be computed with."""

    @abstractmethod
    def uncallable(self, closure: Closure, reason: str) -> NoReturn:
        """Raise the error of a call that its function does not allow, or that is not computed."""

    def missing(self, parameter: ast.arg, closure: Closure, names: dict[str, Any]) -> None:
        """Say what a parameter is that a call gives no value."""

    def no_entry(self, node: ast.Subscript, frame: Variables) -> Any:
        """Return, or raise, what stands for an entry that is not there."""
        return self.unknown(node, frame)

    @abstractmethod
    def entry_of(self, base: Any, node: ast.Subscript, frame: Variables) -> Any:
        """Return an entry of what is neither a list, tuple, dictionary nor text."""

    # ---- expressions

    def value(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of an expression."""
        budget = self.budget
        budget.left -= 1
        if budget.left < 0:
            self.exhausted(node, frame.module)
        handler = HANDLERS.get(node.__class__)
        return self.unknown(node, frame) if handler is None else handler(self, node, frame)

    def statement(self, statement: ast.stmt, frame: Variables) -> None:
        """Run a statement."""
        budget = self.budget
        budget.left -= 1
        if budget.left < 0:
            self.exhausted(statement, frame.module)
        super().statement(statement, frame)

    def applied(
        self, node: ast.AST, values: Sequence[Any], compute: Callable[..., object], place: Variables
    ) -> Any:
        """Return an operation on values; on arrays it is element by element."""
        try:
            self.measure(node, values, place)
            return each(compute, *values)
        except NoValueError:
            return self.unknown(node, place)

    def measure(self, node: ast.AST, values: Sequence[Any], frame: Variables) -> None:
        """Count what an operation on values takes.

        Raises:
            NoValueError: one is not known, or they are too large.
        """
        held = [value for value in values if value.__class__ not in NUMBERS]
        if not any(isinstance(value, _HOLDERS) for value in held):
            if any(map(self.is_unknown, held)):
                raise NoValueError
            return
        parts = MAX_SIZE
        try:
            parts = measure(*values, is_unknown=self.is_unknown)
        finally:
            if not self.budget.spend(parts // _FREE):
                self.exhausted(node, frame.module)

    def combined(
        self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any, frame: Variables
    ) -> Any:
        """Return `left op right`, whatever the parts of lists are that are joined or repeated."""
        kind = type(node.op)

        def compute(a: object, b: object) -> object:
            return arithmetic.binary(kind, a, b)

        if left.__class__ in NUMBERS and right.__class__ in NUMBERS:
            return self.applied(node, [left, right], compute, frame)
        is_list = any(isinstance(side, list | tuple) for side in (left, right))
        is_array = any(isinstance(side, Array) for side in (left, right))
        if not is_list or is_array or kind not in (ast.Add, ast.Mult):
            return self.applied(node, [left, right], compute, frame)
        if self.is_unknown(left) or self.is_unknown(right):
            return self.unknown(node, frame)
        try:
            joined: Any = compute(left, right)
        except NoValueError:
            return self.unknown(node, frame)
        if not self.budget.spend(len(joined) // _FREE):
            self.exhausted(node, frame.module)
        return joined

    def binary(self, node: ast.BinOp, place: Variables) -> Any:
        """Return the value of `left op right`."""
        left = self.value(node.left, place)
        return self.combined(node, left, self.value(node.right, place), place)

    def augmented(self, node: ast.AugAssign, left: Any, right: Any, frame: Variables) -> Any:
        """Return the value that `left op= right` assigns; a list is changed in place."""
        value = self.combined(node, left, right, frame)
        if type(left) is list and type(value) is list:
            left[:] = value
            return left
        return value

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any, place: Variables
    ) -> Any:
        """Return the value of `left op right`."""
        kind = type(op)
        if kind in (ast.Is, ast.IsNot) and (left is None or right is None):
            other = right if left is None else left
            if other is None or not self.is_unknown(other) or self.exists(other):
                return (left is right) is (kind is ast.Is)
        if kind in (ast.Is, ast.IsNot, ast.In, ast.NotIn):
            try:
                if not (kind in (ast.In, ast.NotIn) and isinstance(right, dict)):
                    self.measure(node, [left, right], place)
                elif self.is_unknown(left):
                    raise NoValueError
                return arithmetic.compare(kind, left, right)
            except NoValueError:
                return self.unknown(node, place)
        return super().compared(node, op, left, right, place)

    def exists(self, value: Any) -> bool:
        """Whether a value that is not known is surely not None."""
        return False

    def subscript(self, node: ast.Subscript, place: Variables) -> Any:
        """Return the value of an entry."""
        base = self.stored(node.value, place)
        if not isinstance(base, list | tuple | dict | str):
            return self.entry_of(base, node, place)
        key = self.key(node.slice, place)
        if self.is_unknown(key):
            return self.unknown(node, place)
        try:
            part = arithmetic.entry(base, key)
        except NoValueError:
            return self.no_entry(node, place)
        return Array(part) if isinstance(base, Array) and isinstance(part, list) else part

    def key(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of what stands in brackets; a bound that is not known, if one is not."""
        if not isinstance(node, ast.Slice):
            return self.value(node, frame)
        parts = [
            self.value(part, frame) if part is not None else None
            for part in (node.lower, node.upper, node.step)
        ]
        return next((part for part in parts if self.is_unknown(part)), slice(*parts))

    def comprehension(self, node: Comprehension, place: Variables) -> Any:
        """Return the list, set or dictionary of a comprehension; a generator is a list."""
        parts: list[Any] = []
        element = node.key if isinstance(node, ast.DictComp) else node.elt

        def loop(depth: int, frame: Variables) -> bool:
            if depth == len(node.generators):
                part = self.value(element, frame)
                if isinstance(node, ast.DictComp):
                    part = (part, self.value(node.value, frame))
                parts.append(part)
                return True
            generator = node.generators[depth]
            items = self.items(self.value(generator.iter, frame), generator.iter, frame)
            if items is None:
                return False
            return self.inner_rounds(generator, items, frame, lambda: loop(depth + 1, frame))

        if not loop(0, Variables(place.module, {}, place, is_inner=True)):
            return self.unknown(node, place)
        if not isinstance(node, ast.SetComp | ast.DictComp):
            return parts
        keys = [part[0] for part in parts] if isinstance(node, ast.DictComp) else parts
        if not all(map(self.is_key, keys)):
            return self.unknown(node, place)
        return dict(parts) if isinstance(node, ast.DictComp) else set(parts)

    def inner_rounds(
        self,
        generator: ast.comprehension,
        items: Sequence[Any],
        frame: Variables,
        compute: Callable[[], bool],
    ) -> bool:
        """Compute the rounds of a comprehension; return whether all of them are known."""
        return all(self.inner_round(generator, item, frame, compute) for item in items)

    def inner_round(
        self,
        generator: ast.comprehension,
        item: Any,
        frame: Variables,
        compute: Callable[[], bool],
    ) -> bool:
        """Compute one round of a comprehension; return whether all of it is known."""
        self.assign(generator.target, item, frame)
        for test in generator.ifs:
            answer = self.decided(test, frame)
            if not answer:
                return answer is False
        return compute()

    def function(self, node: ast.Lambda, place: Variables) -> Any:
        """Return the value of a `lambda`."""
        return Closure(node, place.module, place)

    def named(self, node: ast.NamedExpr, place: Variables) -> Any:
        """Return the value of `name := value`, which is assigned."""
        value, outer = self.stored(node.value, place), place
        while outer.is_inner and outer.parent is not None:
            outer = outer.parent
        self.assign(node.target, value, outer)
        return value

    # ---- calls

    def call_method(
        self,
        held: Any,
        name: str,
        arguments: tuple[Sequence[Any], Mapping[str, Any]],
        node: ast.Call,
        frame: Variables,
    ) -> Any:
        """Return the result of a method of a text, list or dictionary, and change it."""
        given, named = arguments
        try:
            if not builtins.is_shallow(name):
                self.measure(node, [held, *given, *named.values()], frame)
            elif isinstance(held, dict):
                self.measure(node, given[:1], frame)
            return builtins.method(held, name, given, named)
        except NoValueError:
            if name in builtins.CHANGES:
                self.lose(held, node, frame)
            return self.unknown(node, frame)

    def lose(self, held: Any, node: ast.AST, frame: Variables) -> None:
        """Note that something was changed to something that is not known."""
        here: Variables | None = frame
        while here is not None:
            for name, value in here.names.items():
                if value is held:
                    here.names[name] = self.blank(node, frame, is_changed=True)
            here = here.parent

    def arguments(self, node: ast.Call, frame: Variables) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call by place and by name."""
        given: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                given += self.unfolded(argument.value, frame)
            else:
                given.append(self.stored(argument, frame))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.unfolded_names(keyword.value, frame))
            else:
                named[keyword.arg] = self.stored(keyword.value, frame)
        return given, named

    def unfolded(self, node: ast.expr, frame: Variables) -> Sequence[Any]:
        """Return the arguments that `*node` stands for, or raise."""
        items = self.items(self.value(node, frame), node, frame)
        if items is None:
            raise NoValueError
        return items

    def unfolded_names(self, node: ast.expr, frame: Variables) -> Mapping[str, Any]:
        """Return the arguments that `**node` stands for, or raise."""
        entries = self.entries(self.value(node, frame))
        if entries is None:
            raise NoValueError
        return entries

    def run_function(
        self, closure: Closure, given: Sequence[Any], named: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a function of the program."""
        module = closure.module
        names = self._bound(closure, (*closure.given, *given), {**closure.named, **(named or {})})
        frame = Variables(module, names, closure.frame)
        with self.budget.call() as is_allowed:
            if not is_allowed:
                self.exhausted(closure.node, module, is_deep=True)
            try:
                return self._result(closure, frame)
            except RecursionError:
                self.exhausted(closure.node, module, is_deep=True)

    def _result(self, closure: Closure, frame: Variables) -> Any:
        node = closure.node
        if isinstance(node, ast.Lambda):
            return self.value(node.body, frame)
        scope = closure.module.scopes.get(node)
        if isinstance(node, ast.AsyncFunctionDef) or (scope is not None and scope.generator):
            self.uncallable(closure, "a function that runs step by step")
        try:
            self.run(node.body, frame)
        except ReturnError as end:
            return end.value
        return None

    def _bound(
        self, closure: Closure, given: Sequence[Any], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the parameters of a function with their values."""
        args = closure.node.args
        places = [*args.posonlyargs, *args.args]
        arguments: dict[str, Any] = {
            parameter.arg: value for parameter, value in zip(places, given, strict=False)
        }
        if args.vararg is not None:
            arguments[args.vararg.arg] = tuple(given[len(places) :])
        elif len(given) > len(places):
            self.uncallable(closure, "a call has too many arguments")
        words = {parameter.arg for parameter in (*args.args, *args.kwonlyargs)}
        extra = {name: value for name, value in named.items() if name not in words}
        for name, value in named.items():
            if name in words and name in arguments:
                self.uncallable(closure, f"two values for {name}")
            if name in words:
                arguments[name] = value
        if args.kwarg is not None:
            arguments[args.kwarg.arg] = extra
        elif extra:
            self.uncallable(closure, f"no parameter {min(extra)}")
        optional = places[len(places) - len(args.defaults) :]
        outside = closure.frame or Variables(closure.module)
        for parameter, default in (
            *zip(optional, args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ):
            if default is not None and parameter.arg not in arguments:
                arguments[parameter.arg] = self.value(default, outside)
        for parameter in (*places, *args.kwonlyargs):
            if parameter.arg not in arguments:
                self.missing(parameter, closure, arguments)
        return arguments
