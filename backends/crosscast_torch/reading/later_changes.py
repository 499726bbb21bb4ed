"""Settings of an optimizer that a program changes after it was made.

After `group["weight_decay"] = wd_schedule[it]`, or `add_param_group` with settings of its own, what
the call says or leaves to its defaults is not what trains.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.readers.python.fact_writer import FactWriter
from crosscast_reading.readers.python.library_calls import target_of
from crosscast_torch.reading.groups import entries_of, later_groups

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_FIELDS = {
    "lr": "learning_rate",
    "weight_decay": "weight_decay",
    "momentum": "momentum",
    "betas": "betas",
    "eps": "eps",
}
_GROUP = re.compile(r"group|\bpg\b", re.I)


def tell_changes(writer: FactWriter, call: Call, subject: str) -> None:
    """Record which settings of the optimizer that a call makes are changed later."""
    program = call.module.program
    variable = target_of(call.node, call.module)
    changes = [*_assigned(program)]
    changes += _added(program, variable.rpartition(".")[2])
    for field in dict.fromkeys(change.field for change in changes):
        mine = [change for change in changes if change.field == field]
        computed = any(change.computed for change in mine)
        writer.say(
            f"optimizer.{field}_changed",
            "computed" if computed else "later",
            *(change.place for change in mine),
            subject=subject,
            expression=mine[0].text,
        )


class _Change(NamedTuple):
    """A setting that is changed, where, and how it is written."""

    field: str
    place: Span
    text: str
    computed: bool = False
    """Whether a function of the program returns the new value."""


@once
def _assigned(program: Program) -> list[_Change]:
    """Return the settings that assignments to groups of parameters change."""
    changes = []
    for module in program.modules:
        targets: list[tuple[ast.stmt, ast.expr]] = [
            *((node, node.targets[0]) for node in module.every(ast.Assign)),
            *((node, node.target) for node in module.every(ast.AugAssign)),
        ]
        for node, target in targets:
            field = _of_group(target, module)
            if field and not module.is_dead(node):
                computed = isinstance(node, ast.Assign) and _is_computed(node.value, module)
                changes.append(_Change(field, module.span(node), module.text(node)[:80], computed))
    return changes


def _is_computed(value: ast.expr, module: Module) -> bool:
    """Whether a value is what a function of the program returns, also by a name for it."""
    values: list[ast.expr | None] = [value]
    if isinstance(value, ast.Name):
        values = [binding.value for binding in definitions(value, module)]
    calls = [module.call(node) for node in values if isinstance(node, ast.Call)]
    return any(":" in name for call in calls for name in call.names)


def _of_group(target: ast.expr, module: Module) -> str:
    match target:
        case ast.Subscript(value=group, slice=ast.Constant(value=str(key))) if key in _FIELDS:
            if _GROUP.search(module.text(group)):
                return _FIELDS[key]
    return ""


def _added(program: Program, variable: str) -> Iterator[_Change]:
    """Yield the settings of groups that are added to an optimizer later."""
    for module in program.modules:
        for call in later_groups(module):
            if not call.receiver_text.endswith(variable):
                continue
            for given in call.node.args:
                for name in entries_of(given) if isinstance(given, ast.Dict) else ():
                    if name in _FIELDS:
                        text = module.text(call.node)[:80]
                        yield _Change(_FIELDS[name], module.span(call.node), text)
