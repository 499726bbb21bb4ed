"""CL809: parameter groups of Paddle with the learning rate under the key of PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import Place, chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.readers.python.optimizers import family_of
from crosscast_reading.sources.subject import Subject

_KEYS = frozenset({"lr", "learning_rate"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find groups whose `lr` differs from the rate of the optimizer, and rates written too late."""
    program = subject.program
    yield from _late(program)
    for name, call in calls_of(program):
        node = call.bound().get("parameters")
        if node is None or not name.startswith("paddle.optimizer.") or not family_of(last(name)):
            continue
        rated = sorted(_rates(node, call), key=lambda place: place[0].lineno)
        if len({module.text(rate) for rate, module in rated}) < 2 and not _differs(rated, call):
            continue
        rate, module = rated[0]
        yield Finding(
            span=module.span(rate),
            message='"lr" of a parameter group has no effect: optimizers of Paddle read '
            '"learning_rate", a factor of their own rate',
            hint='write `"learning_rate": factor`',
            related=(call.module.span(call.node),),
        )


def _late(program: Program) -> Iterator[Finding]:
    """Find rates that are written into the groups of an optimizer, which it read when made."""
    for module in program.modules:
        for node in module.nodes if not _applies(module) else ():
            if not isinstance(node, ast.Assign | ast.AugAssign):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                match target:
                    case ast.Subscript(value=group, slice=ast.Constant(value=str() as key)):
                        if key in _KEYS and _is_group(group, module):
                            yield Finding(
                                span=module.span(target),
                                message="the learning rate does not change: optimizers of Paddle "
                                "read the rate of a group once, when it is added",
                                hint="use `optimizer.set_lr(rate)` for all of them, or write "
                                '`parameter.optimize_attr["learning_rate"] = factor`',
                            )


def _applies(module: Module) -> bool:
    """Whether the program hands rates to the parameters, or has an optimizer of its own."""
    named = {identifier(node) for node in module.every(ast.Attribute)}
    if not named.isdisjoint({"optimize_attr", "set_lr"}):
        return True
    classes = (node for node in module.nodes if isinstance(node, ast.ClassDef))
    return any("Optimizer" in identifier(base) for each in classes for base in each.bases)


def _is_group(node: ast.expr, module: Module) -> bool:
    """Whether it is a group of an optimizer: `optimizer._param_groups[0]`, or one of a loop."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="_param_groups")):
            return True
        case ast.Name(id=name):
            loop = module.enclosing(node, ast.For)
            while isinstance(loop, ast.For):
                targets = [each for each in ast.walk(loop.target) if isinstance(each, ast.Name)]
                if name in {each.id for each in targets}:
                    parts = [
                        each for each in ast.walk(loop.iter) if isinstance(each, ast.Attribute)
                    ]
                    return any(part.attr == "_param_groups" for part in parts)
                loop = module.enclosing(loop, ast.For)
    return False


def _differs(rated: list[Place], call: Call) -> bool:
    """Whether the only rate that groups have is written otherwise than that of the optimizer."""
    common = call.bound().get("learning_rate")
    given = chase(common, call.module) if common is not None else ()
    texts = {module.text(node) for node, module in given}
    return any(module.text(rate) not in texts for rate, module in rated)


def _rates(node: ast.expr, call: Call) -> Iterator[Place]:
    """Yield the values of groups of parameters under `lr`, unless they have a factor as well."""
    for given, module in chase(node, call.module):
        match given:
            case ast.List(elts=groups):
                pass
            case ast.ListComp(elt=group):
                groups = [group]
            case ast.Name():
                groups = list(_added(given, module))
            case _:
                groups = [given]
        for group in groups:
            keys = _entries(group)
            if "params" in keys and "lr" in keys and "learning_rate" not in keys:
                yield keys["lr"], module


def _added(groups: ast.Name, module: Module) -> Iterator[ast.expr]:
    """Yield the groups that a function adds to a list: `groups += [...]`, `groups.append(...)`."""
    for each in walk(module.function_of(groups) or module.tree):
        match each:
            case ast.AugAssign(target=ast.Name(groups.id), op=ast.Add(), value=ast.List(elts=more)):
                yield from more
            case ast.Call(
                func=ast.Attribute(value=ast.Name(groups.id), attr="append"), args=[group]
            ):
                yield group


def _entries(node: ast.expr) -> dict[object, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {getattr(key, "value", None): value for key, value in pairs}


RULE = Rule("CL809", check, hints=("lr", "_param_groups"))
