"""Where a script uses what some of its lines define."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

KEPT = frozenset(
    {
        *("SETTINGS", "LossFunction", "TrainState", "build_model", "micro_batch_loss"),
        *("train_window", "evaluate", "make_state", "train", "main", "add_options"),
    }
)
"""Names that every script has. Each of them stands for many fields, so that a line that uses one
of them says nothing about a single field."""


@dataclass(frozen=True, slots=True)
class _Definition:
    first: int
    last: int
    uses: frozenset[int]
    """The lines that use what is defined."""


@dataclass(frozen=True, slots=True)
class NameUses:
    """The definitions of a module: its constants and functions, and results of these functions."""

    definitions: Sequence[_Definition] = ()

    def of(self, lines: Collection[int]) -> set[int]:
        """Return the lines that use what is defined on `lines`, directly or through others."""
        reached_lines = set(lines)
        left, grown = list(self.definitions), True
        while grown:
            reached = [d for d in left if any(d.first <= line <= d.last for line in reached_lines)]
            left = [definition for definition in left if definition not in reached]
            reached_lines.update(line for definition in reached for line in definition.uses)
            grown = bool(reached)
        return reached_lines.difference(lines)


def name_uses(text: str) -> NameUses:
    """Read a module; of a text that is not Python nothing is known."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return NameUses()
    named = [(name, node) for node in tree.body for name in _defined(node) if name not in KEPT]
    known = {name for name, _ in named}
    definitions = [_definition(node, name, tree) for name, node in named]
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=of))):
                    if of in known:
                        definitions.append(_definition(node, name, function))
    return NameUses(definitions)


def _definition(node: ast.stmt, name: str, scope: ast.AST) -> _Definition:
    uses = frozenset(line for loaded, line in _loads(scope) if loaded == name)
    return _Definition(node.lineno, node.end_lineno or node.lineno, uses)


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _loads(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that are read, with their lines, but those in annotations."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                yield child.id, child.lineno
            elif isinstance(child, ast.AST):
                yield from _loads(child)
