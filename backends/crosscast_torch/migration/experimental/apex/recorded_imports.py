"""Imports of apex in a `try` that records whether apex is installed, as in `has_apex = True`.

The record must not stay: without apex it would be false, and the program would train without half
precision. So all that such a `try` imports moves with the loop, or the loop stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.layout import Draft, indent_of
from crosscast_reading.pysource.syntax.nodes import dotted_text, identifier, walk
from crosscast_torch.migration.experimental.apex import fused_names, parallel_names
from crosscast_torch.migration.experimental.apex.imports import is_reexported
from crosscast_torch.migration.experimental.apex.moved_names import Name, names_of
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_ASKING = ("importlib.util.find_spec", "pkgutil.find_loader", "importlib.import_module")
_OF_LIBRARY = "is_apex_available"
"""A function of transformers."""
_FAMILIES = ("parallel", "optimizers", "normalization")


def records_in(module: Module) -> list[ast.Try]:
    """Return the `try` statements that import apex and assign or return something."""
    return [
        node
        for node in module.every(ast.Try)
        if any(_imports_apex(part) for part in node.body)
        and any(_is_record(part) for part in _parts(node))
    ]


def _parts(node: ast.Try) -> list[ast.stmt]:
    handled = [part for handler in node.handlers for part in handler.body]
    return [*node.body, *node.orelse, *handled]


def _imports_apex(statement: ast.stmt) -> bool:
    match statement:
        case ast.ImportFrom(module=str(home), level=0):
            return home.partition(".")[0] == "apex"
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] == "apex" for alias in names)
    return False


def _is_record(statement: ast.stmt) -> bool:
    """Whether a statement is `has_apex = True` or `return True`."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
            return True
        case ast.Return(value=ast.Constant()):
            return True
    return False


def check_questions(program: Program, stops: Stops) -> None:
    """Report calls that ask a library whether apex is installed: the answer would stay no."""
    for module in program.modules:
        for call in module.calls:
            asks = call.name in _ASKING and call.node.args and _is_apex(call.node.args[0])
            known = identifier(call.node.func) == _OF_LIBRARY and ":" not in call.name
            if (asks or known) and not _guards_imports(module, call.node):
                stops.add(
                    module,
                    call.node,
                    f"{module.text(call.node)} asks whether apex is installed, which the migrated "
                    "program does not need",
                    "replace the question by True first",
                )


def _is_apex(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(name)):
            return name.partition(".")[0] == "apex"
    return False


def _guards_imports(module: Module, call: ast.Call) -> bool:
    """Whether a call only decides about imports, which go."""
    match module.parent(call):
        case ast.If(test=test, body=body, orelse=[]):
            return test is call and all(map(_imports_apex, body))
    return False


def sets_flag(module: Module) -> bool:
    """Whether a module records by `True` that apex is installed."""
    return any(
        isinstance(part, ast.Assign | ast.Return)
        and isinstance(part.value, ast.Constant)
        and part.value.value is True
        for node in records_in(module)
        if _concerns_amp(module, node)
        for part in (*node.body, *node.orelse)
    )


def move_recorded(draft: Draft, allowed: frozenset[str], stops: Stops) -> tuple[set[int], str]:
    """Replace each such `try` by its record, with what it imports beside apex.amp.

    Args:
        draft: of a module of a program whose loop moves.
        allowed: changes of meaning that may be made.
        stops: receives what cannot be moved.

    Returns:
        The ids of all nodes that are replaced, and the notes about them.
    """
    module = draft.module
    records = [node for node in records_in(module) if _concerns_amp(module, node)]
    records = [node for node in records if _is_pure(node)]
    if not records:
        return set(), ""
    names = list(_names(module, records))
    for name in names:
        refusal = _moved(name, draft, allowed)
        if refusal is not None:
            stops.refusals.append(refusal)
    taken = {id(alias) for name in names for _, alias in name.imports}
    done = {id(part) for name in names for use in name.uses for part in walk(use)}
    for node in records:
        for text in _left(module, node, taken, done):
            stops.add(
                module,
                node,
                f"{text} is imported where the program records whether apex is installed",
                f"first replace {text}, or import it elsewhere",
            )
        top = module.parent(node) is module.tree
        if top and any(is_reexported(module, part) for part in node.body if _is_import(part)):
            stops.add(
                module,
                node,
                "another file imports from here what is None or false without apex",
                "import amp from apex in that file",
            )
        _write_record(draft, node)
        done |= {id(part) for part in walk(node)}
    notes = [parallel_names.NOTES.get(name.what, "") for name in names]
    notes += [fused_names.NOTE for name in names if name.family == "optimizers"]
    return done, " ".join(dict.fromkeys(note for note in notes if note))


def _is_import(statement: ast.stmt) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _is_pure(node: ast.Try) -> bool:
    """Whether a `try` only imports apex and records that."""
    body = all(_imports_apex(part) or _is_record(part) for part in node.body)
    return body and all(map(_is_record, node.orelse)) and not node.finalbody


def _write_record(draft: Draft, node: ast.Try) -> None:
    module = draft.module
    kept = [module.text(part) for part in (*node.body, *node.orelse) if _is_record(part)]
    if kept:
        draft.replace(node, f"\n{indent_of(module, node)}".join(kept))
    else:
        draft.remove(node)


def _names(module: Module, records: list[ast.Try]) -> Iterator[Name]:
    """Yield the names of apex that the statements bring."""
    whole = any(isinstance(part, ast.Import) for node in records for part in node.body)
    for family in _FAMILIES:
        for name in names_of(module, family, records):
            places = [module.parent(statement) for statement, _ in name.imports]
            if (not places and whole) or any(place in records for place in places):
                yield name


def _moved(name: Name, draft: Draft, allowed: frozenset[str]) -> Refusal | None:
    if name.family == "parallel":
        return parallel_names.move(name, draft)
    return fused_names.move(name, draft, allowed)


def _concerns_amp(module: Module, node: ast.Try) -> bool:
    """Whether a `try` imports apex as a whole, or its amp."""
    for statement in node.body:
        match statement:
            case ast.ImportFrom(module="apex", names=names) if any(a.name == "amp" for a in names):
                return True
            case ast.ImportFrom(module=str(home)) if home.startswith("apex.amp"):
                return True
            case ast.Import(names=names) if any(a.name in ("apex", "apex.amp") for a in names):
                return True
    return False


def _left(module: Module, node: ast.Try, taken: set[int], uses: set[int]) -> Iterator[str]:
    """Yield what a `try` imports of apex that neither moves nor belongs to amp."""
    for statement in node.body:
        if isinstance(statement, ast.ImportFrom) and _imports_apex(statement):
            for alias in statement.names:
                amp = alias.name == "amp" or (statement.module or "").startswith("apex.amp")
                local = alias.asname or alias.name
                used = alias.name == "*" or any(n.id == local for n in module.every(ast.Name))
                if not amp and id(alias) not in taken and used:
                    yield f"{statement.module}.{alias.name}"
    if any(isinstance(statement, ast.Import) for statement in node.body):
        for part in module.every(ast.Attribute):
            words = dotted_text(part).split(".")
            whole = not isinstance(module.parent(part), ast.Attribute)
            root = next((p for p in walk(part) if isinstance(p, ast.Name)), None)
            if whole and words[0] == "apex" and words[1:2] != ["amp"] and id(root) not in uses:
                yield ".".join(words)
