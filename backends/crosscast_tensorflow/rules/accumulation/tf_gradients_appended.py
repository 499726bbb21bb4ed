"""CL119: lists of gradients are concatenated where their entries should be added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, keyword, names_in
from crosscast_reading.sources.subject import Subject

_VARIABLES = re.compile(r"\.trainable_(variables|weights)(\(\))?$")
_DEPTH = 6
_EFFECTS = {
    "number": "adding a list to a number raises TypeError",
    "zeros": "it is appended to the zeros, and the optimizer gets those alone",
    "list": "it is appended, and the optimizer gets the gradients of the first micro-batch alone",
}


def check(subject: Subject) -> Iterator[Finding]:
    """Find `total += tape.gradient(loss, variables)` and `total = total + gradients` in loops."""
    for module in subject.program.modules:
        sums = [each for each in _sums(module) if _is_repeated(*each, module)]
        if not sums or _joins_variables(module):
            continue
        for node, target, added in sums:
            start = _start(node, target, module)
            if start and _is_list(added, module):
                yield Finding(
                    span=module.span(node),
                    message=f"{module.text(added)} is a list: {_EFFECTS[start]}",
                    hint="add the entries: `[a + b for a, b in zip(total, gradients)]`",
                )


def _sums(module: Module) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """Yield statements that add something to a variable: the variable, what is added."""
    for node in module.nodes:
        match node:
            case ast.AugAssign(target=target, op=ast.Add(), value=added):
                yield node, target, added
            case ast.Assign(targets=[target], value=ast.BinOp(left, ast.Add(), right)):
                if module.text(left) == module.text(target):
                    yield node, target, right
                elif module.text(right) == module.text(target):
                    yield node, target, left


def _is_repeated(node: ast.stmt, target: ast.expr, added: ast.expr, module: Module) -> bool:
    """Whether a loop adds gradients of the same variables: not those of one model after another."""
    loop = module.enclosing(node, ast.For, ast.While)
    if loop is None or not isinstance(target, ast.Name | ast.Attribute):
        return False
    counted = names_in(loop.target) if isinstance(loop, ast.For) else set()
    return not (isinstance(added, ast.Call) and counted & names_in(*added.args[1:]))


def _joins_variables(module: Module) -> bool:
    """Whether variables are concatenated as well: `a.trainable_variables + b.trainable_variables`.

    The gradients of several models are then one list on purpose.
    """
    for node in module.nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [left, right]
            case ast.AugAssign(op=ast.Add(), value=value):
                parts = [value]
            case ast.Call(func=ast.Attribute(attr="extend"), args=[value]):
                parts = [value]
            case _:
                continue
        if any(_VARIABLES.search(module.text(part)) for part in parts):
            return True
    return False


def _start(node: ast.stmt, target: ast.expr, module: Module) -> str:
    """Return the kind of a sum's first value: `number`, `zeros`, `list`; empty if not known."""
    kinds = set()
    loop = module.enclosing(node, ast.For, ast.While)
    for binding in definitions(target, module):
        value = binding.value
        if binding.node is node or _is_none(binding):
            continue
        if module.parent(binding.node) is loop:
            return ""  # every round begins with another list
        match value:
            case ast.Constant(value=int() | float()):
                kinds.add("number")
            case ast.List(elts=[]):
                kinds.add("list")
            case ast.ListComp(elt=ast.Call() as made):
                kinds.add("zeros" if "zeros" in identifier(made.func) else "")
            case _:
                kinds.add("list" if _binds_list(binding, 0) else "")
    if not kinds and definitions(target, module):
        return "list"  # None until the first gradients take its place
    return kinds.pop() if len(kinds) == 1 else ""


def _is_list(node: ast.expr | None, module: Module, depth: int = 0) -> bool:
    """Whether a value is certainly the list that `tape.gradient` returns for several variables."""
    if depth > _DEPTH:
        return False
    match node:
        case ast.Call(func=ast.Attribute(attr="gradient"), args=[_, sources, *_]):
            return _are_several(sources, module)
        case ast.Call(func=ast.Attribute(attr="gradient")):
            return _are_several(keyword(node, "sources"), module)
        case ast.Call(func=ast.Attribute(attr="get_unscaled_gradients"), args=[scaled]):
            return _is_list(scaled, module, depth + 1)
        case ast.Call():
            return _returns_list(node, None, module, depth + 1)
        case ast.Name() | ast.Attribute():
            bindings = [b for b in definitions(node, module) if not _is_none(b)]
            return bool(bindings) and all(_binds_list(b, depth + 1) for b in bindings)
    return False


def _are_several(sources: ast.expr | None, module: Module) -> bool:
    """Whether gradients are taken of a list of variables."""
    match sources:
        case ast.Name():
            made = definitions(sources, module)
            return {_has_variables(b.assigned, b.module) for b in made} == {True}
    return _has_variables(sources, module)


def _has_variables(node: ast.expr | None, module: Module) -> bool:
    match node:
        case ast.Call(func=inner) | (ast.Attribute() as inner):
            return bool(_VARIABLES.search(module.text(inner)))
    return isinstance(node, ast.List)


def _is_none(binding: Binding) -> bool:
    return isinstance(binding.value, ast.Constant) and binding.value.value is None


def _binds_list(binding: Binding, depth: int) -> bool:
    match binding:
        case Binding(kind="assign", value=value, path=()):
            return _is_list(value, binding.module, depth)
        case Binding(kind="assign", value=ast.Call() as call, path=(place,)):
            return _returns_list(call, place, binding.module, depth)
    return False


def _returns_list(call: ast.Call, place: int | None, module: Module, depth: int) -> bool:
    """Whether a function of the program returns such a list, maybe at a place of a tuple."""
    callee = module.program.function(module.call(call))
    if callee is None:
        return False
    where, function = callee
    values: list[ast.expr | None] = []
    for returned in where.scopes[function].returns:
        match returned.value, place:
            case value, None:
                values.append(value)
            case ast.Tuple(elts=parts), int():
                values += parts[place : place + 1]
            case _:
                return False
    return bool(values) and all(_is_list(value, where, depth) for value in values)


RULE = Rule("CL119", check, hints=("gradient(",))
