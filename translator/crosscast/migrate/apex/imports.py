"""Takes out the imports of apex.amp, once nothing uses them any more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.edits.layout import Draft, indent_of, is_alone
from crosscast.migrate.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module


def remove_imports(draft: Draft, consumed: set[int], stops: Stops) -> None:
    """Take out of a module what imports apex.amp, and the tests whether it is there.

    Args:
        draft: of the module.
        consumed: ids of the expressions that are called and written anew.
        stops: what keeps the name in use.
    """
    module = draft.module
    statements = [one for one in module.nodes if isinstance(one, ast.Import | ast.ImportFrom)]
    for statement in statements:
        taken = [alias for alias in statement.names if _is_amp(statement, alias)]
        if not taken:
            continue
        for alias in taken:
            _others(module, statement, alias, consumed, draft, stops)
        whole = isinstance(statement, ast.Import) and any(
            alias.name == "apex" or not alias.asname for alias in taken
        )
        if whole and _apex_is_used(module, consumed, draft):
            continue
        _take(draft, statement, taken, stops)


def unused(module: Module) -> list[ast.Import | ast.ImportFrom]:
    """Return imports of apex, or of its amp, that nothing needs: they fail where apex is gone.

    Those that are tried or that depend on something stay, and those of modules that hand on names.
    """
    named = {one.id for one in module.every(ast.Name)}
    if "__all__" in named or module.source.name.endswith("__init__.py"):
        return []
    return [
        one
        for one in module.tree.body
        if isinstance(one, ast.Import | ast.ImportFrom)
        and is_alone(module, one)
        and all(_is_amp(one, a) and (a.asname or a.name) not in named for a in one.names)
        and not any(alias.name == "*" for alias in one.names)
        and not ("apex" in named and isinstance(one, ast.Import))
        and not is_handed_on(module, one)
    ]


def is_handed_on(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether another module takes a name from this one."""
    names = {alias.asname or alias.name for alias in statement.names}
    return any(
        alias.name in names and not (other.module or "").startswith("apex")
        for one in (module.program.modules if module.program is not None else ())
        for other in one.every(ast.ImportFrom)
        for alias in other.names
    )


def _is_amp(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    if isinstance(statement, ast.Import):
        return alias.name in ("apex", "apex.amp")
    if statement.level:
        return False
    return (statement.module == "apex" and alias.name == "amp") or (
        statement.module or ""
    ).startswith("apex.amp")


def _others(
    module: Module,
    statement: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    consumed: set[int],
    draft: Draft,
    stops: Stops,
) -> None:
    """Take out the tests of a name; stop where it is used for anything else."""
    plain = isinstance(statement, ast.Import) and not alias.asname
    local = alias.asname or alias.name.partition(".")[0]
    if alias.name == "*":
        return
    for node in module.nodes:
        if not isinstance(node, ast.Name) or node.id != local:
            continue
        used: ast.AST | None = node
        if plain:
            used = module.parent(node)
            if not isinstance(used, ast.Attribute) or used.attr != "amp":
                continue  # something else of apex
        here = used
        if id(here) in consumed or id(module.parent(here) if here else None) in consumed:
            continue
        if isinstance(node.ctx, ast.Store) and (nothing := _nothing(module, node)):
            draft.remove(nothing)
            continue
        test = _availability(module, node) if not plain else None
        if test is not None:
            draft.remove(test)
        elif not _in_handler(module, node):
            stops.add(
                module,
                node,
                f"`{module.text(used) if used else local}` is used here as a value",
                "write this place for torch.amp by hand",
            )


def _nothing(module: Module, node: ast.Name) -> ast.stmt | None:
    """Return `amp = None`."""
    statement = module.statement_of(node)
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=None)):
            return None if _in_handler(module, node) else statement
    return None


def _in_handler(module: Module, node: ast.AST) -> bool:
    """Whether something happens only if an import fails."""
    handler = module.enclosing(node, ast.ExceptHandler)
    around = module.parent(handler) if handler is not None else None
    return isinstance(around, ast.Try) and any(
        isinstance(one, ast.Import | ast.ImportFrom) for one in around.body
    )


def _availability(module: Module, node: ast.Name) -> ast.stmt | None:
    """Return the statement that only makes sure that apex is there."""
    statement = module.statement_of(node)
    match statement:
        case ast.Assert(test=test) if _says(test, node, ast.IsNot):
            return statement
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            parts = test.values if isinstance(test, ast.BoolOp) else [test]
            if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.And):
                return None
            return statement if any(_says(one, node, ast.Is) for one in parts) else None
    return None


def _says(test: ast.expr, node: ast.Name, how: type[ast.cmpop]) -> bool:
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]):
            return left is node and isinstance(op, how)
        case ast.Name():
            return test is node and how is ast.IsNot
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner is node and how is ast.Is
    return False


def _apex_is_used(module: Module, consumed: set[int], draft: Draft) -> bool:
    for node in module.nodes:
        if not isinstance(node, ast.Name) or node.id != "apex":
            continue
        parent = module.parent(node)
        of_amp = isinstance(parent, ast.Attribute) and parent.attr == "amp"
        if not of_amp and not _in_handler(module, node):
            return True
    return False


def _take(
    draft: Draft, statement: ast.Import | ast.ImportFrom, taken: list[ast.alias], stops: Stops
) -> None:
    module = draft.module
    rest = [alias for alias in statement.names if alias not in taken]
    if rest:
        names = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in rest)
        head = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
        draft.replace(statement, f"{head}import {names}")
        return
    around = module.parent(statement)
    tried = isinstance(around, ast.Try) and statement in around.body
    others = [
        one
        for one in (around.body if isinstance(around, ast.Try) and tried else ())
        if one is not statement and one not in draft.gone
    ]
    if not tried or not isinstance(around, ast.Try) or not all(map(_is_flag, others)):
        if is_alone(module, statement):
            draft.remove(statement)
        else:
            message = "the import of apex shares its line with something else"
            stops.add(module, statement, message, "put it on a line of its own")
        return
    if around.finalbody or not all(_is_flag(one) for one in around.orelse):
        message = "what follows from the import of apex is more than a flag"
        stops.add(module, around, message, "take the import out by hand")
        return
    flags = [module.text(one) for one in (*others, *around.orelse)]
    if flags:
        draft.replace(around, f"\n{indent_of(module, around)}".join(flags))
    else:
        draft.remove(around)


def _is_flag(statement: ast.stmt) -> bool:
    """Whether a statement only notes that an import was possible."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
            return True
        case ast.Pass():
            return True
    return False
