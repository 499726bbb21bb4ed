"""CL724: a model is unfrozen behind the back of a compiled training step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_WEIGHTS = ("trainable_variables", "trainable_weights")
_FROZEN = re.compile(r"freez|frozen", re.I)
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LEVELS = 3


def check(subject: Subject) -> Iterator[Finding]:
    """Find `model.trainable = True` between two runs of one compiled step for its weights."""
    program = program_of(subject)
    if program is None or any("eagerly" in m.code for m in program.modules):
        return
    for module in program.modules:
        thawed = list(_thawed(module))
        for function in module.functions.values() if thawed else ():
            model = _trained(function, module) if _is_compiled(function, module) else None
            if model is None or not _is_steady(function, module):
                continue
            runs = set(_runs(function, module, _LEVELS))
            late = [p for p in thawed if _is_part(p, model, module) and _is_late(p, runs, module)]
            for place in late[:1]:
                yield Finding(
                    span=module.span(place),
                    message=f"{function.name} is already compiled with the variables that were "
                    "trainable in its first call: what becomes trainable here is never updated",
                    hint="compile the step again: create a new tf.function of it at this place",
                    related=(module.span(function),),
                )


def _is_compiled(function: Function, module: Module) -> bool:
    """Whether a function or method is compiled once: `@tf.function`."""
    if module.function_of(function) is not None:
        return False
    decorators = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return [canonical(module.resolve(d)) for d in decorators] == ["tensorflow.function"]


def _trained(function: Function, module: Module) -> ast.Name | ast.Attribute | None:
    """Return the model whose list of variables a function asks for: no parameter, made once."""
    for node in walk(function):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="gradient"),
                args=[_, ast.Attribute(value=ast.Name() | ast.Attribute() as model, attr=attr)],
            ) if attr in _WEIGHTS:
                if isinstance(model, ast.Attribute):
                    return model
                bound = definitions(model, module)
                return model if len(bound) == 1 and bound[0].kind == "assign" else None
    return None


def _thawed(module: Module) -> Iterator[ast.Attribute]:
    """Yield where something becomes trainable."""
    for node in module.every(ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr="trainable") as place], value=ast.Constant(value=True)
            ):
                yield place


def _is_part(place: ast.Attribute, model: ast.expr, module: Module) -> bool:
    """Whether a model, or a part of it, becomes trainable: also a layer of a loop."""
    owner: ast.expr = place.value
    around = module.enclosing(place, ast.For)
    if isinstance(around, ast.For) and module.text(around.target) == module.text(owner):
        owner = around.iter
    text, of = module.text(owner), module.text(model)
    if isinstance(model, ast.Attribute) and module.class_of(place) is not module.class_of(model):
        return False
    return text == of or text.startswith(f"{of}.")


def _runs(function: Function, module: Module, levels: int) -> Iterator[ast.AST]:
    """Yield the calls in a module that run a function, also through others."""
    for site in module.program.call_sites(module, function):
        if site.module is module:
            yield site.node
            around = module.function_of(site.node)
            if around is not None and around is not function and levels:
                yield from _runs(around, module, levels - 1)


def _is_steady(function: Function, module: Module) -> bool:
    """Whether the arguments of all calls are tensors or the same objects.

    A new number of Python, such as the epoch, compiles the function again.
    """
    sites = module.program.call_sites(module, function)
    return bool(sites) and all(
        _is_same(argument, site)
        for site in sites
        for argument in (*site.node.args, *(k.value for k in site.node.keywords))
    )


def _is_same(node: ast.expr, site: Call) -> bool:
    match node:
        case ast.Constant() | ast.Attribute():
            return True
        case ast.Call(func=function):
            made = canonical(site.module.resolve(function))
            return made.startswith("tensorflow.") or made == "next"
        case ast.Name():
            bound = definitions(node, site.module)
            return bool(bound) and all(_is_item(b.kind, b.value, b.path, site) for b in bound)
    return False


def _is_item(kind: str, value: ast.expr | None, path: tuple[object, ...], site: Call) -> bool:
    """Whether a name stands for an item of a data set, or for a tensor."""
    if kind == "loop":
        over = identifier(value.func) if isinstance(value, ast.Call) else ""
        return over != "range" and not (over == "enumerate" and path[:1] in ((), (0,)))
    return kind == "assign" and isinstance(value, ast.Call) and _is_same(value, site)


def _is_late(place: ast.Attribute, runs: set[ast.AST], module: Module) -> bool:
    """Whether a step runs before something becomes trainable, and after it."""
    child: ast.AST = module.parent(place) or place
    here, test = module.parent(child), None
    while here is not None and not isinstance(here, ast.FunctionDef | ast.ClassDef):
        if isinstance(here, ast.If) and test is None:
            test = here
        elif isinstance(here, ast.For | ast.While) and test is not None:
            inside = {*walk(here)} - {*walk(test)}
            if runs & inside and _waits(test.test, here, module):
                return True
        if test is None and _is_between(child, here, runs) and _is_frozen(module):
            return True
        child, here = here, module.parent(here)
    return (
        test is None and here is not None and _is_between(child, here, runs) and _is_frozen(module)
    )


def _is_between(statement: ast.AST, around: ast.AST, runs: set[ast.AST]) -> bool:
    """Whether a step runs in a statement before, and in one after, of the same block."""
    block = getattr(around, "body", [])
    if not isinstance(block, list) or statement not in block:
        return False
    at = block.index(statement)
    return all(
        any(runs & {*walk(each)} for each in part if not isinstance(each, _DEFINES))
        for part in (block[:at], block[at + 1 :])
    )


def _is_frozen(module: Module) -> bool:
    """Whether something is made untrainable."""
    return any(
        isinstance(node.value, ast.Constant)
        and node.value.value is False
        and any(identifier(target) == "trainable" for target in node.targets)
        for node in module.every(ast.Assign)
    )


def _waits(test: ast.expr, loop: ast.For | ast.While, module: Module) -> bool:
    """Whether a condition is false in the first round of a loop: `epoch >= frozen_epochs`."""
    counter = module.text(loop.target) if isinstance(loop, ast.For) else ""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        match part:
            case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[limit]):
                first = isinstance(limit, ast.Constant) and limit.value in (0, -1)
                later = isinstance(op, ast.Gt) or (isinstance(op, ast.Eq | ast.GtE) and not first)
                frozen = _is_frozen(module) or _FROZEN.search(module.text(limit))
                if name == counter and later and frozen:
                    return True
    return False


RULE = Rule("CL724", check, hints=("trainable",))
