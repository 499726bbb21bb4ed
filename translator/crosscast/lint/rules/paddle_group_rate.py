"""CL809: parameter groups of Paddle with the learning rate under the key of PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._paddle import AMP, program_of
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.names.containers import Place, chase
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import identifier
from crosscast.readers.python.library_calls import calls_of, last
from crosscast.readers.python.optimizers import family_of
from crosscast.sources.subject import Subject

_KEYS = frozenset({"lr", "learning_rate"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find groups whose `lr` differs from the rate of the optimizer, and rates written too late."""
    program = program_of(subject)
    yield from _late(program) if program is not None else ()
    seen: set[ast.expr] = set()
    for name, call in calls_of(program) if program is not None else ():
        node = call.bound().get("parameters")
        if node is None or not name.startswith("paddle.optimizer.") or not family_of(last(name)):
            continue
        rated = [(rate, module) for rate, module in _rates(node, call) if rate not in seen]
        seen.update(rate for rate, _ in rated)
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
    if not rated or common is None:
        return False
    texts = {module.text(node) for node, module in chase(common, call.module)}
    return rated[0][1].text(rated[0][0]) not in texts


def _rates(node: ast.expr, call: Call) -> Iterator[Place]:
    """Yield what groups of parameters have under `lr`, unless they have a factor as well."""
    places = [*chase(node, call.module), *_added(node, call.module)]
    for given, module in places:
        groups = [given]
        match given:
            case ast.List(elts=parts):
                groups = parts
            case ast.ListComp(elt=part):
                groups = [part]
            case ast.Name(id=name):
                here = module.function_of(given)
                groups = [
                    each.node.args[0]
                    for each in module.calls
                    if each.method == "append" and each.receiver_text == name and each.node.args
                    if module.function_of(each.node) is here
                ]
        for group in groups:
            keys = _entries(group)
            if "params" in keys and "lr" in keys and "learning_rate" not in keys:
                yield keys["lr"], module


def _added(node: ast.expr, module: Module) -> Iterator[Place]:
    """Yield the lists that `groups += [...]` adds in the function that makes the optimizer."""
    if not isinstance(node, ast.Name):
        return
    for each in module.nodes:
        match each:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List() as more):
                if name == node.id and module.function_of(each) is module.function_of(node):
                    yield more, module


def _entries(node: ast.expr) -> dict[object, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}


_GROUPS = """parameters=[
    {"params": model[0].parameters(), "learning_rate": 0.1},
    {"params": model[1].parameters()},
])"""

RULE = Rule(
    code="CL809",
    name="paddle-group-rate",
    topic="paddle",
    severity=Severity.WARNING,
    title="A learning rate of a group that Paddle does not read",
    why="Parameter groups of PyTorch have their own rate under `lr`. Paddle ignores that key and "
    "trains the group with the rate of the optimizer. Its key is `learning_rate`, by which the "
    "rate of the optimizer is multiplied.",
    wrong=changed(
        AMP,
        ("parameters=model.parameters())", _GROUPS.replace('"learning_rate": 0.1', '"lr": 1e-4')),
    ),
    right=changed(AMP, ("parameters=model.parameters())", _GROUPS)),
    check=check,
    hints=("lr", "_param_groups"),
    sources=("Paddle 3.3.1, Optimizer._add_param_group",),
)
