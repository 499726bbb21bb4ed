"""What a program does with a schedule that it keeps under one name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.connected import connected

ScheduleUse = Literal["shown", "read", "rate", "restored", "step", "optimizer", "other"]
_TAKES_RATE = re.compile(r"paddle\.optimizer\.(?!lr\.)\w+")
"""Optimizers that only ask a schedule for its rate."""
_RATES = frozenset({"get_last_lr", "get_lr", "last_lr", "get_cur_lr"})
_READS = frozenset({"last_epoch", "base_lrs", "base_lr", "lr_lambdas", "state_dict", "verbose"})
"""What can be asked of a schedule without advancing it."""
_RESTORES = frozenset({"load_state_dict", "set_state_dict", "set_dict"})
_SHOWS = frozenset({"print", "info", "debug", "warning", "log", "format", "str", "repr", "type"})
_RECORDS = _SHOWS | {"add_scalar", "append", "write"}


def kept_name(call: Call) -> ast.Name | ast.Attribute | None:
    """Return the only name that a schedule gets."""
    match call.module.parent(call.node):
        case ast.Assign(targets=[ast.Name() as name], value=value) if value is call.node:
            return name
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self")) as name], value=value
        ) if value is call.node:
            return name
    return None


def is_inherited(kept: ast.Name | ast.Attribute, call: Call) -> bool:
    """Whether a class that is not seen may advance `self.schedule`: a base, or one that has it."""
    owner, program = call.module.class_of(call.node), call.module.program
    if isinstance(kept, ast.Name) or owner is None:
        return False
    bases = [base for base in owner.bases if identifier(base) != "object"]
    is_instantiated = any(identifier(each.node.func) == owner.name for each in program.calls())
    return bool(bases) or not is_instantiated


def uses_of(kept: ast.Name | ast.Attribute, call: Call) -> Iterator[ScheduleUse]:
    """Yield the use that the program makes of a schedule, wherever it names it.

    It shows it or its rate, reads its state, uses its rate, restores or steps it, or gives it to
    an optimizer that asks it for the rate; everything else is other.
    """
    word = identifier(kept)
    for module in connected(call.module):
        for node in module.nodes:
            if isinstance(node, ast.Constant) and node.value == word and _names(node, module):
                yield "other"
            if isinstance(node, ast.ImportFrom) and any(each.name == word for each in node.names):
                yield "other"
            if not isinstance(node, ast.Name | ast.Attribute) or identifier(node) != word:
                continue
            if isinstance(node.ctx, ast.Load):
                yield _use(node, module)


def _names(text: ast.Constant, module: Module) -> bool:
    """Whether a text picks an attribute or entry: `getattr(self, "scheduler")`."""
    around = module.parent(text)
    by_name = isinstance(around, ast.Call) and identifier(around.func) in ("getattr", "attrgetter")
    return by_name or isinstance(around, ast.Subscript)


def _use(node: ast.expr, module: Module) -> ScheduleUse:
    around = module.parent(node)
    if isinstance(around, ast.Attribute) and isinstance(around.ctx, ast.Load):
        if around.attr in _RATES:
            return "shown" if _is_shown(around, module) else "rate"
        if isinstance(module.parent(around), ast.Call):
            if around.attr == "step":
                return "step"
            if around.attr in _RESTORES:  # in a loop, the states may be those of its rounds
                looped = module.enclosing(around, ast.For, ast.While) is not None
                return "other" if looped else "restored"
        return "read" if around.attr in _READS else "other"
    if isinstance(around, ast.FormattedValue):
        return "shown"
    if isinstance(around, ast.keyword):
        around = module.parent(around)
    if not isinstance(around, ast.Call) or node is around.func:
        return "other"
    called = module.call(around)
    if any(_TAKES_RATE.fullmatch(canonical(name)) for name in called.names):
        return "optimizer"
    return "shown" if called.method in _SHOWS else "other"


def _is_shown(node: ast.expr, module: Module) -> bool:
    """Whether a rate only gets into a text or a record."""
    part: ast.AST | None = node
    while part is not None and not isinstance(part, ast.stmt):
        around = module.parent(part)
        match around:
            case ast.FormattedValue():
                return True
            case ast.Call(func=called) if called is not part:
                if module.call(around).method in _RECORDS:
                    return True
        part = around
    return False
