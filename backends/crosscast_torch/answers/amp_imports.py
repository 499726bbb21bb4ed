"""The imports of torch.cuda.amp and torch.cpu.amp, and how they become imports of torch.amp."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_torch.answers.amp_uses import ASKS, CLASSES, DECORATORS, PLACES, is_old

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_HOMES = ("torch.cuda", "torch.cpu")


def importing(module: Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of an old package, or of names of it."""
    imports: list[ast.Import | ast.ImportFrom] = []
    imports += [statement for statement in module.every(ast.Import) if _names_old(statement)]
    imports += [statement for statement in module.every(ast.ImportFrom) if _names_old(statement)]
    return imports


def _names_old(statement: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(statement, ast.Import):
        return any(is_old(alias.name) for alias in statement.names)
    if statement.level:
        return False
    if statement.module in _HOMES:
        return any(alias.name == "amp" for alias in statement.names)
    return is_old(statement.module or "")


def import_edit(module: Module, statement: ast.Import | ast.ImportFrom) -> Edit | str:
    """Return the edit of an import, or why there is none."""
    if why := _choice(module, statement):
        return why
    match statement:
        case ast.ImportFrom(module=str(home), names=names) if home not in _HOMES:
            known = (*CLASSES, *DECORATORS, "*")
            if odd := [alias.name for alias in names if alias.name not in known]:
                return f"{odd[0]} is imported from {home} in line {statement.lineno}"
            return _package(module, statement, home)
        case ast.ImportFrom(names=[ast.alias(asname=None)]):
            return replace_node(module, statement, "from torch import amp")
        case ast.ImportFrom(names=[ast.alias(asname=str(local))]):
            return replace_node(module, statement, f"from torch import amp as {local}")
        case ast.Import(names=[ast.alias(name=home)]):
            return _package(module, statement, home)
    return f"line {statement.lineno} imports something else, too"


def _package(module: Module, statement: ast.Import | ast.ImportFrom, home: str) -> Edit | str:
    """Return the edit of the name of the old package in an import."""
    place = next(place for place in PLACES if home.startswith(place))
    row = module.lines[statement.lineno - 1]
    start = row.find(place, len(row.encode()[: statement.col_offset].decode()))
    if start < 0:
        return f"the import in line {statement.lineno} is written in several lines"
    line, column = statement.lineno, start + 1
    end = column + len(place)
    return Edit(
        file=module.source.name,
        line=line,
        column=column,
        end_line=line,
        end_column=end,
        text="torch.amp",
    )


def _choice(module: Module, statement: ast.stmt) -> str:
    """Return how the program chooses what is imported; empty if it always imports this."""
    here: ast.AST | None = statement
    while here is not None:
        around = module.parent(here)
        if isinstance(here, ast.ExceptHandler):
            return f"line {statement.lineno} imports it only if another import fails"
        if isinstance(around, ast.Try) and not all(map(_is_loud, around.handlers)):
            return f"the program has a substitute where the import in line {statement.lineno} fails"
        if isinstance(around, ast.If) and ASKS.search(module.text(around.test)):
            return f"the import in line {statement.lineno} depends on {module.text(around.test)}"
        here = around
    return ""


def _is_loud(handler: ast.ExceptHandler) -> bool:
    """Whether the program stops after a failing import, there or where the name is used."""
    return all(isinstance(node, ast.Pass | ast.Raise | ast.Expr) for node in handler.body)


def is_imported_elsewhere(module: Module, name: str) -> bool:
    """Whether another file of the program imports a name from a module."""
    return any(
        alias.name in (name, "*") and other.program.find_module(_home(node), other) is module
        for other in module.program.modules
        if other is not module
        for node in other.every(ast.ImportFrom)
        for alias in node.names
    )


def _home(statement: ast.ImportFrom) -> str:
    return "." * statement.level + (statement.module or "")
