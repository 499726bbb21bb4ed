"""Edits that bring the uses of torch.cuda.amp and torch.cpu.amp in a program to torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import (
    column_at,
    insert,
    insert_before,
    opening,
    replace_node,
)
from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.syntax.nodes import dotted_text, walk
from crosscast_torch.answers.amp_imports import import_edit, importing, is_imported_elsewhere
from crosscast_torch.answers.amp_uses import CLASSES, DECORATORS, PLACES, Use, passing, uses_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_KEYWORDS = {"autocast": ("enabled", "dtype", "cache_enabled"), "GradScaler": ()}
"""Names of positional arguments with other positions in torch.amp; those of GradScaler only move by
one position."""


class Stopped(Exception):
    """Says why a module is not changed."""


@dataclass(slots=True)
class Repair:
    """The uses in one module, with the edits of all modules that must change together."""

    module: Module
    uses: list[Use]
    edits: tuple[Edit, ...] = ()
    why: str = ""
    """Why there are no edits."""
    own_edits: list[Edit] = field(default_factory=list)
    """The edits of this module."""


def repairs_of(program: Program) -> list[Repair]:
    """Return the repairs of the modules of a program that use an old package."""
    repairs = {module: Repair(module, uses_of(module)) for module in program.modules}
    groups = {module: {module} for module in program.modules}
    for module, repair in repairs.items():
        for use in repair.uses:
            for other in passing(module, use.node):
                joined = groups[module] | groups[other]
                for member in joined:
                    groups[member] = joined
    for module, repair in repairs.items():
        if not repair.uses and len(groups[module]) == 1:
            continue
        try:
            repair.own_edits = list(_edits(module, repair.uses))
        except Stopped as stopped:
            repair.why = str(stopped)
    for module, repair in repairs.items():
        members = [repairs[member] for member in program.modules if member in groups[module]]
        repair.why = repair.why or next((other.why for other in members if other.why), "")
        if not repair.why:
            repair.edits = tuple(edit for other in members for edit in other.own_edits)
    return [repair for repair in repairs.values() if repair.uses]


def _edits(module: Module, uses: Sequence[Use]) -> Iterator[Edit]:
    for use in uses:
        if use.substitute:
            raise Stopped(f"it is {_last(use.substitute)} where an import fails")
        if within_try(module, use.node):
            raise Stopped("the program goes on without it where it is missing")
        if use.name in PLACES:
            raise Stopped(_as_value(module, use))
        if not use.is_known:
            raise Stopped(f"torch.amp has no {use.what}")
        yield from _of_use(module, use)
    for statement in importing(module):
        edit = import_edit(module, statement)
        if isinstance(edit, str):
            raise Stopped(edit)
        yield edit


def _last(name: str) -> str:
    return name.rpartition(":")[2]


def _as_value(module: Module, use: Use) -> str:
    return f"{module.text(use.node)} is used as a value in line {use.node.lineno}"


def _new_name(module: Module, use: Use) -> str:
    """Return the text of a name after its imports have changed."""
    written = dotted_text(use.node)
    root, _, rest = written.partition(".")
    target = module.imports.get(root, "")
    if target == "torch":
        return f"{root}.{rest.replace(f'{use.device}.amp', 'amp', 1)}"
    if target in ("torch.cuda", "torch.cpu"):
        torch = next((name for name, of in module.imports.items() if of == "torch"), "")
        if not torch:
            raise Stopped(f"{root} is imported from torch, and torch itself is not")
        return f"{torch}.{rest}"
    return written


def _of_use(module: Module, use: Use) -> Iterator[Edit]:
    """Yield the edits of a name and of its arguments, or of what is made of a value."""
    node, parent, new = use.node, module.parent(use.node), _new_name(module, use)
    if isinstance(parent, ast.Call) and parent.func is node:
        yield from _of_call(module, parent, use)
    elif _is_decorator(parent, node) and use.what in DECORATORS:
        new += f'(device_type="{use.device}")'
    elif _is_partial(parent, node, module):
        new += _of_partial(module, parent, use)
    elif not _is_type(module, node) and not _is_none(parent):
        new = _called_later(module, use, new)
    if new != dotted_text(node):
        yield replace_node(module, node, new)
    if isinstance(parent, ast.Call) and use.what in CLASSES and parent.func is not node:
        yield from _named(module, use, parent.args[1:] if _is_partial(parent, node, module) else [])


def _of_call(module: Module, call: ast.Call, use: Use) -> Iterator[Edit]:
    _check_arguments(module, call, use)
    place = opening(module, call)
    if place is None:
        raise Stopped(f"the arguments in line {call.lineno} begin in another line")
    keywords = _KEYWORDS.get(use.what, ())
    if use.what in DECORATORS and call.args:
        last = call.args[-1]
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        column = column_at(module, last.end_lineno, last.end_col_offset)
        yield insert(module, last.end_lineno, column, f', device_type="{use.device}"')
        return
    device = f'"{use.device}"' if use.what in CLASSES else f'device_type="{use.device}"'
    more = ", " if call.args or call.keywords else ""
    if more and not module.lines[place[0] - 1][place[1] - 1 :].strip():
        more = ","  # the arguments begin in the next line
    first = ""
    for argument, keyword in zip(call.args, keywords, strict=False):
        named = insert_before(module, argument, f"{keyword}=")
        if argument is call.args[0] and (named.line, named.column) == place:
            first = f"{keyword}="
        else:
            yield named
    yield insert(module, *place, f"{device}{more}{first}")


def _check_arguments(module: Module, call: ast.Call, use: Use) -> None:
    """Raise if not all arguments keep their meaning; `**options` cannot contain a device."""
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    if (starred and use.what == "autocast") or any(
        keyword.arg in ("device", "device_type") for keyword in call.keywords
    ):
        raise Stopped(f"not all arguments of {module.text(call.func)} are visible")


def _is_decorator(parent: ast.AST | None, node: ast.expr) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(parent, kinds) and node in parent.decorator_list


def _is_partial(parent: ast.AST | None, node: ast.expr, module: Module) -> TypeGuard[ast.Call]:
    """Whether a call is `functools.partial(node, ...)`."""
    match parent:
        case ast.Call(func=function, args=[first, *_]):
            return first is node and module.resolve(function) == "functools.partial"
    return False


def _of_partial(module: Module, call: ast.Call, use: Use) -> str:
    """Return the text after the name in `functools.partial(name, ...)`."""
    _check_arguments(module, call, use)
    if use.what in DECORATORS:
        return f', device_type="{use.device}"'
    given = {keyword.arg for keyword in call.keywords}
    if use.what == "autocast" and not (call.args[1:] or given & {"enabled", "dtype"}):
        raise Stopped(_as_value(module, use))  # it may be called with a switch
    return f', "{use.device}"'


def _named(module: Module, use: Use, arguments: Sequence[ast.expr]) -> Iterator[Edit]:
    for argument, keyword in zip(arguments, _KEYWORDS[use.what], strict=False):
        yield insert_before(module, argument, f"{keyword}=")


def _is_type(module: Module, node: ast.AST) -> bool:
    """Whether a class is only asked for, or written as a type."""
    here, parent = node, module.parent(node)
    while isinstance(parent, ast.Tuple | ast.Subscript | ast.BinOp):
        here, parent = parent, module.parent(parent)
    match parent:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
            return kind is here
        case ast.arg() | ast.AnnAssign():
            return parent.annotation is here
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return parent.returns is here
    return False


def _is_none(parent: ast.AST | None) -> bool:
    """Whether something is only compared with None."""
    match parent:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
    return False


def _called_later(module: Module, use: Use, new: str) -> str:
    """Return the function that replaces a class that a variable holds until it is called."""
    value, parent = use.node, module.parent(use.node)
    choice = isinstance(parent, ast.IfExp) and parent.test is not value
    statement = module.parent(parent) if choice and parent is not None else parent
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if use.what in CLASSES:
            calls = _calls(module, statement, name)
        case _:
            calls = None
    if calls is None:
        raise Stopped(_as_value(module, use))
    given = any(call.keywords for call in calls)
    options, more = ("**options", ", **options") if given else ("", "")
    made = f'lambda{" " * given}{options}: {new}("{use.device}"{more})'
    return f"({made})" if choice else made


def _calls(module: Module, statement: ast.stmt, name: str) -> list[ast.Call] | None:
    """Return the uses of a variable, if all of them are calls without positional arguments."""
    home: ast.AST = module.function_of(statement) or module.tree
    if module.class_of(statement) is not None and home is module.tree:
        return None
    calls: list[ast.Call] = []
    for node in walk(home):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return None
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        match module.parent(node):
            case ast.Call(func=function, args=[]) as call if function is node:
                calls.append(call)
            case _:
                return None
    if home is module.tree and is_imported_elsewhere(module, name):
        return None
    return calls
