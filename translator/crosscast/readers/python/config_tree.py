"""Python configuration files as trees of their assignments, without running them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.combine import plain
from crosscast.pysource.values.value import Known, Symbol
from crosscast.readers.inheritance import merged
from crosscast.readers.python.library_calls import last
from crosscast.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast.facts.fact import Origin
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.module import Module

MAX_DEPTH = 30
_DICTS = ("dict", "OrderedDict", "EasyDict", "ConfigDict")
_PLAIN = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Import, ast.ImportFrom, ast.Delete),
    *(ast.If, ast.With, ast.Try, ast.For, ast.Assert),
)


def is_config(module: Module) -> bool:
    """Return whether a module only assigns: it defines no class and trains nothing itself."""
    return bool(module.tree.body) and all(
        isinstance(statement, _PLAIN) or _is_small(statement) for statement in module.tree.body
    )


def _is_small(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and len(statement.body) <= 5


def assigned(module: Module, start: Mapping[str, Tree] | None = None) -> Tree:
    """Return the assignments of a module as a mapping; the last one of a name counts.

    Args:
        module: a configuration.
        start: what its names are before its own statements: what it imports.
    """
    keys = dict(start or {})
    for statement in module.tree.body:
        target: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign):
            target, value = statement.target, statement.value
        elif isinstance(statement, ast.Expr):
            target, value = _updated(statement.value)
        path = _path(target)
        if not path or value is None:
            continue
        found = tree_of(value, module)
        found.key = module.span(target) if target is not None else None
        if isinstance(statement, ast.Expr):
            found = merged(Tree(found.span, keys=keys).get(*path) or found, found)
        _put(keys, path, found)
    first = module.tree.body[0]
    return Tree(module.span(first), keys=keys)


def _updated(call: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """Return what `section.update(values)` changes, and the values."""
    if not isinstance(call, ast.Call) or not call.args:
        return None, None
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr not in ("update", "merge"):
        return None, None
    return method.value, call.args[0]


def _path(target: ast.expr | None) -> tuple[str, ...]:
    """Return the keys of `a.b["c"]`; empty for other targets."""
    keys: list[str] = []
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            keys.append(target.attr)
        elif isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            keys.append(target.slice.value)
        else:
            return ()
        target = target.value
    return (target.id, *reversed(keys)) if isinstance(target, ast.Name) else ()


def _put(keys: dict[str, Tree], path: tuple[str, ...], found: Tree) -> None:
    """Put a value under a path of keys; sections on the way are copied, not changed."""
    name, *rest = path
    if not rest:
        keys[name] = found
        return
    section = keys.get(name)
    inner = dict((section.keys or {}) if section is not None else {})
    _put(inner, tuple(rest), found)
    keys[name] = Tree(section.span if section is not None else found.span, keys=inner)


def tree_of(node: ast.expr, module: Module, depth: int = 0) -> Tree:
    """Return an expression as a tree of dictionaries, lists and known values."""
    span = module.span(node)
    if depth > MAX_DEPTH:
        return Tree(span, reason="nested too deeply")
    if isinstance(node, ast.Dict):
        return _mapping(node, module, depth, span)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _DICTS:
        return _called(node, module, depth, span)
    if isinstance(node, ast.Call) and (made := _made_lazily(node, module)) is not None:
        target = _leaf(made, module, depth, module.span(made))
        given = _called(node, module, depth, span).keys or {}
        return Tree(span, keys={"_target_": target, **given})
    if isinstance(node, ast.List | ast.Tuple):
        items = [tree_of(element, module, depth + 1) for element in node.elts]
        return Tree(span, items=items)
    return _leaf(node, module, depth, span)


def _made_lazily(node: ast.Call, module: Module) -> ast.expr | None:
    """Return the class of `LazyCall(cls)(...)`."""
    inner = node.func
    if not isinstance(inner, ast.Call) or len(inner.args) != 1:
        return None
    return inner.args[0] if _is_lazy_call(inner.func, module) else None


def _is_lazy_call(function: ast.expr, module: Module) -> bool:
    """Whether a name is LazyCall, of a file that is given or by its import."""
    if last(module.resolve(function)) == "LazyCall":
        return True
    imports = (s for s in module.tree.body if isinstance(s, ast.ImportFrom))
    shown = {a.asname or a.name for s in imports for a in s.names if a.name == "LazyCall"}
    return isinstance(function, ast.Name) and function.id in shown


def _mapping(node: ast.Dict, module: Module, depth: int, span: Span) -> Tree:
    keys: dict[str, Tree] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            keys |= tree_of(value, module, depth + 1).keys or {}
        elif isinstance(key, ast.Constant):
            found = tree_of(value, module, depth + 1)
            found.key = module.span(key)
            keys[str(key.value)] = found
    return Tree(span, keys=keys)


def _called(node: ast.Call, module: Module, depth: int, span: Span) -> Tree:
    keys: dict[str, Tree] = {}
    for argument in node.args[:1]:
        keys |= tree_of(argument, module, depth + 1).keys or {}
    for keyword in node.keywords:
        found = tree_of(keyword.value, module, depth + 1)
        if keyword.arg is None:
            keys |= found.keys or {}
        else:
            found.key = module.span(keyword)
            keys[keyword.arg] = found
    return Tree(span, keys=keys)


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
    if isinstance(value, dict):
        keys = {str(k): _known(plain(v), span, origin) for k, v in value.items()}
        return Tree(span, keys=keys, origin=origin)
    if isinstance(value, list | tuple):
        return Tree(span, items=[_known(plain(v), span, origin) for v in value], origin=origin)
    if isinstance(value, Symbol):
        return Tree(span, value.name, origin="constant")
    if value is None or isinstance(value, bool | int | float | str):
        return Tree(span, value, origin=origin)
    return Tree(span, str(value)[:200], reason=str(getattr(value, "reason", "not a plain value")))
