"""CL405: autocast is put around the `__call__` of an instance, which Python does not look up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject

_CASTS = ("auto_cast", "autocast", "amp_guard")
_CLASS = re.compile("(?i:cls|class)|^[A-Z]")


def check(subject: Subject) -> Iterator[Finding]:
    """Find assignments of something with autocast to the `__call__` of an instance."""
    for module in subject.program.modules:
        for node in module.nodes:
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name() as instance, attr="__call__") as target]
                ) if _casts(node.value, module) and not _may_be_class(instance, module):
                    yield Finding(
                        span=module.span(target),
                        message=f"{instance.id}(...) does not use {instance.id}.__call__: Python "
                        "looks it up in the class, so the model runs without autocast",
                        hint=f"wrap `{instance.id}.forward`, or call the model within autocast",
                    )


def _casts(value: ast.expr, module: Module) -> bool:
    """Whether something is made by autocast."""
    return any(
        module.call(node).method in _CASTS for node in walk(value) if isinstance(node, ast.Call)
    )


def _may_be_class(node: ast.Name, module: Module) -> bool:
    """Whether a name may be a class, whose `__call__` is the one that is used."""
    home = module.scope_of(node).lookup(node.id)
    bindings = home.bindings.get(node.id, ()) if home is not None else ()
    return bool(_CLASS.search(node.id)) or any(map(_gives_class, bindings))


def _gives_class(binding: Binding) -> bool:
    match binding:
        case Binding(value=ast.Call(func=ast.Name(id="type")) | ast.Attribute(attr="__class__")):
            return True
        case Binding(kind="parameter" | "assign"):
            return False
    return True


RULE = Rule("CL405", check, hints=("__call__",))
