"""Names that Paddle 3 does not have, or gives another meaning, and no row of the table moves."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_migrate.codemod import Refusal
from crosscast_paddle.migration.experimental.paddle_names.gone_names import RETURNED, way_out
from crosscast_paddle.migration.experimental.paddle_names.present import absent_part
from crosscast_paddle.migration.experimental.paddle_names.row import Mode
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from crosscast_paddle.migration.experimental.paddle_names.uses import Dotted, uses_of, whole_names
from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.programs.module import Module


def gone_names(modules: Sequence[Module], mode: Mode) -> Iterator[Refusal]:
    """Report each name once in each file of a program."""
    known = rows_for(mode)
    set_here = {name for module in modules for name in _assigned(module)}
    for module in modules:
        moved = {id(use.node) for use in uses_of(module, known)}
        seen: set[str] = set(set_here)
        for node, whole in (*whole_names(module), *_imported(module)):
            gone = absent_part(whole)
            name = gone or (whole if whole in RETURNED else "")
            if not name or name in seen or whole in known or _moves(node, moved):
                continue
            if module.is_dead(node) or _is_asked_for(module, node, name):
                continue
            seen.add(name)
            yield _gone(module, node, name) if gone else _returned(module, node, name)


def _gone(module: Module, node: ast.AST, name: str) -> Refusal:
    return Refusal(
        span=module.span(node), message=f"Paddle 3 does not have {name}", hint=way_out(name)
    )


def _returned(module: Module, node: ast.AST, name: str) -> Refusal:
    meaning, way = RETURNED[name]
    return Refusal(span=module.span(node), message=f"{name} {meaning}", hint=way)


def _moves(node: ast.AST, moved: set[int]) -> bool:
    """Whether a row of the table is for a name or for a part of it."""
    here: ast.AST | None = node
    while isinstance(here, Dotted):
        if id(here) in moved:
            return True
        here = here.value if isinstance(here, ast.Attribute) else None
    return False


def _imported(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield each import of paddle and the qualified names in it."""
    for node in module.every(ast.ImportFrom):
        if node.module and not node.level and f"{node.module}.".startswith("paddle."):
            for alias in node.names:
                yield node, node.module if alias.name == "*" else f"{node.module}.{alias.name}"
    for imported in module.every(ast.Import):
        for alias in imported.names:
            if alias.name.startswith("paddle."):
                yield imported, alias.name


def _assigned(module: Module) -> Iterator[str]:
    """Yield the names of paddle that a program defines itself: `paddle.name = ...`."""
    for node in module.every(ast.Attribute):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            target = module.imports.get(node.value.id, "")
            if target.partition(".")[0] == "paddle":
                yield f"{target}.{node.attr}"


def _is_asked_for(module: Module, node: ast.AST, name: str) -> bool:
    """Whether the program expects that the name may be missing."""
    if within_try(module, node) or module.enclosing(node, ast.ExceptHandler) is not None:
        return True
    short = name.rpartition(".")[2]
    return any(
        isinstance(call.node.func, ast.Name)
        and call.node.func.id in ("hasattr", "getattr")
        and any(isinstance(a, ast.Constant) and a.value == short for a in call.node.args)
        for call in module.calls
    )
