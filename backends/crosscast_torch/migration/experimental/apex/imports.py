"""Removal of imports of apex.amp that are no longer used."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import Draft, indent_of, is_alone
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


FP16_UTILS = frozenset(
    {
        *("BN_convert_float", "network_to_half", "prep_param_lists", "tofp16", "to_python_float"),
        *("model_grads_to_master_grads", "master_params_to_model_params", "clip_grad_norm"),
        *("convert_module", "convert_network", "FP16Model", "FP16_Optimizer", "LossScaler"),
        "DynamicLossScaler",
    }
)
"""The public names of apex.fp16_utils."""


def remove_imports(draft: Draft, consumed: set[int], stops: Stops) -> None:
    """Remove imports of apex.amp from a module, and the tests of its availability.

    Args:
        draft: of the module.
        consumed: ids of the nodes that are replaced.
        stops: receives the remaining uses.
    """
    module = draft.module
    statements = [node for node in module.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    for statement in statements:
        taken = [alias for alias in statement.names if _is_amp(statement, alias)]
        if not taken:
            continue
        for alias in taken:
            _remove_tests(module, statement, alias, consumed, draft, stops)
        if id(statement) in consumed:
            continue
        whole = isinstance(statement, ast.Import) and any(
            alias.name == "apex" or not alias.asname for alias in taken
        )
        if whole and _apex_is_used(module, consumed, draft):
            continue
        remove_aliases(draft, statement, taken, stops)


def unused(module: Module) -> list[ast.Import | ast.ImportFrom]:
    """Return unused imports of apex, which fail without it.

    Imports under a condition, in a `try` that does more than to stop, and names imported by other
    modules are excluded.
    """
    named = {node.id for node in module.every(ast.Name)}
    if "__all__" in named or module.source.name.endswith("__init__.py"):
        return []
    return [
        statement
        for statement in module.nodes
        if isinstance(statement, ast.Import | ast.ImportFrom)
        and _is_plain(module, statement)
        and _is_idle(module, statement, named)
    ]


def value_of_amp(module: Module) -> ast.AST | None:
    """Return the first use of apex.amp where a module certainly imports it."""
    for statement in module.nodes:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        for alias in statement.names if _is_plain(module, statement) else ():
            local = alias.asname or alias.name.partition(".")[0]
            whole = isinstance(statement, ast.Import) and not alias.asname
            for node in module.every(ast.Name) if _is_amp(statement, alias) else ():
                used = module.parent(node) if whole else node
                is_amp = not whole or (isinstance(used, ast.Attribute) and used.attr == "amp")
                if node.id == local and isinstance(node.ctx, ast.Load) and is_amp:
                    return used
    return None


def _is_plain(module: Module, statement: ast.stmt) -> bool:
    """Whether an import is at the top of a module, or in a `try` there that only stops or tells."""
    around = module.parent(statement)
    if not isinstance(around, ast.Try) or statement not in around.body:
        return around is module.tree
    return (
        module.parent(around) is module.tree
        and not (around.orelse or around.finalbody)
        and all(isinstance(other, ast.Import | ast.ImportFrom) for other in around.body)
        and all(
            isinstance(other, ast.Raise | ast.Expr | ast.Pass)
            for handler in around.handlers
            for other in handler.body
        )
    )


def _is_idle(module: Module, statement: ast.Import | ast.ImportFrom, named: set[str]) -> bool:
    if isinstance(statement, ast.ImportFrom) and any(a.name == "*" for a in statement.names):
        return statement.module == "apex.fp16_utils" and not named & FP16_UTILS
    return (
        all(
            _is_of_apex(statement, alias) and (alias.asname or alias.name) not in named
            for alias in statement.names
        )
        and not ("apex" in named and isinstance(statement, ast.Import))
        and not is_reexported(module, statement)
    )


def is_of_fp16_utils(node: ast.expr, name: str, module: Module) -> bool:
    """Whether an expression is a name that a module imports from apex.fp16_utils, also by `*`."""
    if not isinstance(node, ast.Name) or node.id != name:
        return False
    others = any(
        isinstance(other, ast.FunctionDef) and other.name == name for other in module.nodes
    )
    return not others and any(
        alias.name in ("*", name) and alias.asname is None
        for statement in module.every(ast.ImportFrom)
        if statement.module == "apex.fp16_utils" and not statement.level
        for alias in statement.names
    )


def is_reexported(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether another module of the program may import one of these names from this module."""
    names = {alias.asname or alias.name for alias in statement.names}
    return any(
        alias.name in names and not (other.module or "").startswith("apex")
        for importer in module.program.modules
        for other in importer.every(ast.ImportFrom)
        for alias in other.names
    )


