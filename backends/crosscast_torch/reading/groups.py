"""Parameter groups of optimizers: their rates, and groups without decay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_HELPERS = frozenset(
    {
        *(
            "param_groups_weight_decay",
            "add_weight_decay",
            "set_weight_decay",
            "get_parameter_groups",
        ),
        *("get_params_for_weight_decay_optimization", "get_param_groups", "param_groups_lrd"),
        *("get_optimizer_grouped_parameters", "get_grouped_params", "add_weight_decay_to_params"),
    }
)
_DECAY = re.compile(r"weight_decay|\bwd\b|decay$")


@dataclass(slots=True)
class Groups:
    """The facts of a list of groups."""

    rates: list[tuple[Value, ast.expr, Module]] = field(default_factory=list)
    decays: list[tuple[Value, ast.expr, Module]] = field(default_factory=list)
    spared: bool = False
    """Whether some groups have no decay and others have."""
    place: tuple[ast.expr, Module] | None = None
    count: int = 0

    @property
    def decay(self) -> tuple[Value, ast.expr, Module] | None:
        """The decay of the groups that have one."""
        return next((decay for decay in self.decays if not _zero(decay[0])), None)


def groups_of(node: ast.expr | None, module: Module) -> Groups:
    """Return the groups in the first argument of an optimizer."""
    groups = Groups()
    if node is None:
        return groups
    dictionaries = list(_dictionaries(node, module.owner_of(node)))
    without = 0
    groups.count = len(dictionaries)
    for dictionary, where in dictionaries:
        groups.place = groups.place or (dictionary, where)
        entries = entries_of(dictionary)
        if (rate := entries.get("lr")) is not None:
            groups.rates.append((evaluate(rate, where), rate, where))
        decay = entries.get("weight_decay")
        if decay is None:
            continue
        value = evaluate(decay, where)
        groups.decays.append((value, decay, where))
        without += _zero(value)
    groups.spared = bool(without) and without < len(dictionaries)
    if not dictionaries and (place := _helper(node, module)) is not None:
        groups.spared, groups.place = True, place
        call, where = place
        named = [(where.text(given), given) for given in call.args]
        named += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
        for text, given in named:
            if _DECAY.search(text):
                groups.decays.append((evaluate(given, where), given, where))
    return groups


def add_later(groups: Groups, call: Call, subject: str, *, decays: bool) -> None:
    """Add the groups that `optimizer.add_param_group({...})` adds after a call has made it.

    Args:
        groups: the groups of the call.
        call: makes the optimizer.
        subject: its variable.
        decays: whether the optimizer has a decay by default.
    """
    base = call.argument("weight_decay")
    bare = _zero(base) if base is not None else not decays
    for other in later_groups(call.module):
        if other.receiver_text != subject:
            continue
        for given in other.node.args:
            decay = entries_of(given).get("weight_decay") if isinstance(given, ast.Dict) else None
            if decay is not None:
                value = evaluate(decay, other.module)
                groups.decays.append((value, decay, other.module))
                groups.place = groups.place or (given, other.module)
                groups.spared = groups.spared or bare != _zero(value)


@once
def later_groups(module: Module) -> list[Call]:
    """Return the calls that add groups to an optimizer that was made before."""
    return [call for call in module.calls if call.method == "add_param_group"]


def _zero(value: Value) -> bool:
    return isinstance(value, Known) and not value.flag and value.value in (0, 0.0)


def _dictionaries(node: ast.expr, module: Module) -> Iterator[tuple[ast.Dict, Module]]:
    dictionaries = [
        (inner, place)
        for here, where in chase(node, module)
        for element in (here.elts if isinstance(here, ast.List | ast.Tuple) else [])
        for inner, place in chase(element, where)
        if isinstance(inner, ast.Dict)
    ]
    yield from dictionaries or _appended(node, module)


def entries_of(node: ast.Dict) -> dict[str, ast.expr]:
    """Return the values of a dictionary by those keys that are constants."""
    return {
        str(key.value): value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _appended(node: ast.expr, module: Module) -> Iterator[tuple[ast.Dict, Module]]:
    """Yield groups that `groups.append({...})` and `groups += [{...}]` add."""
    if isinstance(node, ast.Name):
        for inner in _additions(module).get((module.function_of(node), node.id), ()):
            yield inner, module


@once
def _additions(module: Module) -> dict[tuple[Function | None, str], list[ast.Dict]]:
    """Return the groups that are added to lists, by the functions around and the name."""
    additions: dict[tuple[Function | None, str], list[ast.Dict]] = {}
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend")):
                given = node.args
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                given = [value]
            case _:
                continue
        parts = [e for part in given for e in (part.elts if isinstance(part, ast.List) else [part])]
        for function in module.functions_around(node):
            groups = (part for part in parts if isinstance(part, ast.Dict))
            additions.setdefault((function, name), []).extend(groups)
    return additions


def _helper(node: ast.expr, module: Module) -> tuple[ast.Call, Module] | None:
    for here, where in chase(node, module):
        if isinstance(here, ast.Call):
            name = where.resolve(here.func) or where.text(here.func)
            if name.rpartition(".")[2].rpartition(":")[2] in _HELPERS:
                return here, where
    return None
