"""Shared code of the codemods for `paddle.fluid`: imports and replacement of old names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Span
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.programs.module import Module

_FLUID = re.compile(r"paddle\.fluid(\..*)?")


class CannotError(Exception):
    """Why the names of a module cannot be replaced with certainty."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


@dataclass(slots=True)
class Renaming:
    """Replacement of the called names of a module.

    Attributes:
        module: module of the names.
        calls: called expression and its new qualified name, such as `paddle.amp.x`.
        imported: old to new qualified name, for `from ... import`.
        gone: ids of nodes that other edits remove.
    """

    module: Module
    calls: Sequence[tuple[ast.expr, str]]
    imported: Mapping[str, str]
    gone: frozenset[int] = frozenset()
    edits: list[Edit] = field(default_factory=list)

    def run(self) -> list[Edit]:
        """Return the edits; raise `CannotError` if something is not certain."""
        renamed = self._imports()
        ids = {id(function) for function, _ in self.calls}
        for node in self.module.every(ast.Name):
            if node.id in renamed and isinstance(node.ctx, ast.Load):
                if id(node) not in ids:
                    raise CannotError(node, f"{node.id} is also used as a value")
                if new := renamed[node.id]:
                    self.edits.append(replace_node(self.module, node, new))
        chains = [
            (function, new) for function, new in self.calls if isinstance(function, ast.Attribute)
        ]
        for function, _ in self.calls:
            if isinstance(function, ast.Name) and function.id not in renamed:
                raise CannotError(function, f"{function.id} is not imported under this name")
        if chains:
            self._chains(chains)
        return self.edits

    def _imports(self) -> dict[str, str]:
        """Edit the imports of single names; return old to new local names."""
        renamed: dict[str, str] = {}
        for statement in self.module.every(ast.ImportFrom):
            moved = [a for a in statement.names if _whole(statement, a) in self.imported]
            if not moved:
                continue
            if len(moved) < len(statement.names):
                raise CannotError(statement, "the import has other names, too")
            for alias in moved:
                new = self.imported[_whole(statement, alias)].rpartition(".")[2]
                if alias.asname is None and alias.name in renamed:
                    raise CannotError(statement, f"{alias.name} is imported twice")
                taken = alias.asname is None and alias.name != new and is_bound(self.module, new)
                same = alias.asname is not None or taken or alias.name == new
                renamed[alias.asname or alias.name] = "" if same else new
                self.edits.append(_name_edit(self.module, alias, new, keep=taken))
            places = {self.imported[_whole(statement, alias)].rpartition(".")[0] for alias in moved}
            self.edits.append(_place_edit(self.module, statement, places.pop()))
            if places:
                raise CannotError(statement, "the imported names moved to several modules")
        return renamed

    def _chains(self, chains: Sequence[tuple[ast.Attribute, str]]) -> None:
        roots: dict[str, list[ast.Name]] = {}
        for function, _ in chains:
            root = _root(function)
            if root is None:
                raise CannotError(function, "it is an attribute of an expression, not of a name")
            roots.setdefault(root.id, []).append(root)
        local = self._paddle(roots)
        for function, new in chains:
            text = new.replace("paddle.", f"{local}.", 1)
            self.edits.append(replace_node(self.module, function, text))

    def _paddle(self, roots: Mapping[str, list[ast.Name]]) -> str:
        """Return the name of paddle in the module; add its import and drop unused ones."""
        body = [
            statement
            for statement in self.module.tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
        ]
        named = [
            alias.asname or "paddle"
            for statement in body
            if isinstance(statement, ast.Import)
            for alias in statement.names
            if alias.name == "paddle"
        ]
        local = named[0] if named else "paddle"
        known = bool(named)
        for root in roots:
            statement = _single_import(self.module, root)
            if statement is None:
                if root in named:
                    continue  # `import paddle` and use of paddle.fluid
                raise CannotError(
                    roots[root][0], f"{root} is not imported exactly once at module level"
                )
            stale = self._uses(root) == len(roots[root])
            if stale and known and _alone(self.module, statement):
                self.edits.append(drop_lines(self.module, statement))
            elif stale:
                self.edits.append(replace_node(self.module, statement, "import paddle"))
                known = True
            elif not known and root != "paddle":
                self.edits.append(insert_before(self.module, statement, "import paddle\n"))
                known = True
        if local == "paddle" and not named and is_bound(self.module, "paddle", imports=False):
            raise CannotError(
                self.module.tree.body[0], "the name paddle is used for another object"
            )
        return local

    def _uses(self, local: str) -> int:
        return sum(
            node.id == local and not self._is_removed(node) for node in self.module.every(ast.Name)
        )

    def _is_removed(self, node: ast.AST) -> bool:
        here: ast.AST | None = node
        while here is not None and id(here) not in self.gone:
            here = self.module.parent(here)
        return here is not None


def guarded(module: Module, names: Iterable[str]) -> bool:
    """Whether a module handles missing old names: their import is in a `try`."""
    places = tuple(names)
    for statement in module.nodes:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        whole = [_whole(statement, alias) for alias in statement.names]
        if any(name.startswith(places) for name in whole) and _in_try(module, statement):
            return True
    return False


def _in_try(module: Module, node: ast.AST) -> bool:
    return within_try(module, node) or module.enclosing(node, ast.ExceptHandler) is not None


