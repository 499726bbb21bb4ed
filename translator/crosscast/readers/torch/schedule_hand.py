"""Learning rates that a program writes into the groups of an optimizer itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.python.conditions import conditions
from crosscast.readers.python.default_conditions import is_usual
from crosscast.readers.torch.rates import shape_of
from crosscast.readers.torch.schedule_functions import Candidate
from crosscast.readers.torch.schedule_outside import by_outside, outside

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Function, Module
    from crosscast.pysource.programs.program import Program

_ADJUSTS = re.compile(r"lr|learn|sched|adjust|warm|anneal|decay|rate", re.I)
_GROUPS = ("param_group", "group", "pg", "g", "param_groups", "p", "groups", "grp", "x")


def by_hand(program: Program) -> Iterator[Candidate]:
    """Yield the rates that assignments such as `group["lr"] = rate` give."""
    found: dict[ast.ClassDef | None, list[Candidate]] = {}
    for module in program.modules:
        for scope_node in module.scopes:
            if isinstance(scope_node, ast.Lambda | ast.ClassDef):
                continue
            for node in _statements(scope_node):
                value = _assigned(node, module)
                if value is None:
                    continue
                one = _candidate(node, value, module)
                if one is not None:
                    found.setdefault(module.class_of(node), []).append(one)
    for together in found.values():
        yield from _merged(together)


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the assignments directly in a function or module, not those of functions within."""
    waiting: list[ast.AST] = list(getattr(scope, "body", []))
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, ast.Assign | ast.AugAssign):
            yield one
        elif isinstance(one, ast.stmt) and not isinstance(
            one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            for name in ("body", "orelse", "finalbody", "handlers"):
                waiting += getattr(one, name, [])
        elif isinstance(one, ast.ExceptHandler):
            waiting += one.body


def _assigned(node: ast.stmt, module: Module) -> ast.expr | None:
    """Return the rate that a statement writes into a group of parameters."""
    if isinstance(node, ast.Assign):
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        target = node.target
    else:
        return None
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return None
    if target.slice.value != "lr":
        return None
    text = module.text(target.value)
    last = text.rpartition(".")[2]
    if "param_groups" in text or "group" in text.lower():
        return node.value
    if last in _GROUPS and _over_groups(node, module):
        return node.value
    return None


def _over_groups(node: ast.AST, module: Module) -> bool:
    here = module.parent(node)
    while here is not None:
        if isinstance(here, ast.For) and "param_groups" in module.text(here.iter):
            return True
        here = module.parent(here)
    return False


def _candidate(node: ast.stmt, value: ast.expr, module: Module) -> Candidate | None:
    if module.is_dead(node):
        return None
    parts: list[tuple[ast.AST, Module]] = [(value, module)]
    function = module.function_of(node)
    places = [module.span(node)]
    used: bool | None = True
    if function is not None:
        sites = _sites(module, function)
        if _ADJUSTS.search(function.name):
            places.append(module.span(function))
            places += [site.module.span(site.node) for site in sites]
        if not sites and module.class_of(function) is None and not _handed_on(module, function):
            return None
    if function is not None:
        parts += _from_callers(value, module)
    shape = shape_of(parts)
    if not shape.decay:
        shape = shape_of([*parts, *_conditions(node, module)])
    if (other := outside(value, module)) is not None:
        decay, warms = by_outside(*other)
        seen = shape.decay if shape.decay not in ("", "custom") else decay
        shape = type(shape)(seen, shape.warmup or warms)
    if isinstance(node, ast.AugAssign) and shape.decay == "custom":
        shape = type(shape)("step_custom", shape.warmup)
    if not shape.decay:
        return None
    for one in conditions(node, module):
        met = is_usual(one)
        if met is False:
            used = False
        elif met is None and used:
            used = None
    return Candidate(shape.decay, tuple(places), warms=shape.warmup, usual=used)


def _from_callers(value: ast.expr, module: Module) -> list[tuple[ast.AST, Module]]:
    """Return the rates that calls give to a function such as `set_lr(optimizer, rate)`."""
    program = module.program
    if program is None or not isinstance(value, ast.Name):
        return []
    return [
        given
        for one in definitions(value, module)
        if one.kind == "parameter"
        for given in program.arguments_for(one, value.id)
    ]


def _conditions(node: ast.AST, module: Module) -> list[tuple[ast.AST, Module]]:
    """Return the tests around a statement within its function: `if epoch in (30, 60)`."""
    found: list[tuple[ast.AST, Module]] = []
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.Module):
        if isinstance(here, ast.If):
            found.append((here.test, module))
        here = module.parent(here)
    return found


def _sites(module: Module, function: Function) -> tuple[Call, ...]:
    program = module.program
    return program.call_sites(module, function) if program is not None else ()


def _handed_on(module: Module, function: Function) -> bool:
    """Whether a function without calls is used by name, as a callback."""
    own = set(map(id, walk(function)))
    return any(
        isinstance(node, ast.Name) and node.id == function.name and id(node) not in own
        for node in module.nodes
    )


def _merged(found: list[Candidate]) -> Iterator[Candidate]:
    """Take several assignments of one function (branches of its rule) together."""
    if not found:
        return
    decays = [one.decay for one in found]
    if len(set(decays)) > 1:  # what is seen says more than what another file decides
        decays = [word for word in decays if word != "elsewhere"]
    order = ("cosine", "noam", "rsqrt", "poly", "exponential", "linear", "step", "step_custom")
    best = next((word for word in order if word in decays), decays[0])
    first = next((one for one in found if one.decay == best), found[0])
    first.places = tuple(place for one in found for place in one.places)
    first.warms = any(one.warms for one in found)
    yield first
