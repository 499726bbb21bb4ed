"""CL521: an object is made only under a switch, and used without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.order import stands_before
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.optimizer._switched import Switched
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.libraries.words import Role
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.names.references import References, references
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_MADE: tuple[Role, ...] = ("clip", "scaler", "schedule", "optimizer")
"""Objects of a training step."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find uses that no condition keeps from a name which only `if switch:` binds."""
    for name, call in calls_of(subject.program):
        if not has_role(name, *_MADE):
            continue
        module = call.module
        match module.parent(call.node):
            case ast.Assign(targets=[ast.Name(id=bound)], value=value) as assignment if (
                value is call.node
            ):
                switch = module.parent(assignment)
            case _:
                continue
        if not isinstance(switch, ast.If) or switch.orelse or not _is_switch(switch.test, module):
            continue
        uses = references(bound, assignment, module)
        if uses is None or not _only_under(switch, uses, module):
            continue
        used = _used_without(switch, uses, module)
        if used is not None:
            yield Finding(
                span=module.span(used),
                message=f"{bound} is made only if {module.text(switch.test)}: without it this line "
                "raises an exception",
                hint=f"set `{bound} = None` before, or use it under the same condition",
                related=(module.span(assignment),),
            )


def _is_switch(test: ast.expr, module: Module) -> bool:
    """Whether a condition asks one setting whether something is on."""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq() | ast.IsNot()], comparators=[none]):
            return getattr(none, "value", 1) in (0, None) and _is_setting(left, module)
    return _is_setting(test, module)


def _is_setting(node: ast.expr, module: Module) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=owner)):
            return owner not in module.imports or ":" in module.resolve(node)
        case ast.Attribute(value=inner):
            return _is_setting(inner, module)
        case ast.Subscript(slice=ast.Constant(value=str()), value=inner):
            return isinstance(inner, ast.Name) or _is_setting(inner, module)
        case ast.Name():
            return {binding.kind for binding in definitions(node, module)} == {"parameter"}
    return False


def _only_under(switch: ast.If, uses: References, module: Module) -> bool:
    """Whether every line that binds a name is in the body of a condition."""
    inside = {id(node) for node in walk(switch)}
    if uses.is_open or not all(id(binding.node) in inside for binding in uses.bindings):
        return False
    stars = module.stars if uses.scope is module.scope else ()
    return not any(_may_give(star, uses.name, module) for star in stars)


def _may_give(star: str, name: str, importer: Module) -> bool:
    """Whether `from star import *` may bind a name."""
    imported = importer.program.find_module(star, importer)
    if imported is None:
        return True
    for node in imported.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=listed)):
                return any(getattr(each, "value", name) == name for each in listed)
    return bool(imported.stars) or name in imported.scope.bindings


def _used_without(switch: ast.If, uses: References, module: Module) -> ast.Name | None:
    """Return the first use after a condition that is reached without it."""
    switched = Switched(switch, module)
    later = [
        read
        for read in uses.reads
        if module.scope_of(read) is uses.scope and stands_before(switch, read, module)
    ]
    for use in later:
        if _is_reached(use, switched, later, module):
            return None if switched.may_end_before(use) else use
    return None


def _is_reached(use: ast.AST, switched: Switched, uses: list[ast.Name], module: Module) -> bool:
    """Whether a line runs whatever the conditions are between it and the block of the switch.

    A chain of conditions does not matter if every branch of it uses the name, nor does a loop
    whose head has nothing to do with the setting: that of the training runs.
    """
    node, around = use, module.parent(use)
    block = module.parent(switched.switch)
    while around is not None and around is not block:
        match around:
            case ast.IfExp() | ast.BoolOp() | ast.Try() | ast.Assert() | ast.comprehension():
                return False
            case ast.Lambda() | ast.FunctionDef() | ast.ClassDef() | ast.match_case():
                return False
            case ast.For(iter=head) | ast.AsyncFor(iter=head) | ast.While(test=head) if (
                node is not head and switched.decides(head)
            ):
                return False
            case ast.If(test=test) if node is not test:
                top = _top(around, module)
                if not _all_use(top, uses, module):
                    return False
                around = top
        node, around = around, module.parent(around)
    return around is block


def _top(condition: ast.If, module: Module) -> ast.If:
    """Return the `if` of an `elif`."""
    around = module.parent(condition)
    while isinstance(around, ast.If) and around.orelse == [condition]:
        condition, around = around, module.parent(around)
    return condition


def _all_use(condition: ast.If, uses: list[ast.Name], module: Module) -> bool:
    """Whether all of several branches use a name."""
    bodies = [condition.body]
    while len(condition.orelse) == 1 and isinstance(condition.orelse[0], ast.If):
        condition = condition.orelse[0]
        bodies.append(condition.body)
    if condition.orelse:
        bodies.append(condition.orelse)
    places = {id(use) for use in uses}
    using = [any(id(node) in places for part in body for node in walk(part)) for body in bodies]
    return len(bodies) > 1 and all(using)


RULE = Rule("CL521", check, hints=("if ",), needs_training=False)