def _is_of_apex(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    home = alias.name
    if isinstance(statement, ast.ImportFrom):
        home = "" if statement.level else statement.module or ""
    return home == "apex" or home.startswith("apex.")


def _is_amp(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    if isinstance(statement, ast.Import):
        return alias.name in ("apex", "apex.amp")
    if statement.level:
        return False
    return (statement.module == "apex" and alias.name == "amp") or (
        statement.module or ""
    ).startswith("apex.amp")


def _remove_tests(
    module: Module,
    statement: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    consumed: set[int],
    draft: Draft,
    stops: Stops,
) -> None:
    """Remove the tests of a name; report every other use."""
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
                continue  # another part of apex
        here = used
        if id(here) in consumed or id(module.parent(here) if here else None) in consumed:
            continue
        if id(node) in consumed:
            continue
        if isinstance(node.ctx, ast.Store) and (fallback := _fallback(module, node)):
            draft.remove(fallback)
            continue
        test = _availability(module, node) if not plain else None
        if test is not None:
            draft.remove(test)
        elif not _in_handler(module, node):
            stops.add(
                module,
                node,
                f"`{module.text(used) if used else local}` is used here as a value",
                value_hint(module, used),
            )


def value_hint(module: Module, used: ast.AST | None) -> str:
    """Return what to write in place of a use of apex.amp as a value."""
    above = module.parent(used) if used is not None else None
    if isinstance(above, ast.Attribute) and above.attr == "_amp_state":
        return "read get_scale() of the GradScaler, which the loop then has, in its place"
    if isinstance(above, ast.keyword | ast.Call):
        return "pass the GradScaler, which the loop then has, in its place"
    return "migrate this use to torch.amp by hand"


def _fallback(module: Module, node: ast.Name) -> ast.stmt | None:
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
        isinstance(statement, ast.Import | ast.ImportFrom) for statement in around.body
    )


def _availability(module: Module, node: ast.Name) -> ast.stmt | None:
    """Return the statement that only checks that apex is installed."""
    statement = module.statement_of(node)
    match statement:
        case ast.Assert(test=test) if _compares(test, node, ast.IsNot):
            return statement
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            parts = test.values if isinstance(test, ast.BoolOp) else [test]
            if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.And):
                return None
            return statement if any(_compares(part, node, ast.Is) for part in parts) else None
    return None


def _compares(test: ast.expr, node: ast.Name, how: type[ast.cmpop]) -> bool:
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
        if not isinstance(node, ast.Name) or node.id != "apex" or id(node) in consumed:
            continue
        parent = module.parent(node)
        of_amp = isinstance(parent, ast.Attribute) and parent.attr == "amp"
        if not of_amp and not _in_handler(module, node):
            return True
    return False


def remove_aliases(
    draft: Draft, statement: ast.Import | ast.ImportFrom, taken: list[ast.alias], stops: Stops
) -> None:
    """Remove names from an import, and a `try` around it that only tests for apex."""
    module = draft.module
    rest = [alias for alias in statement.names if alias not in taken]
    if rest:
        names = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in rest)
        head = ""
        if isinstance(statement, ast.ImportFrom):
            head = f"from {'.' * statement.level}{statement.module or ''} "
        draft.replace(statement, f"{head}import {names}")
        return
    around = module.parent(statement)
    tried = isinstance(around, ast.Try) and statement in around.body
    others = [
        other
        for other in (around.body if isinstance(around, ast.Try) and tried else ())
        if other is not statement and other not in draft.gone
    ]
    if not tried or not isinstance(around, ast.Try) or not all(map(_is_flag, others)):
        if is_alone(module, statement):
            draft.remove(statement)
        else:
            message = "the import of apex shares its line with another statement"
            stops.add(module, statement, message, "put it on its own line")
        return
    if around.finalbody or not all(_is_flag(other) for other in around.orelse):
        message = "the import of apex sets more than a flag"
        stops.add(module, around, message, "remove the import by hand")
        return
    flags = [module.text(other) for other in (*others, *around.orelse)]
    if flags:
        for part in around.body:
            draft.gone.pop(part, None)  # it goes with the whole
        draft.replace(around, f"\n{indent_of(module, around)}".join(flags))
    else:
        draft.remove(around)


def _is_flag(statement: ast.stmt) -> bool:
    """Whether a statement only records that an import succeeded."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
            return True
        case ast.Pass():
            return True
    return False
