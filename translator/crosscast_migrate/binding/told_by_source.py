"""What the source of installed functions and classes tells and Python's objects do not."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from typing import Any


def kept_keywords(function: Any, owner: type | None, name: str) -> set[str] | None:
    """The names that a function takes of its `**kwargs` before it refuses others; None: any.

    If it hands them to the same method of a base class, that one's names.
    """
    tree = _tree(inspect.unwrap(function))
    if tree is None or tree.args.kwarg is None:
        return None
    kept = tree.args.kwarg.arg
    names = set(_taken(tree, kept))
    handed = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _hands(node, kept)]
    if not handed:
        return names if _refuses(tree, kept) else None
    if owner is None or not all(_is_super_call(node, name) for node in handed):
        return None
    above = _method_above(owner, function, name)
    if above is None:
        return None
    parameters = list(inspect.signature(above).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            more = kept_keywords(above, owner, name)
            if more is None:
                return None
            names |= more
        elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            names.add(parameter.name)
    return names - {name for node in handed for name in _handed_names(node, parameters)}


def _handed_names(node: ast.Call, parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters that a call fills itself; with another value they are given twice."""
    yield from (keyword.arg for keyword in node.keywords if keyword.arg)
    if not any(isinstance(argument, ast.Starred) for argument in node.args):
        yield from (parameter.name for parameter in parameters[: len(node.args)])


def _method_above(owner: type, function: Any, name: str) -> Any:
    places = [place for place in owner.__mro__ if name in vars(place)]
    functions = [vars(place)[name] for place in places]
    if function not in functions:
        return None
    rest = functions[functions.index(function) + 1 :]
    return rest[0] if rest and isinstance(rest[0], types.FunctionType) else None


@cache
def _tree(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    first = tree.body[0]
    return first if isinstance(first, ast.FunctionDef) else None


def with_empty_default(function: Any) -> frozenset[str]:
    """The parameters whose default is what stands for none: `default=inspect.Signature.empty`."""
    tree = _tree(inspect.unwrap(function))
    if tree is None:
        return frozenset()
    given = tree.args
    positional = [*given.posonlyargs, *given.args]
    first = len(positional) - len(given.defaults)
    pairs: list[tuple[ast.arg, ast.expr | None]] = []
    pairs += [*zip(positional[first:], given.defaults, strict=True)]
    pairs += [*zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return frozenset(
        parameter.arg
        for parameter, default in pairs
        if isinstance(default, ast.Attribute) and default.attr in ("empty", "_empty")
    )


def _taken(tree: ast.AST, kept: str) -> Iterator[str]:
    each_name = {target for node in ast.walk(tree) for target in _loop_targets(node, kept)}
    for node in ast.walk(tree):
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("pop", "get") and _is(node.func.value, kept):
                key = node.args[0]
        elif isinstance(node, ast.Subscript) and _is(node.value, kept):
            key = node.slice
        elif isinstance(node, ast.Compare) and _is(node.comparators[0], kept):
            key = node.left
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.NotIn)
            and _name(node.left) in each_name
        ):
            yield from _constants(node.comparators[0])  # `name not in {"one", "other"}`
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _loop_targets(node: ast.AST, kept: str) -> Iterator[str]:
    """Yield the names that stand for each keyword in a loop over all of them."""
    if isinstance(node, ast.For | ast.comprehension) and any(
        _is(part, kept) for part in ast.walk(node.iter)
    ):
        target = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
        yield from filter(None, [_name(target)])


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _constants(node: ast.expr) -> Iterator[str]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _hands(node: ast.Call, kept: str) -> bool:
    return any(keyword.arg is None and _is(keyword.value, kept) for keyword in node.keywords)


def _is_super_call(node: ast.Call, name: str) -> bool:
    called = node.func
    return (
        isinstance(called, ast.Attribute)
        and called.attr == name
        and isinstance(called.value, ast.Call)
        and _is(called.value.func, "super")
    )


def _refuses(tree: ast.AST, kept: str) -> bool:
    """Whether a function raises if any keyword is left."""
    return any(
        _raises_if_any(node, kept) if isinstance(node, ast.If) else _raises_for_each(node, kept)
        for node in ast.walk(tree)
        if isinstance(node, ast.If | ast.For)
    )


def _raises_if_any(node: ast.If, kept: str) -> bool:
    """`if kwargs: raise`; what follows `in kwargs` is about one name."""
    test = node.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.NotIn):
        return False
    return any(_is(each, kept) for each in ast.walk(test)) and _raises(node.body)


def _raises_for_each(node: ast.For, kept: str) -> bool:
    """`for name in kwargs: raise`, or the same after the names that are taken are passed over."""
    names = list(_loop_targets(node, kept))
    return bool(names) and (
        _raises(node.body)
        or any(
            isinstance(part, ast.If)
            and isinstance(part.test, ast.Compare)
            and _is(part.test.left, names[0])
            and isinstance(part.test.ops[0], ast.NotIn)
            and isinstance(part.test.comparators[0], ast.Set | ast.Tuple | ast.List | ast.Dict)
            and _raises(part.body)
            for part in node.body
        )
    )


def _raises(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Raise) for each in body)


def set_by_methods(owner: type) -> frozenset[str]:
    """The attributes that the methods of a class set of `self`."""
    return frozenset(
        node.attr
        for node in ast.walk(_class_tree(owner))
        if isinstance(node, ast.Attribute)
        and _is(node.value, "self")
        and not node.attr.startswith("_")
    )


def sets_by_name(owner: type) -> bool:
    """Whether the methods of a class set attributes of `self` whose names are values."""
    return any(
        isinstance(node, ast.Call)
        and _is(node.func, "setattr")
        and _is(node.args[0], "self")
        and not isinstance(node.args[1], ast.Constant)
        for node in ast.walk(_class_tree(owner))
    )


@cache
def _class_tree(owner: type) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ast.Module([], [])
