"""What decorators change of the arguments of a function: keywords that only they take."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_DEEPEST = 3


def keywords_of_wrappers(function: Any) -> set[str] | None:
    """The keywords that the decorators of a function may take beside its own, if they change any.

    They are the words that a decorator holds: aliases of parameters, as a rule. None: every
    argument reaches the function as it is given.
    """
    words: set[str] = set()
    changed = False
    while isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):
        held = set(_held_words(function))
        if _any_of(function, _changes):
            changed = True
            words |= held.union(_constants(function))
        elif held and _any_of(function, _replaces):
            changed = True  # one that holds no words binds the arguments to the parameters
            words |= held
        function = function.__wrapped__
    return {word for word in words if word.isidentifier()} if changed else None


def _any_of(wrapper: types.FunctionType, does: Callable[[ast.AST, str], bool]) -> bool:
    """Whether anything in a wrapper does something with the keywords that it takes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(wrapper.__code__)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    first = tree.body[0]
    if not isinstance(first, ast.FunctionDef) or first.args.kwarg is None:
        return False
    kept = first.args.kwarg.arg
    return any(does(node, kept) for node in ast.walk(first))


def _changes(node: ast.AST, kept: str) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("pop", "update", "setdefault"):
            return _is(function.value, kept)
    if isinstance(node, ast.Subscript | ast.Name) and not isinstance(node.ctx, ast.Load):
        return _is(node.value if isinstance(node, ast.Subscript) else node, kept)
    return False


def _replaces(node: ast.AST, kept: str) -> bool:
    """Whether a call has other starred keywords than those that are taken."""
    if not isinstance(node, ast.Call):
        return False
    other = [each.value for each in node.keywords if each.arg is None]
    return bool(other) and not any(_is(value, kept) for value in other)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _constants(wrapper: types.FunctionType) -> list[str]:
    return [value for value in wrapper.__code__.co_consts if isinstance(value, str)]


def _held_words(wrapper: types.FunctionType) -> Iterator[str]:
    """Yield the texts in what a wrapper has from around it."""
    for cell in wrapper.__closure__ or ():
        held = cell.cell_contents
        if not callable(held):
            yield from _words_in(held, _DEEPEST)


def _words_in(value: Any, deepest: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif deepest and isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _words_in(part, deepest - 1)
    elif deepest and isinstance(value, Mapping):
        for part in (*value.keys(), *value.values()):
            yield from _words_in(part, deepest - 1)
    elif deepest and not isinstance(value, type | types.ModuleType) and hasattr(value, "__dict__"):
        yield from _words_in(vars(value), deepest - 1)
