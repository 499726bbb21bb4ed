"""Imported names of apex, their uses, and the removal of their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.layout import Draft, block_of, is_alone
from crosscast_reading.edits.node_edits import column_at, insert
from crosscast_reading.pysource.syntax.nodes import dotted_text, walk
from crosscast_torch.migration.experimental.apex.imports import is_reexported

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


@dataclass(slots=True, eq=False)
class Name:
    """A name of apex in one module."""

    module: Module
    family: str
    """The package of apex: `optimizers`, `parallel`, `normalization`."""
    what: str
    """`FusedAdam`."""
    uses: list[ast.Name | ast.Attribute] = field(default_factory=list)
    imports: list[tuple[ast.ImportFrom, ast.alias]] = field(default_factory=list)

    def calls(self) -> list[ast.Call]:
        """Return its calls."""
        found = [self.module.parent(use) for use in self.uses]
        return [
            call
            for call, use in zip(found, self.uses, strict=True)
            if isinstance(call, ast.Call) and call.func is use
        ]

    def reexport(self) -> ast.ImportFrom | None:
        """Return the import whose name another module of the program imports from here."""
        found = (
            statement for statement, _ in self.imports if is_reexported(self.module, statement)
        )
        return next(found, None)

    def others(self) -> list[ast.Name | ast.Attribute]:
        """Return its uses as a value."""
        called = {id(call.func) for call in self.calls()}
        return [use for use in self.uses if id(use) not in called]


def names_of(module: Module, family: str) -> list[Name]:
    """Return the names of a package of apex that a module certainly imports.

    Names with a fallback for a missing apex, or with a second import, are excluded.

    Args:
        module: the module.
        family: the package.
    """
    found: dict[tuple[str, str], Name] = {}
    for statement in module.every(ast.ImportFrom):
        home = statement.module or ""
        if statement.level or not (home == f"apex.{family}" or home.startswith(f"apex.{family}.")):
            continue
        for alias in statement.names:
            local = alias.asname or alias.name
            if alias.name == "*" or _is_chosen(module, statement, local):
                continue
            key = (alias.name, local)
            entry = found.setdefault(key, Name(module, family, alias.name))
            entry.imports.append((statement, alias))
            if not entry.uses:
                entry.uses = [
                    node
                    for node in module.every(ast.Name)
                    if node.id == local and isinstance(node.ctx, ast.Load)
                ]
    dotted: dict[str, Name] = {}
    for node in module.every(ast.Attribute):
        home, _, last = dotted_text(node).rpartition(".")
        if home == f"apex.{family}" and module.imports.get("apex", "") == "apex":
            dotted.setdefault(last, Name(module, family, last)).uses.append(node)
    return [entry for entry in (*found.values(), *dotted.values()) if entry.uses]


def _is_chosen(module: Module, statement: ast.ImportFrom, local: str) -> bool:
    """Whether a name has another meaning if apex is not installed."""
    around = module.parent(statement)
    tried = isinstance(around, ast.Try) and statement in around.body
    if (
        isinstance(around, ast.Try)
        and tried
        and not all(
            _stops(handler.body) or _only_tells(handler.body) for handler in around.handlers
        )
    ):
        return True
    for other in module.nodes:
        if isinstance(other, ast.FunctionDef | ast.ClassDef) and other.name == local:
            return True
        if isinstance(other, ast.Name | ast.arg):
            if isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store):
                if other.id == local:
                    return True
            elif isinstance(other, ast.arg) and other.arg == local:
                return True
        if isinstance(other, ast.Import | ast.ImportFrom):
            home = getattr(other, "module", "") or ""
            for alias in other.names:
                if (alias.asname or alias.name) == local and not home.startswith("apex"):
                    return True
    return False


def _only_tells(block: list[ast.stmt]) -> bool:
    """Whether a handler neither substitutes a name nor records that it is missing."""
    return all(isinstance(statement, ast.Expr | ast.Pass) for statement in block)


def _stops(block: list[ast.stmt]) -> bool:
    match block[-1]:
        case ast.Raise() | ast.Return():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="exit") | ast.Name(id="exit"))):
            return True
    return False


def remove_names(draft: Draft, names: list[Name]) -> None:
    """Remove the imports of names from a module."""
    statements: dict[ast.ImportFrom, list[ast.alias]] = {}
    for name in names:
        for statement, alias in name.imports:
            statements.setdefault(statement, []).append(alias)
    for statement, taken in statements.items():
        rest = [a for a in statement.names if a not in taken and _is_used(draft.module, a)]
        if rest:
            text = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in rest)
            draft.replace(statement, f"from {statement.module} import {text}")
            continue
        around = draft.module.parent(statement)
        alone = isinstance(around, ast.Try) and block_of(draft.module, statement) is around.body
        if (
            isinstance(around, ast.Try)
            and alone
            and all(
                isinstance(statement, ast.ImportFrom) and statement in statements
                for statement in around.body
            )
            and all(
                alias in statements[statement] or not _is_used(draft.module, alias)
                for statement in around.body
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
            )
            and not (around.orelse or around.finalbody)
        ):
            draft.remove(around)
        else:
            draft.remove(statement)


def _is_used(module: Module, alias: ast.alias) -> bool:
    local = alias.asname or alias.name
    return alias.name == "*" or any(node.id == local for node in module.every(ast.Name))


def local_imports(module: Module, names: list[Name]) -> list[ast.Import]:
    """Return the imports of apex in functions that nothing needs but these names."""
    replaced = {id(node) for name in names for use in name.uses for node in walk(use)}
    if any(node.id == "apex" and id(node) not in replaced for node in module.every(ast.Name)):
        return []
    return [
        statement
        for statement in module.every(ast.Import)
        if [alias.name for alias in statement.names] == ["apex"]
        and not statement.names[0].asname
        and module.function_of(statement) is not None
        and isinstance(module.parent(statement), ast.If | ast.FunctionDef)
    ]


def removable(names: list[Name]) -> bool:
    """Whether no import of the names shares its lines with other statements."""
    return all(is_alone(name.module, statement) for name in names for statement, _ in name.imports)


def change_arguments(draft: Draft, call: ast.Call, drop: Iterable[str], add: str = "") -> None:
    """Remove keyword arguments from a call and add another one.

    The new argument replaces a removed one, if there is any.
    """
    dropped = [keyword for keyword in call.keywords if keyword.arg in set(drop)]
    for keyword in dropped:
        if add:
            draft.edits.append(_edit(draft.module, keyword, keyword, add))
            add = ""
        else:
            draft.edits.append(_removal(draft.module, call, keyword))
    if add:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        last = max(given, key=_end)
        edit = _edit(draft.module, last, last, "")
        draft.edits.append(insert(draft.module, edit.end_line, edit.end_column, f", {add}"))


def _end(node: ast.expr) -> tuple[int, int]:
    return (node.end_lineno or 0, node.end_col_offset or 0)


def _removal(module: Module, call: ast.Call, keyword: ast.keyword) -> Edit:
    """Return the edit that removes an argument with its line or the comma before it."""
    whole = _edit(module, keyword, keyword, "")
    row, last = module.lines[whole.line - 1], module.lines[whole.end_line - 1]
    before, after = row[: whole.column - 1], last[whole.end_column - 1 :].strip()
    if not before.strip() and (after in ("", ",") or after.startswith((",  #", ", #"))):
        comment = after.removeprefix(",").strip()
        return Edit(
            file=whole.file,
            line=whole.line,
            column=1,
            end_line=whole.end_line + 1,
            end_column=1,
            text=f"{before}{comment}\n" if comment else "",
        )
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    place = (keyword.lineno, keyword.col_offset)
    nearest = max(
        (argument for argument in given if (argument.lineno, argument.col_offset) < place), key=_end
    )
    edge = _edit(module, nearest, nearest, "")
    return Edit(
        file=whole.file,
        line=edge.end_line,
        column=edge.end_column,
        end_line=whole.end_line,
        end_column=whole.end_column,
        text="",
    )


def _edit(
    module: Module, first: ast.expr | ast.keyword, last: ast.expr | ast.keyword, text: str
) -> Edit:
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    return Edit(
        file=module.source.name,
        line=first.lineno,
        column=column_at(module, first.lineno, first.col_offset),
        end_line=last.end_lineno,
        end_column=column_at(module, last.end_lineno, last.end_col_offset),
        text=text,
    )


def keywords_of(call: ast.Call) -> dict[str, ast.expr] | None:
    """Return the keyword arguments, or None if the call has other arguments."""
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def is_constant(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is a literal with the given value."""
    return (
        isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value
    )
