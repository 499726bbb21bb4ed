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
from types import CodeType, FrameType, FunctionType, ModuleType, NoneType
from typing import Any

NAME = "__crosscast__"
"""The builtin by which compiled statements call `Holes`."""
ROUNDS = 2
"""Rounds of a loop that trained: the second meets an optimizer that has been used."""
_LEFT = (ast.Raise, ast.Assert, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LATER = (*_SCOPES, ast.Lambda)
_FILLING = ("append", "appendleft", "extend", "insert", "add", "update", "setdefault")
"""Methods that fill a container: what one lacks then is not known."""
_BODIES = ("body", "orelse", "finalbody")


class NotKnownError(Exception):
    """Something asked for a value that is not known."""


class CrosscastUnknown:
    """A value that is not known, as are its attributes and what is computed with it."""

    def __init__(self, *args: Any) -> None:
        """Take anything: a class that derives from an unknown one is made by its class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __repr__(self) -> str:
        return "<CrosscastUnknown>"

    def __format__(self, how: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None: ...


def _itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotKnownError("a value that is not known")


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
for _name in ("call getitem neg pos abs invert lt le gt ge eq ne " + _OPERATORS).split():
    setattr(CrosscastUnknown, f"__{_name}__", _itself)
for _name in _OPERATORS.split():
    setattr(CrosscastUnknown, f"__r{_name}__", _itself)
_VALUES = "bool iter len int float index contains complex array fspath"
for _name in _VALUES.split():
    setattr(CrosscastUnknown, f"__{_name}__", _refuse)

UNKNOWN = CrosscastUnknown()
_CHANGED: dict[int, object] = {}
"""Objects whose methods a skipped statement would have called, and that could not be forgotten."""
_UNCHANGING = (ModuleType, type, FunctionType, str, int, float, tuple, NoneType)


def is_known(value: object, depth: int = 2) -> bool:
    """Whether a value is not unknown and, as far as a look into it tells, holds none."""
    if isinstance(value, CrosscastUnknown) or id(value) in _CHANGED:
        return False
    if not depth:
        return True
    if isinstance(value, dict):
        inner: list[Any] = [*list(value)[:1000], *list(value.values())[:1000]]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(value)[:1000]
    else:
        own = getattr(value, "__dict__", None) if not isinstance(value, type) else None
        inner = list(own.values())[:1000] if isinstance(own, dict) and "__spec__" not in own else []
    return all(is_known(each, depth - 1) for each in inner)


@dataclass(frozen=True)
class _Scope:
    """A file or function of the program. `names`: those that it binds."""

    path: str
    names: frozenset[str]


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
        self._statements: list[Statement] = []
        self._files: set[str] = set()
        self._raising: set[tuple[str, int]] = set()

    def compile(self, text: bytes, path: str) -> CodeType:
        """Compile a file of the program; raises what compiling raises."""
        tree = ast.parse(text, path)
        self._files.add(path)
        tree.body = self._body(tree.body, _Scope(path, _names(tree.body)), guarded=False)
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
        here = trace is not None and trace.tb_next is None
        if here and trace is not None and (statement.file, trace.tb_lineno) in self._raising:
            raise
        if frame.f_code.co_name != "<module>" and self._is_called_back(frame):
            raise
        self._report(statement, error)
        for name in statement.reads:
            _taint(read_from(frame, name))
        for name, method in statement.calls:
            value = read_from(frame, name)
            if not isinstance(value, _UNCHANGING) and not self._keeps(method):
                _forget(value)
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

    def _statement(self, node: ast.stmt, scope: _Scope, *, guarded: bool) -> ast.stmt:
        path, reads, calls = scope.path, _reads(node), _calls(node)
        filled = {name for name, method in calls if method in _FILLING} | _indexed(node)
        bound = _bound(node, filled & scope.names)
        if isinstance(node, ast.Raise | ast.Assert):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            self._raising |= {(path, line) for line in lines}
        own = guarded and not isinstance(node, _SCOPES)
        expecting = bool(getattr(node, "handlers", ()))
        if isinstance(node, _SCOPES):
            scope = _Scope(path, _names(node.body))
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
        if guarded or isinstance(node, _LEFT) or _is_bare(node):
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


def _is_bare(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return) and node.value is None:
        return True  # with a value, it would be an error in an asynchronous generator
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return future or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without what runs later or in a scope of its own."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _LATER):
            yield child
        else:
            yield from _own(child)


def _names(body: list[ast.stmt]) -> frozenset[str]:
    """Return the names that statements bind in their own scope."""
    parts = [part for node in body for part in _own(node)]
    shared = {n for p in parts if isinstance(p, ast.Global | ast.Nonlocal) for n in p.names}
    bound = {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
    return frozenset(bound - shared)


def _indexed(node: ast.stmt) -> set[str]:
    """Return the names of containers into which a statement puts something."""
    stored = [
        p for p in _own(node) if isinstance(p, ast.Subscript) and isinstance(p.ctx, ast.Store)
    ]
    return {part.value.id for part in stored if isinstance(part.value, ast.Name)}


def _bound(node: ast.stmt, filled: set[str]) -> list[ast.expr]:
    """Return the targets that a statement binds: names, and attributes of names.

    `filled`: names of containers that it fills.
    """
    names: dict[str, None] = dict.fromkeys(sorted(filled))
    attributes: list[ast.expr] = []
    for each in [node] if isinstance(node, _SCOPES) else _own(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names[each.id] = None
        elif isinstance(each, ast.alias) and each.name != "*":
            names[each.asname or each.name.partition(".")[0]] = None
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[each.name] = None
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            name = ast.Name(each.value.id, ast.Load())
            if isinstance(each.ctx, ast.Store):
                attributes.append(ast.Attribute(name, each.attr, ast.Store()))
    inner = {
        each.id
        for part in _own(node)
        if isinstance(part, ast.comprehension)
        for each in ast.walk(part.target)
        if isinstance(each, ast.Name)
    }
    return [*(ast.Name(n, ast.Store()) for n in names if n not in inner), *attributes]


def _reads(node: ast.stmt) -> tuple[str, ...]:
    """Return the names, and attributes of names, that a statement reads."""
    reads: dict[str, None] = {}
    for each in _own(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            reads[each.id] = None
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            reads[f"{each.value.id}.{each.attr}"] = None
    return tuple(reads)


def _forget(value: object) -> None:
    """Make an object unknown wherever it is referred to, or else remember it as changed."""
    try:
        object.__setattr__(value, "__class__", CrosscastUnknown)
    except TypeError:  # it is made otherwise than plain objects are
        _CHANGED[id(value)] = value


def _calls(node: ast.stmt) -> tuple[tuple[str, str], ...]:
    """Return the methods that a statement calls, with the names whose methods they are."""
    called = [each.func for each in _own(node) if isinstance(each, ast.Call)]
    methods = [each for each in called if isinstance(each, ast.Attribute)]
    return tuple(dict.fromkeys((ast.unparse(each.value), each.attr) for each in methods))


def read_from(frame: FrameType, name: str) -> Any:
    """Return the value of a name, or of an attribute of a name, in a frame; None without one."""
    name, _, attribute = name.partition(".")
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    if not attribute:
        return value
    module = isinstance(value, ModuleType)  # as in `sys.path`
    own = None if module else getattr(value, "__dict__", None)
    return own.get(attribute) if isinstance(own, dict) else None


def _taint(value: object) -> None:
    """Let a container hold something unknown: a statement that reads it may have changed it."""
    if type(value) is list:
        value.append(UNKNOWN)
    elif type(value) is set:
        value.add(UNKNOWN)
    elif type(value) is dict:
        value[UNKNOWN] = UNKNOWN
