"""CL720: gradients are taken for the weights of a model that is frozen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_WEIGHTS = ("trainable_variables", "trainable_weights")
_THAWS = re.compile(r"trainable|freeze|frozen|thaw", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find tapes for models that are made untrainable before, and never trainable again."""
    program = subject.program
    frozen = list(_frozen(program))
    if not frozen or _may_thaw(program):
        return
    seen: set[str] = set()
    for name, call in calls_of(program):
        if call.method != "gradient" or "GradientTape" not in name or len(call.node.args) < 2:
            continue
        module = call.module
        for place, where in frozen:
            model = place.value
            if where is not module or module.text(model) in seen:
                continue
            if _is_weights(call.node.args[1], model, module) and _is_behind(place, call, module):
                seen.add(module.text(model))
                yield Finding(
                    span=module.span(call.node),
                    message=f"{module.text(model)} was made untrainable, so it has no trainable "
                    "variables: nothing is trained here",
                    hint=f"set {module.text(model)}.trainable = True before, or keep the list of "
                    "its variables from before it was frozen",
                    related=(module.span(place),),
                )


def _frozen(program: Program) -> Iterator[tuple[ast.Attribute, Module]]:
    """Yield the places that set `model.trainable = False`, whatever happens."""
    for module in program.modules:
        for node in module.every(ast.Assign):
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=model, attr="trainable") as place],
                    value=ast.Constant(value=False),
                ) if isinstance(model, ast.Name | ast.Attribute):
                    if module.enclosing(node, ast.If, ast.For, ast.While, ast.Try) is None:
                        yield place, module


def _may_thaw(program: Program) -> bool:
    """Whether anything in a program may make a model trainable again."""
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    sets = any(identifier(target) == "trainable" for target in targets)
                    if sets and not (isinstance(value, ast.Constant) and value.value is False):
                        return True
                case ast.Call(func=function) if identifier(function) not in _WEIGHTS:
                    if _THAWS.search(identifier(function)):
                        return True
                case ast.Constant(value="trainable"):
                    return True
    return False


def _is_weights(node: ast.expr, model: ast.expr, module: Module) -> bool:
    """Whether an expression is the list of a model's variables, asked for at this moment."""
    match node:
        case ast.Attribute(value=owner, attr=attr) if attr in _WEIGHTS:
            return module.text(owner) == module.text(model)
    return False


def _is_behind(place: ast.Attribute, call: Call, module: Module) -> bool:
    """Whether a model is frozen before a tape runs, and is the same object then."""
    here, there = module.function_of(place), module.function_of(call.node)
    model, program = place.value, module.program
    if isinstance(model, ast.Name):
        bound = definitions(model, module)
        if len(bound) != 1 or bound[0].kind != "assign":
            return False
        if here is there:
            return place.lineno < call.node.lineno
        sites = program.call_sites(module, there) if here is None and there is not None else ()
        return bool(sites) and all(
            site.module is module and site.node.lineno > place.lineno for site in sites
        )
    owner = module.class_of(place)
    if owner is None or owner is not module.class_of(call.node) or here is there:
        return False
    if here is None or here.name != "__init__":
        return False
    name = module.text(model)
    made = [
        node
        for node in walk(owner)
        if isinstance(node, ast.Assign) and any(module.text(t) == name for t in node.targets)
    ]
    return len(made) == 1


RULE = Rule("CL720", check, hints=("trainable",))
