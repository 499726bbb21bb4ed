"""The loops over batches: what they compute of the arrays of a batch beside the training."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_migrate.copied_code import ForeignError
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import names_in
from crosscast_reading.readers.python.loss_kinds import loss_of_call, loss_of_value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_SAME = frozenset(
    {
        *("to", "cuda", "cpu", "float", "long", "int", "type", "astype", "cast", "contiguous"),
        *("detach", "clone", "double", "half", "to_tensor", "as_tensor", "tensor", "Variable"),
        *("flatten", "ravel"),
    }
)
"""Functions and methods that leave the numbers of the labels and their order as they are."""
_SMOOTHED = "label_smooth"
"""A function whose result the loss is read with."""


def batch_loops(steps: Sequence[TrainingStep]) -> Iterator[tuple[ast.For, list[str], Module]]:
    """Yield the loops over batches with the names of the arrays of a batch."""
    for step in steps:
        for event in step.of("backward"):
            loop = event.loops[-1].node if event.loops else None
            if isinstance(loop, ast.For):
                target = loop.target
                if isinstance(target, ast.Tuple) and isinstance(target.elts[-1], ast.Tuple):
                    target = target.elts[-1]  # of enumerate()
                parts = target.elts if isinstance(target, ast.Tuple) else []
                names = [part.id for part in parts if isinstance(part, ast.Name)]
                yield loop, names, module_of(event.module, loop)


def check_order(steps: Sequence[TrainingStep]) -> None:
    """Raise an error if the model gets the last array of a row, which should be the labels."""
    loops = list(batch_loops(steps))
    for step in steps:
        for event in step.of("forward"):
            if not isinstance(event.node, ast.Call):
                continue
            given = [*event.node.args, *(keyword.value for keyword in event.node.keywords)]
            used = {n.id for each in given for n in ast.walk(each) if isinstance(n, ast.Name)}
            for loop, names, module in loops:
                if len(names) > 1 and names[-1] in used and not set(names[:-1]) & used:
                    reason = f"the labels are not the last of {', '.join(names)}"
                    raise ForeignError(reason, module.span(loop.target))


def computed(steps: Sequence[TrainingStep]) -> Iterator[str]:
    """Yield the computations of loops on the arrays of a batch for their model and their loss."""
    yield from _given(steps)
    for loop, names, module in batch_loops(steps):
        yield from _of_inputs(loop, names, module)
        if names:
            texts = _of_labels(loop, names[-1], module)
            yield from (f"the loss takes {t}: let the labels of your rows be so" for t in texts)


def _of_inputs(loop: ast.For, names: Sequence[str], module: Module) -> Iterator[str]:
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names[
                :-1
            ] or isinstance(value, ast.BinOp):
                if name in names and name in names_in(value) and not _is_plain(value, {name}):
                    text = module.text(statement)[:60]
                    yield f"the loop computes {text}: do it in the class of your rows"


def _given(steps: Sequence[TrainingStep]) -> Iterator[str]:
    """Yield the computations of steps where they call their model."""
    for step in steps:
        for event in step.of("forward"):
            for given in event.node.args if isinstance(event.node, ast.Call) else ():
                if isinstance(given, ast.BinOp):
                    text = event.module.text(given)[:60]
                    yield f"the model gets {text}: let your rows be prepared so"


def _of_labels(loop: ast.For, labels: str, module: Module) -> Iterator[str]:
    """Yield the values that the loss of a loop takes for labels, where they are not the labels."""
    plain, changed = {labels}, dict[str, str]()
    for node in (inner for statement in loop.body for inner in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if names_in(value) & plain:
                if _is_plain(value, plain):
                    plain.add(name)
                elif _SMOOTHED not in module.text(value) and name not in plain:
                    changed[name] = module.text(value)[:60]
            case ast.Call() if _is_loss(node, module):
                for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(given, ast.Name) and given.id in changed:
                        yield changed[given.id]
                    elif names_in(given) & plain and not _is_plain(given, plain):
                        yield module.text(given)[:60]


def _is_loss(node: ast.Call, module: Module) -> bool:
    loss = loss_of_call(module.call(node))
    if loss is None:
        loss = loss_of_value(evaluate(node.func, module), node.func, module)
    return bool(loss.kind or loss.named)


def _is_plain(node: ast.expr, labels: set[str]) -> bool:
    """Whether an expression is the labels, but for their type, their device and their shape."""
    match node:
        case ast.Name(id=name):
            return name in labels
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=args):
            flat = [ast.unparse(argument) for argument in args] == ["-1"]
            if name not in _SAME and not (name in ("view", "reshape") and flat):
                return False
            return any(_is_plain(part, labels) for part in (owner, *args[:1]))
    return False


def module_of(module: Module, node: ast.AST) -> Module:
    """Return the module that a node is in."""
    modules = (m for m in module.program.modules if m.parent(node) is not None)
    return next(modules, module)