def remaining_fluid_names(module: Module, done: re.Pattern[str]) -> Iterator[tuple[str, Span]]:
    """Yield each name of paddle.fluid that a module certainly uses, with its first location.

    Args:
        module: the module to search.
        done: names that are handled elsewhere.
    """
    seen: set[str] = set()
    nodes: list[ast.Attribute | ast.Name] = [*module.every(ast.Attribute)]
    for node in (*nodes, *module.every(ast.Name)):
        root = _root(node)  # None for a method of a returned object
        if root is None or isinstance(module.parent(node), ast.Attribute) or module.is_dead(node):
            continue
        if not _is_imported(module, root.id) or not isinstance(node.ctx, ast.Load):
            continue
        names = module.resolve_all(node)
        if not names or not all(map(_FLUID.fullmatch, names)) or done.match(names[0]):
            continue
        if names[0] not in seen and not _in_try(module, node):
            seen.add(names[0])
            yield names[0], module.span(node)


def unused_fluid_imports(module: Module, done: re.Pattern[str]) -> Iterator[tuple[str, Span]]:
    """Yield unused imports of paddle.fluid."""
    for statement in module.nodes:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or module.is_dead(statement):
            continue
        for alias in statement.names:
            name = _whole(statement, alias)
            if not _FLUID.fullmatch(name) or done.match(name) or _in_try(module, statement):
                continue
            local = alias.asname or alias.name.partition(".")[0]
            if not any(node.id == local for node in module.every(ast.Name)):
                yield name, module.span(statement)


def _is_imported(module: Module, local: str) -> bool:
    return module.imports.get(local, "").partition(".")[0] == "paddle"


def _whole(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if isinstance(statement, ast.Import):
        return alias.name
    return f"{statement.module or ''}.{alias.name}" if not statement.level else ""


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _single_import(module: Module, local: str) -> ast.Import | ast.ImportFrom | None:
    """Return the module-level import of fluid alone that binds a local name."""
    found: list[ast.Import | ast.ImportFrom] = []
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom) and any(
            (alias.asname or alias.name.partition(".")[0]) == local
            and _FLUID.fullmatch(_whole(statement, alias))
            for alias in statement.names
        ):
            found.append(statement)
    if len(found) != 1 or len(found[0].names) != 1 or found[0] not in module.tree.body:
        return None
    return found[0]


def is_bound(module: Module, name: str, *, imports: bool = True) -> bool:
    """Whether a module binds or reads a name.

    Args:
        module: the module to search.
        name: without dots.
        imports: whether imports and reads count.
    """
    for node in module.nodes:
        if isinstance(node, ast.Name):
            found = node.id == name and (imports or isinstance(node.ctx, ast.Store))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = node.name == name
        elif isinstance(node, ast.arg):
            found = node.arg == name
        else:
            found = imports and isinstance(node, ast.alias) and (node.asname or node.name) == name
        if found:
            return True
    return False


def _name_edit(module: Module, alias: ast.alias, new: str, *, keep: bool) -> Edit:
    column = column_at(module, alias.lineno, alias.col_offset)
    return Edit(
        file=module.source.name,
        line=alias.lineno,
        column=column,
        end_line=alias.lineno,
        end_column=column + len(alias.name),
        text=f"{new} as {alias.name}" if keep else new,
    )


def _place_edit(module: Module, statement: ast.ImportFrom, new: str) -> Edit:
    """Return the edit of the module in `from paddle.fluid.dygraph import ...`."""
    row = module.lines[statement.lineno - 1]
    place = statement.module or ""
    start = row.find(place, column_at(module, statement.lineno, statement.col_offset) - 1)
    if start < 0:
        raise CannotError(statement, "the import spans several lines")
    return Edit(
        file=module.source.name,
        line=statement.lineno,
        column=start + 1,
        end_line=statement.lineno,
        end_column=start + 1 + len(place),
        text=new,
    )


def _alone(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with nothing, not even a comment."""
    last = statement.end_lineno or statement.lineno
    rows = module.lines[statement.lineno - 1 : last]
    whole = " ".join(" ".join(rows).split())
    return last < len(module.lines) and whole == module.text(statement) and "#" not in whole


def drop_lines(module: Module, statement: ast.stmt) -> Edit:
    """Return the edit that removes a statement with its lines."""
    if not _alone(module, statement):
        raise CannotError(statement, "it shares its lines with other code")
    return Edit(
        file=module.source.name,
        line=statement.lineno,
        column=1,
        end_line=(statement.end_lineno or statement.lineno) + 1,
        end_column=1,
        text="",
    )


def exact(module: Module, node: ast.expr) -> str:
    """Return the source text of an expression, including line breaks."""
    found = ast.get_source_segment("\n".join(module.lines), node)
    assert found is not None
    return found


def more_arguments(module: Module, node: ast.Call, text: str) -> Edit:
    """Return the edit that appends keyword arguments to a call."""
    if node.keywords:
        last = node.keywords[-1]
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        column = column_at(module, last.end_lineno, last.end_col_offset)
        return insert(module, last.end_lineno, column, f", {text}")
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    column = column_at(module, node.end_lineno, node.end_col_offset) - 1
    if node.args and (node.lineno != node.end_lineno):
        raise CannotError(node, "its positional arguments span several lines")
    before = module.lines[node.end_lineno - 1][: column - 1].rstrip()
    comma = "" if not node.args or before.endswith(",") else ", "
    return insert(module, node.end_lineno, column, f"{comma}{text}")
