"""Run a program past the statements that cannot be executed here.

Every statement of the program's own files is compiled within a `try`. If it raises, what it would
have bound becomes `UNKNOWN`, and the program goes on: without its data, say, it still makes its
model. What an unknown value makes impossible becomes unknown in turn. Left as they are written are
the bodies of the program's own `try` statements, since they expect to fail, `raise` and `assert`,
which end a function as they are meant to, and what a framework calls: the statement that called the
framework fails then. A loop ends after a few rounds that trained.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from crosscast_parity.inside.questions import Questions
from crosscast_parity.inside.statements import (
    SCOPES,
    bound_of,
    calls_of,
    indexed_of,
    is_bare,
    is_counting,
    names_of,
    reads_of,
)
from crosscast_parity.inside.unknown import UNKNOWN, forget, taint

NAME = "__crosscast__"
"""The builtin by which compiled statements call `Holes`."""
ROUNDS = 2
"""Rounds of a loop that trained: the second meets an optimizer that has been used."""
_LEFT = (ast.Raise, ast.Assert, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
_FILLING = ("append", "appendleft", "extend", "insert", "add", "update", "setdefault")
"""Methods that fill a container: what one lacks then is not known."""
_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class _Scope:
    """A file or function of the program.

    `names`: those that it binds. `counts`: whether it is a function that counts something.
    """

    path: str
    names: frozenset[str]
    counts: bool = False


@dataclass(frozen=True)
class Statement:
    """A statement of the program.

    `reads`: the dotted names that it reads. `calls`: those whose methods it calls, and which.
    """

    file: str
    line: int
    reads: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()


class Holes:
    """Compiles the files of a program, and is called by them where a statement raises.

    Args:
        report: called with the statement and what it raised.
        calls_back: whether a file's functions call the program's, so that errors pass through them.
        trained: how many training steps have been made.
        keeps: whether a method leaves an object as it is, by its name.
    """

    def __init__(
        self,
        report: Callable[[Statement, Exception], None],
        calls_back: Callable[[str], bool],
        trained: Callable[[], int],
        keeps: Callable[[str], bool],
    ) -> None:
        self._report, self._calls_back = report, calls_back
        self._trained, self._keeps = trained, keeps
        self.questions = Questions(f"{NAME}.questions")
        self._statements: list[Statement] = []
        self._files: set[str] = set()
        self._raising: set[tuple[str, int]] = set()
        self._passing: tuple[Exception, FrameType] | None = None
        """What a `raise` of the program raised, and the frame that it is to end."""

    def compile(self, text: bytes, path: str) -> CodeType:
        """Compile a file of the program; raises what compiling raises."""
        tree = ast.parse(text, path)
        self._files.add(path)
        tree.body = self._body(tree.body, _Scope(path, names_of(tree.body)), guarded=False)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def few(self, rounds: Any) -> Iterator[Any]:
        """Yield from what a loop goes through, until some of its rounds trained."""
        left = ROUNDS
        for each in rounds:
            before = self._trained()
            yield each
            left -= self._trained() > before
            if not left:
                return

    def hole(self, number: int) -> Any:
        """Put an unknown value where a statement raised; raise again what is to pass."""
        error = sys.exc_info()[1]
        assert isinstance(error, Exception)  # it is called in the handler
        statement, frame, trace = self._statements[number], sys._getframe(1), error.__traceback__
        here = trace.tb_lineno if trace is not None and trace.tb_next is None else 0
        if (statement.file, here) in self._raising:
            self._passing = error, frame
        if self._passing == (error, frame):  # of the statements around it, too
            raise
        if frame.f_code.co_name != "<module>" and self._is_called_back(frame):
            raise
        self._passing = None
        self._report(statement, error)
        for name in statement.reads:
            taint(read_from(frame, name))
        for name, method in statement.calls:
            if not self._keeps(method):
                forget(read_from(frame, name))
        return UNKNOWN

    def _is_called_back(self, frame: FrameType) -> bool:
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename not in self._files:
            if self._calls_back(caller.f_code.co_filename):
                return True
            caller = caller.f_back
        return False

    def _body(self, body: list[ast.stmt], scope: _Scope, *, guarded: bool) -> list[ast.stmt]:
        return [self._statement(node, scope, guarded=guarded) for node in body]

    def _statement(
        self, node: ast.stmt, scope: _Scope, *, guarded: bool, chained: bool = False
    ) -> ast.stmt:
        path, reads, calls, bound = scope.path, reads_of(node), calls_of(node), _bound(node, scope)
        self.questions.within(node)
        if isinstance(node, ast.Raise | ast.Assert):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            self._raising |= {(path, line) for line in lines}
        own = guarded and not isinstance(node, SCOPES)
        expecting = bool(getattr(node, "handlers", ()))
        if isinstance(node, SCOPES):
            scope = _Scope(path, names_of(node.body), is_counting(node))
        if isinstance(node, ast.If):
            self._branches(node, scope, guarded=own)
        else:
            for name in _BODIES:
                inner = getattr(node, name, None)
                if inner:
                    within = own or (expecting and name == "body")
                    setattr(node, name, self._body(inner, scope, guarded=within))
        for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            handler.body = self._body(handler.body, scope, guarded=own)
        if isinstance(node, ast.For):
            node.iter = _call("few", node.iter)
        looped = _as_for(node) if isinstance(node, ast.While) and not node.orelse else node
        if guarded or chained or isinstance(node, _LEFT) or is_bare(node):
            return looped
        self._statements.append(Statement(path, node.lineno, reads, calls))
        value = _call("hole", ast.Constant(len(self._statements) - 1))
        handled: ast.stmt = ast.Expr(value)
        if isinstance(node, ast.Return):
            handled = ast.Return(value)
        elif bound:
            handled = ast.Assign(bound, value)
        handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [handled])
        wrapped = ast.Try([looped], [handler], [], [])
        for new in (wrapped, handler, handled):
            ast.copy_location(new, node)
        return wrapped

    def _branches(self, node: ast.If, scope: _Scope, *, guarded: bool) -> None:
        """Compile both branches; what one would have bound is settled where the other is taken."""
        counts = is_counting(node)
        number, (node.test,) = self.questions.ask(node.test)
        branches = [node.body, node.orelse]
        bound = [{*_targets(branch, scope)} for branch in branches]
        for branch, others in zip(branches, reversed(bound), strict=True):
            new = self.questions.settle(number, others, counts, node)
            for each in branch:
                if isinstance(each, ast.Return) and each.value is not None:
                    each.value = self.questions.value(number, each.value, scope.counts)
                after = self.questions.settle(
                    number, others.intersection(_targets([each], scope)), counts, node
                )
                # An `elif` fails with the whole statement: Python nests 20 blocks at most.
                chained = branch is node.orelse and isinstance(each, ast.If) and len(branch) == 1
                new += [self._statement(each, scope, guarded=guarded, chained=chained), *after]
            branch[:] = new


def _bound(node: ast.stmt, scope: _Scope) -> list[ast.expr]:
    """Return the targets of a statement, and the containers of its own scope that it fills."""
    filled = {name for name, method in calls_of(node) if method in _FILLING} | indexed_of(node)
    return bound_of(node, filled & scope.names)


def _targets(body: list[ast.stmt], scope: _Scope) -> Iterator[str]:
    for node in body:
        yield from map(ast.unparse, _bound(node, scope))


def _call(name: str, argument: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, [argument], []), argument)


def _as_for(node: ast.While) -> ast.For:
    """Write `while test:` as a loop over something endless that breaks if the test fails."""
    leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
    endless = ast.parse("iter(int, 1)", mode="eval").body
    target = ast.Name("_crosscast_round", ast.Store())
    loop = ast.For(target, _call("few", endless), [leave, *node.body], [])
    for new in ast.walk(endless):
        ast.copy_location(new, node)
    ast.copy_location(leave, node.test)
    return ast.copy_location(loop, node)


def read_from(frame: FrameType, name: str) -> Any:
    """Return the value of a name, or of an attribute of a name, in a frame; None without one."""
    name, _, attribute = name.partition(".")
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    if not attribute:
        return value
    module = isinstance(value, ModuleType)  # as in `sys.path`
    own = None if module else getattr(value, "__dict__", None)
    return own.get(attribute) if isinstance(own, dict) else None
