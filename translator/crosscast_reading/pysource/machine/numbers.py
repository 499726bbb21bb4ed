"""The domain of plain values: functions of a program computed for given arguments.

Unlike `evaluate`, which returns what an expression is in every run, a `NumberMachine` returns what
it is for given arguments. Whatever a function does not compute itself it reads from a `World`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from crosscast_reading.pysource.machine import functions
from crosscast_reading.pysource.machine.frames import NOTHING, Closure, Nothing, Variables
from crosscast_reading.pysource.machine.functions import Array
from crosscast_reading.pysource.machine.machine import Machine
from crosscast_reading.pysource.machine.slices import Slice, changed
from crosscast_reading.pysource.machine.statements import LEAVE
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values import builtins
from crosscast_reading.pysource.values.budget import Budget, NoValueError

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

_STEPS = 400_000
_DEEPEST = 12
_DISPLAYS = (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.ListComp, ast.Lambda)
_CHANGES_FIRST = frozenset(
    {"random.shuffle", "numpy.random.shuffle", "heapq.heapify", "heapq.heappush", "heapq.heappop"}
)
"""Functions that change their first argument."""
_OF_NUMBERS = frozenset({"item", "numpy", "float"})
"""Methods that return the number that a tensor holds."""


class World(Protocol):
    """What computed code reads from the program around it."""

    def read(self, node: ast.expr, module: Module) -> object:
        """Return the value of a name, attribute or entry that the computed code does not assign.

        Raises:
            NoValueError: nothing is known of it.
        """
        ...

    def length(self, node: ast.expr, module: Module) -> int:
        """Return the length of something that has no value; raises like `read`."""
        ...


class _ReachedError(Exception):
    """The statement that is waited for was reached."""

    def __init__(self, value: object) -> None:
        self.value = value


class NumberMachine(Machine):
    """Computes expressions and functions; what has no value raises `NoValueError`."""

    def __init__(self, world: World) -> None:
        super().__init__(Budget(_STEPS, _DEEPEST))
        self.world = world
        self.limits: set[float] = set()
        """Whole numbers of arithmetic and comparisons, and lengths."""
        self._slice: Slice | None = None

    def value_in(self, node: ast.expr, module: Module) -> object:
        """Return the value of an expression outside of computed functions.

        Raises:
            NoValueError: it has none, or takes too long.
        """
        return self.value(node, Variables(module))

    def note(self, *numbers: object) -> None:
        """Keep whole numbers at which a result may change."""
        for number in numbers:
            if isinstance(number, int | float) and number > 1 and number % 1 == 0:
                self.limits.add(number)

    def assigned_at(self, part: Slice, frame: Variables) -> object:
        """Return the value that an assignment first assigns; raises like `value_in`."""
        before, self._slice = self._slice, part
        try:
            self.run(part.body, frame)
        except _ReachedError as end:
            return end.value
        except LEAVE:
            pass
        finally:
            self._slice = before
        raise NoValueError

    def run_function(
        self, closure: Closure, given: Sequence[Any], named: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a function of the program; raises like `value_in`."""
        before, self._slice = self._slice, None
        try:
            return super().run_function(closure, given, named)
        finally:
            self._slice = before

    # ---- values

    def unknown(self, node: ast.AST, place: Variables, reason: str = "") -> NoReturn:
        """Raise the error of an expression that has no value."""
        raise NoValueError

    def exhausted(self, node: ast.AST, module: Module, *, is_deep: bool = False) -> NoReturn:
        """Raise the error of a computation that takes too long."""
        raise NoValueError

    def uncallable(self, closure: Closure, reason: str) -> NoReturn:
        """Raise the error of a call that is not computed."""
        raise NoValueError

    def blank(self, node: ast.AST, frame: Variables, *, is_changed: bool = False) -> Nothing:
        """Return the content of a name whose value is not known."""
        return NOTHING

    def stored(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of an expression, `NOTHING` if it has none."""
        try:
            return self.value(node, frame)
        except NoValueError:
            return NOTHING

    def is_unknown(self, value: Any) -> bool:
        """Whether a value has no content that operators could be computed with."""
        return isinstance(value, Nothing | Closure)

    def exists(self, value: Any) -> bool:
        """Whether a value that is not known is surely not None."""
        return isinstance(value, Closure)

    def truth_of(self, value: Any) -> bool | None:
        """Return whether a value counts as true."""
        return None if isinstance(value, Array | Closure | Nothing) else bool(value)

    def name(self, node: ast.Name, place: Variables) -> Any:
        """Return the value of a name."""
        names = place.find(node.id)
        return self.world.read(node, place.module) if names is None else _known(names[node.id])

    def subscript(self, node: ast.Subscript, place: Variables) -> Any:
        """Return the value of an entry."""
        return _known(super().subscript(node, place))

    def attribute(self, node: ast.Attribute, place: Variables) -> Any:
        """Return the value of an attribute."""
        return self.world.read(node, place.module)

    def key(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of what stands in brackets; libraries leave whole numbers as floats."""
        key = super().key(node, frame)
        return int(key) if isinstance(key, float) and key.is_integer() else key

    def entry_of(self, base: Any, node: ast.Subscript, frame: Variables) -> Any:
        """Return an entry of something that the computed code does not make."""
        return self.world.read(node, frame.module)

    def combined(
        self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any, frame: Variables
    ) -> Any:
        """Return `left op right`."""
        if not isinstance(node.op, ast.Pow):
            self.note(left, right)
        return super().combined(node, left, right, frame)

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any, place: Variables
    ) -> Any:
        """Return `left op right` of a comparison."""
        self.note(left, right)
        return super().compared(node, op, left, right, place)

    def inner_rounds(
        self,
        generator: ast.comprehension,
        items: Sequence[Any],
        frame: Variables,
        compute: Callable[[], bool],
    ) -> bool:
        """Compute the rounds of a comprehension; numbers of its elements are no limits."""
        before = set(self.limits)
        rounds: list[set[float]] = []
        for item in items:
            self.limits.clear()
            if not self.inner_round(generator, item, frame, compute):
                return False
            if len(rounds) < 2:
                rounds.append(set(self.limits))
        self.limits.clear()
        self.limits.update(before, set.intersection(*rounds) if rounds else ())
        return True

    # ---- calls

    def call(self, node: ast.Call, place: Variables) -> Any:
        """Return the value of a call."""
        return _known(self._called(node, place))

    def _called(self, node: ast.Call, place: Variables) -> Any:
        function, module = node.func, place.module
        if not isinstance(function, ast.Attribute) and _is_computed(function, place):
            closure = self.value(function, place)
            if not isinstance(closure, Closure):
                raise NoValueError
            return self.run_function(closure, *self.arguments(node, place))
        name = module.resolve(function)
        if name == "len" and len(node.args) == 1:
            return self._length(node.args[0], place)
        if name == "functools.partial" and node.args:
            return self._partial(node, place)
        known = functions.function_named(name)
        if known is not None:
            given, named = self.arguments(node, place)
            self.note(*given, *named.values())
            return functions.call(known, given, named)
        if isinstance(function, ast.Attribute):
            held = self._held(function, place)
            if held is not None:
                arguments = self.arguments(node, place)
                return self.call_method(held, function.attr, arguments, node, place)
            if function.attr in _OF_NUMBERS:
                return self.value(function.value, place)
        return self._of_program(node, place)

    def _held(self, function: ast.Attribute, frame: Variables) -> Any:
        """Return the list, dictionary or text that a method belongs to; None for another."""
        if function.attr != "get" and not _is_computed(function.value, frame):
            return None
        held = self.stored(function.value, frame)
        return held if isinstance(held, list | dict | str) else None

    def _of_program(self, node: ast.Call, frame: Variables) -> Any:
        """Return the result of a function of the program, or what the world says of it."""
        module = frame.module
        own = module.program.function(module.call(node))
        if own is None:
            return self.world.read(node, module)
        given, named = self.arguments(node, frame)
        if _is_method(own[1], own[0], node.func):
            given = [NOTHING, *given]
        try:
            return self.run_function(Closure(own[1], own[0]), given, named)
        except NoValueError:
            return self.world.read(node, module)

    def _length(self, node: ast.expr, frame: Variables) -> Any:
        value = self.stored(node, frame)
        if not isinstance(value, list | tuple | dict | str):
            return self.world.length(node, frame.module)
        self.note(len(value))
        return len(value)

    def _partial(self, node: ast.Call, frame: Variables) -> Closure:
        (inner, *given), named = self.arguments(node, frame)
        if not isinstance(inner, Closure):
            raise NoValueError
        return Closure(
            inner.node,
            inner.module,
            inner.frame,
            (*inner.given, *given),
            {**inner.named, **named},
        )

    # ---- statements

    def statement(self, statement: ast.stmt, frame: Variables) -> None:
        """Run a statement, of a slice only one that belongs to it."""
        part = self._slice
        if part is not None and statement is part.awaited:
            raise _ReachedError(self.new_value(part.awaited, part.value, frame))
        if part is None or statement in part.kept:
            super().statement(statement, frame)

    def refused(self, statement: ast.stmt, frame: Variables) -> None:
        """Raise the error of a statement whose effect is not computed."""
        raise NoValueError

    def decided(self, test: ast.expr, frame: Variables) -> bool | None:
        """Return whether a condition of a statement is met; None if that is not known."""
        try:
            return self.truth(test, frame)
        except NoValueError:
            return None

    def undecided_branch(self, statement: ast.If, frame: Variables) -> None:
        """Run the branch that leads to what a slice waits for; else forget what either changes."""
        part = self._slice
        if part is not None and statement in part.around:
            leads = any(inner in part.around for inner in statement.body)
            self.run(statement.body if leads else statement.orelse, frame)
            return
        leaves = (ast.Return,) if part else (ast.Return, ast.Break, ast.Continue)
        if any(isinstance(inner, leaves) for inner in walk(statement)):
            raise NoValueError
        self._forget(statement, frame)

    def undecided_loop(self, statement: ast.For | ast.While, frame: Variables) -> None:
        """Run one round on the way to what a slice waits for; else forget what a loop changes."""
        part = self._slice
        if isinstance(statement, ast.While):
            raise NoValueError
        if part is not None and statement in part.around:
            self.rounds(statement, [NOTHING], frame)  # a group of an optimizer: each gets the same
        elif part is None and any(isinstance(inner, ast.Return) for inner in walk(statement)):
            raise NoValueError
        else:
            self._forget(statement, frame)

    def _forget(self, statement: ast.stmt, frame: Variables) -> None:
        for name in changed(statement):
            held = frame.find(name)
            if held is not None and name not in frame.names:
                self.lose(held[name], statement, frame)
            frame.names[name] = NOTHING

    def assigned(self, statement: ast.Assign | ast.AugAssign, frame: Variables) -> Any:
        """Return the value that is assigned, `NOTHING` if there is none."""
        try:
            return super().assigned(statement, frame)
        except NoValueError:
            return NOTHING

    def unpacked(self, value: Any, count: int, target: ast.expr, frame: Variables) -> Sequence[Any]:
        """Return as many values that are not known."""
        return [NOTHING] * count

    def assign_attribute(self, target: ast.Attribute, value: Any, frame: Variables) -> None:
        """Pass over an attribute: the world says what it is."""

    def assign_entry(self, target: ast.Subscript, value: Any, frame: Variables) -> None:
        """Assign a value to an entry of a list or dictionary that the computed code holds."""
        computed = _is_computed(target.value, frame)
        held = self.stored(target.value, frame) if computed else None
        if not isinstance(held, list | dict):
            return  # a group of an optimizer
        try:
            held[self.key(target.slice, frame)] = value
        except (NoValueError, LookupError, TypeError, ValueError):
            self.lose(held, target, frame)

    def discarded(self, node: ast.expr, frame: Variables) -> None:
        """Compute a call that may change a list or dictionary; any other one is a log."""
        match node:
            case ast.Call(func=ast.Attribute(attr=word) as function) if word in builtins.CHANGES:
                held = self._held(function, frame)
                if held is not None:
                    with suppress(NoValueError):
                        arguments = self.arguments(node, frame)
                        self.call_method(held, word, arguments, node, frame)
            case ast.Call(func=function) if _is_computed(function, frame):
                self.value(node, frame)
            case ast.Call(func=function, args=[first, *_]):
                if frame.module.resolve(function) in _CHANGES_FIRST:
                    self.lose(self.stored(first, frame), node, frame)


def _known(value: Any) -> Any:
    if value is NOTHING:
        raise NoValueError
    return value


def _is_computed(node: ast.expr, frame: Variables) -> bool:
    """Whether the computed code itself makes a value: the world has no say in it."""
    match node:
        case ast.Name(id=name):
            return frame.find(name) is not None
        case ast.Call(func=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return _is_computed(inner, frame)
    return isinstance(node, _DISPLAYS)


def _is_method(node: Function, module: Module, function: ast.expr) -> bool:
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    return module.class_of(node) is not None and isinstance(function, ast.Attribute) and not static
