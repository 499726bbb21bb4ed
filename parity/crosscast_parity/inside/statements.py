"""What the statements of a program bind, read and call, as its text has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements whose bodies are scopes of their own."""
_LATER = (*SCOPES, ast.Lambda)


def is_bare(node: ast.stmt) -> bool:
    """Whether a statement cannot fail, or may not be within a `try`."""
    if isinstance(node, ast.Return) and node.value is None:
        return True  # with a value, it would be an error in an asynchronous generator
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return future or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def is_counting(node: ast.AST) -> bool:
    """Whether something is counted in a part of a program."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in ("len", "sum") for name in calls)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without what runs later or in a scope of its own."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _LATER):
            yield child
        else:
            yield from _own(child)


def names_of(body: list[ast.stmt]) -> frozenset[str]:
    """Return the names that statements bind in their own scope."""
    parts = [part for node in body for part in _own(node)]
    shared = {n for p in parts if isinstance(p, ast.Global | ast.Nonlocal) for n in p.names}
    bound = {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
    return frozenset(bound - shared)


def indexed_of(node: ast.stmt) -> set[str]:
    """Return the names of containers into which a statement puts something."""
    stored = [
        p for p in _own(node) if isinstance(p, ast.Subscript) and isinstance(p.ctx, ast.Store)
    ]
    return {part.value.id for part in stored if isinstance(part.value, ast.Name)}


def bound_of(node: ast.stmt, filled: set[str]) -> list[ast.expr]:
    """Return the targets that a statement binds: names, and attributes of names.

    `filled`: names of containers that it fills.
    """
    names: dict[str, None] = dict.fromkeys(sorted(filled))
    attributes: list[ast.expr] = []
    for each in [node] if isinstance(node, SCOPES) else _own(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names[each.id] = None
        elif isinstance(each, ast.alias) and each.name != "*":
            names[each.asname or each.name.partition(".")[0]] = None
        elif isinstance(each, SCOPES):
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


def reads_of(node: ast.stmt) -> tuple[str, ...]:
    """Return the names, and attributes of names, that a statement reads."""
    reads: dict[str, None] = {}
    for each in _own(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            reads[each.id] = None
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            reads[f"{each.value.id}.{each.attr}"] = None
    return tuple(reads)


def calls_of(node: ast.stmt) -> tuple[tuple[str, str], ...]:
    """Return the methods that a statement calls, with the names whose methods they are."""
    called = [each.func for each in _own(node) if isinstance(each, ast.Call)]
    methods = [each for each in called if isinstance(each, ast.Attribute)]
    return tuple(dict.fromkeys((ast.unparse(each.value), each.attr) for each in methods))
