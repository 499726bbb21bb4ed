"""Python's rules for statements, over the values of any domain."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from crosscast_reading.pysource.machine.evaluator import Evaluator
from crosscast_reading.pysource.machine.frames import Closure, Variables


class ReturnError(Exception):
    """A `return` was reached."""

    def __init__(self, value: Any) -> None:
        self.value = value


class LeaveError(Exception):
    """A `break` or `continue` was reached."""

    def __init__(self, *, ends: bool) -> None:
        self.ends = ends
        """Whether the loop ends."""


LEAVE = (ReturnError, LeaveError)
"""What ends a block before its last statement."""


class StatementRunner(Evaluator[Variables]):
    """Runs statements. What is neither computed nor refused, such as `assert`, is passed over."""

    has_effects: ClassVar[bool] = True

    def run(self, body: Sequence[ast.stmt], frame: Variables) -> None:
        """Run statements, one after the other."""
        for statement in body:
            self.statement(statement, frame)

    def statement(self, statement: ast.stmt, frame: Variables) -> None:
        """Run a statement."""
        handler = _HANDLERS.get(statement.__class__)
        if handler is None:
            self.refused(statement, frame)
        else:
            handler(self, statement, frame)

    # ---- what a domain says

    @abstractmethod
    def refused(self, statement: ast.stmt, frame: Variables) -> None:
        """Run a statement whose effect is not computed, or raise."""

    @abstractmethod
    def blank(self, node: ast.AST, frame: Variables, *, is_changed: bool = False) -> Any:
        """Return the content of a name whose value is not known.

        Args:
            node: what assigns or changes it.
            frame: the names there.
            is_changed: whether it had a value, which was changed.
        """

    def undecided_branch(self, statement: ast.If, frame: Variables) -> None:
        """Go on after a condition that is not known."""
        self.refused(statement, frame)

    def undecided_loop(self, statement: ast.For | ast.While, frame: Variables) -> None:
        """Go on after a loop whose rounds are not known."""
        self.refused(statement, frame)

    @abstractmethod
    def unpacked(self, value: Any, count: int, target: ast.expr, frame: Variables) -> Sequence[Any]:
        """Return the parts of a value that is no list, or not as long as what it is assigned to."""

    @abstractmethod
    def assign_attribute(self, target: ast.Attribute, value: Any, frame: Variables) -> None:
        """Assign a value to an attribute."""

    @abstractmethod
    def assign_entry(self, target: ast.Subscript, value: Any, frame: Variables) -> None:
        """Assign a value to an entry."""

    @abstractmethod
    def augmented(self, node: ast.AugAssign, left: Any, right: Any, frame: Variables) -> Any:
        """Return the value that `left op= right` assigns."""

    def decided(self, test: ast.expr, frame: Variables) -> bool | None:
        """Return whether a condition of a statement is met; None if that is not known."""
        return self.truth(test, frame)

    def stored(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of an expression, or what is kept for one that is not known."""
        return self.value(node, frame)

    def discarded(self, node: ast.expr, frame: Variables) -> None:
        """Compute an expression for its effect."""
        self.value(node, frame)

    def with_block(self, statement: ast.With, frame: Variables) -> None:
        """Run the body of a `with` statement."""
        for item in statement.items:
            if item.optional_vars is not None:
                blank = self.blank(item.context_expr, frame)
                self.assign(item.optional_vars, blank, frame)
        self.run(statement.body, frame)

    # ---- what is the same in every domain

    def assign(self, target: ast.expr, value: Any, frame: Variables) -> None:
        """Assign a value to a name, an attribute, an entry, or its parts to several."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._assign_parts(target, targets, value, frame)
            case ast.Attribute():
                self.assign_attribute(target, value, frame)
            case ast.Subscript():
                self.assign_entry(target, value, frame)

    def _assign_parts(
        self, target: ast.expr, targets: Sequence[ast.expr], value: Any, frame: Variables
    ) -> None:
        starred = [place for place, each in enumerate(targets) if isinstance(each, ast.Starred)]
        count = len(targets)
        parts: Sequence[Any] | None = value if isinstance(value, list | tuple) else None
        if starred and parts is not None and len(parts) >= count - 1:
            place, rest = starred[0], len(parts) - count + 1
            middle = list(parts[place : place + rest])
            parts = [*parts[:place], middle, *parts[place + rest :]]
        if parts is None or len(parts) != count:
            parts = self.unpacked(value, count, target, frame)
        for each, part in zip(targets, parts, strict=True):
            self.assign(each.value if isinstance(each, ast.Starred) else each, part, frame)

    def loop(self, statement: ast.For, frame: Variables) -> None:
        """Run a `for` loop."""
        source = statement.iter
        items = self.items(self.stored(source, frame), source, frame)
        if items is None:
            self.undecided_loop(statement, frame)
        else:
            self.rounds(statement, items, frame)

    def rounds(self, statement: ast.For, items: Sequence[Any], frame: Variables) -> None:
        """Run the rounds of a `for` loop."""
        for item in items:
            self.assign(statement.target, item, frame)
            if self._round(statement.body, frame):
                return
        self.run(statement.orelse, frame)

    def while_loop(self, statement: ast.While, frame: Variables) -> None:
        """Run a `while` loop."""
        while (answer := self.decided(statement.test, frame)) is not False:
            if answer is None:
                self.undecided_loop(statement, frame)
                return
            if self._round(statement.body, frame):
                return
        self.run(statement.orelse, frame)

    def _round(self, body: Sequence[ast.stmt], frame: Variables) -> bool:
        """Run one round of a loop; return whether a `break` ended the loop."""
        try:
            self.run(body, frame)
        except LeaveError as end:
            return end.ends
        return False

    def branch(self, statement: ast.If, frame: Variables) -> None:
        """Run an `if` statement."""
        answer = self.decided(statement.test, frame)
        if answer is None:
            self.undecided_branch(statement, frame)
        else:
            self.run(statement.body if answer else statement.orelse, frame)

    def new_value(
        self, statement: ast.Assign | ast.AugAssign | ast.Expr, given: ast.expr, frame: Variables
    ) -> Any:
        """Return the value that an assignment assigns, or a call of a setter.

        Args:
            statement: the assignment, or the call.
            given: its right side, or the argument of the call.
            frame: the names there.
        """
        if not isinstance(statement, ast.AugAssign):
            return self.value(given, frame)
        right = self.value(given, frame)
        left = self.value(statement.target, frame)
        return self.augmented(statement, left, right, frame)

    def assignment(
        self, statement: ast.Assign | ast.AugAssign | ast.AnnAssign, frame: Variables
    ) -> None:
        """Run an assignment."""
        if isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self.assign(statement.target, self.stored(statement.value, frame), frame)
            return
        value = self.assigned(statement, frame)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            self.assign(target, value, frame)

    def assigned(self, statement: ast.Assign | ast.AugAssign, frame: Variables) -> Any:
        """Return the value that is assigned, or the one kept for a value that is not known."""
        return self.new_value(statement, statement.value, frame)

    def returned(self, statement: ast.Return, frame: Variables) -> None:
        """Run a `return` statement."""
        value = statement.value
        raise ReturnError(None if value is None else self.value(value, frame))

    def definition(
        self, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, frame: Variables
    ) -> None:
        """Run the definition of a function; what a class inside of one is, is not computed."""
        if isinstance(statement, ast.ClassDef):
            frame.names[statement.name] = self.blank(statement, frame)
        else:
            frame.names[statement.name] = Closure(statement, frame.module, frame)


def _passed(runner: StatementRunner, statement: ast.stmt, frame: Variables) -> None:
    """Pass over a statement that changes nothing."""


def _leave(runner: StatementRunner, statement: ast.stmt, frame: Variables) -> None:
    raise LeaveError(ends=isinstance(statement, ast.Break))


def _evaluate(runner: StatementRunner, statement: ast.Expr, frame: Variables) -> None:
    if isinstance(statement.value, ast.Call):
        runner.discarded(statement.value, frame)


_HANDLERS: Mapping[type[ast.stmt], Callable[[StatementRunner, Any, Variables], None]] = {
    ast.Return: lambda runner, statement, frame: runner.returned(statement, frame),
    **dict.fromkeys(
        (ast.Assign, ast.AugAssign, ast.AnnAssign),
        lambda runner, statement, frame: runner.assignment(statement, frame),
    ),
    ast.If: lambda runner, statement, frame: runner.branch(statement, frame),
    ast.For: lambda runner, statement, frame: runner.loop(statement, frame),
    ast.While: lambda runner, statement, frame: runner.while_loop(statement, frame),
    ast.With: lambda runner, statement, frame: runner.with_block(statement, frame),
    **dict.fromkeys(
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        lambda runner, statement, frame: runner.definition(statement, frame),
    ),
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.Expr: _evaluate,
    **dict.fromkeys((ast.Pass, ast.Assert, ast.Import, ast.ImportFrom), _passed),
}
