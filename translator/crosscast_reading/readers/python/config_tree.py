"""Python configuration files as trees of their assignments, without running them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.combine import plain
from crosscast_reading.pysource.values.value import Known, Symbol
from crosscast_reading.readers.inheritance import merged
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Origin
    from crosscast_reading.pysource.programs.module import Module

MAX_DEPTH = 30
_DICTS = ("dict", "OrderedDict", "EasyDict", "ConfigDict")
_PLAIN = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Import, ast.ImportFrom, ast.Delete),
    *(ast.If, ast.With, ast.Try, ast.For, ast.Assert, ast.FunctionDef),
)


def is_config(module: Module) -> bool:
    """Return whether a module only assigns: it defines no class and trains nothing itself."""
    return bool(module.tree.body) and all(
        isinstance(statement, _PLAIN) for statement in module.tree.body
    )


def assigned(module: Module, start: Mapping[str, Tree] | None = None) -> Tree:
    """Return the assignments of a module as a mapping; the last one of a name counts.

    Args:
        module: a configuration.
        start: what its names are before its own statements: what it imports.
    """
    keys = dict(start or {})
    for statement in module.tree.body:
        match statement:
            case ast.Assign(targets=[target], value=value):
                tree = tree_of(value, module)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                tree = tree_of(value, module)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=target, attr="update" | "merge")) as call
            ):
                tree = tree_of(call.args[0], module) if call.args else _called(call, module)
                before = Tree(tree.span, keys=keys).section(*_path(target))
                tree = merged(before, tree)
            case _:
                continue
        tree.key = module.span(target)
        if path := _path(target):
            _put(keys, path, tree)
    return Tree(module.span(module.tree.body[0]), keys=keys)


def _path(target: ast.expr) -> tuple[str, ...]:
    """Return the keys of `a.b["c"]`; empty for other targets."""
    keys: list[str] = []
    while not isinstance(target, ast.Name):
        match target:
            case (
                ast.Attribute(value=inner, attr=key)
                | ast.Subscript(value=inner, slice=ast.Constant(value=str(key)))
            ):
                keys.append(key)
                target = inner
            case _:
                return ()
    return (target.id, *reversed(keys))


def _put(keys: dict[str, Tree], path: tuple[str, ...], tree: Tree) -> None:
    """Put a value under a path of keys; sections on the way are copied, not changed."""
    name, *rest = path
    if not rest:
        keys[name] = tree
        return
    section = keys.get(name)
    inner = dict((section.keys or {}) if section is not None else {})
    _put(inner, tuple(rest), tree)
    keys[name] = Tree(section.span if section is not None else tree.span, keys=inner)


def tree_of(node: ast.expr, module: Module, depth: int = 0) -> Tree:
    """Return an expression as a tree of dictionaries, lists and known values."""
    span = module.span(node)
    if depth > MAX_DEPTH:
        return Tree(span, reason="nested too deeply")
    if isinstance(node, ast.Dict):
        return _mapping(node, module, depth, span)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _DICTS:
        return _called(node, module, depth)
    if isinstance(node, ast.Call) and (made := _made_lazily(node, module)) is not None:
        target = _leaf(made, module, depth, module.span(made))
        given = _called(node, module, depth).keys or {}
        return Tree(span, keys={"_target_": target, **given})
    if isinstance(node, ast.List | ast.Tuple):
        items = [tree_of(element, module, depth + 1) for element in node.elts]
        return Tree(span, items=items)
    return _leaf(node, module, depth, span)


def _made_lazily(node: ast.Call, module: Module) -> ast.expr | None:
    """Return the class of `LazyCall(cls)(...)`."""
    match node.func:
        case ast.Call(func=function, args=[made]):
            imported = module.imports.get(module.text(function), "")
            if "LazyCall" in (last(module.resolve(function)), last(imported)):
                return made
    return None


def _mapping(node: ast.Dict, module: Module, depth: int, span: Span) -> Tree:
    keys: dict[str, Tree] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        tree = tree_of(value, module, depth + 1)
        match key:
            case None:
                keys |= tree.keys or {}
            case ast.Constant(value=name):
                tree.key = module.span(key)
                keys[str(name)] = tree
    return Tree(span, keys=keys)


def _called(node: ast.Call, module: Module, depth: int = 0) -> Tree:
    keys: dict[str, Tree] = {}
    for argument in node.args[:1]:
        keys |= tree_of(argument, module, depth + 1).keys or {}
    for keyword in node.keywords:
        tree = tree_of(keyword.value, module, depth + 1)
        if keyword.arg is None:
            keys |= tree.keys or {}
        else:
            tree.key = module.span(keyword)
            keys[keyword.arg] = tree
    return Tree(module.span(node), keys=keys)


def _leaf(node: ast.expr, module: Module, depth: int, span: Span) -> Tree:
    value = evaluate(node, module)
    if isinstance(value, Known):
        return _known(value.value, span, value.origin)
    name = value.name if isinstance(value, Symbol) else module.resolve(node)
    if name:
        return Tree(span, name, origin="constant")
    reason = getattr(value, "reason", "") or "not a plain value"
    return Tree(span, module.text(node)[:200], reason=reason)


def _known(value: object, span: Span, origin: Origin) -> Tree:
    match value:
        case dict():
            keys = {str(k): _known(plain(v), span, origin) for k, v in value.items()}
            return Tree(span, keys=keys, origin=origin)
        case list() | tuple():
            return Tree(span, items=[_known(plain(v), span, origin) for v in value], origin=origin)
        case Symbol(name=name):
            return Tree(span, name, origin="constant")
        case None | bool() | int() | float() | str():
            return Tree(span, value, origin=origin)
    return Tree(span, str(value)[:200], reason=str(getattr(value, "reason", "not a plain value")))
