"""The loops over batches: what they compute of the arrays of a batch beside the training."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_migrate.copied_code import ForeignError
from crosscast_migrate.models.installed import model_tables
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier, names_in, walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.readers.python.loss_kinds import loss_of_call, loss_of_value

if TYPE_CHECKING:
    from crosscast_migrate.models.uses import Use
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_SAME = frozenset(
    {
        *("to", "cuda", "cpu", "float", "long", "int", "type", "astype", "cast", "contiguous"),
        *("detach", "clone", "double", "half", "to_tensor", "as_tensor", "tensor", "Variable"),
        "asarray",
        *("flatten", "ravel"),
    }
)
"""Functions and methods that leave the numbers of the labels and their order as they are."""
Body = tuple[ast.For | ast.FunctionDef, list[str], "Module"]
"""A loop or a function, with the names of the arrays of a batch."""
_SMOOTHED = "label_smooth"
"""A function whose result the loss is read with."""


def batch_loops(steps: Sequence[TrainingStep]) -> Iterator[tuple[ast.For, list[str], Module]]:
    """Yield the loops over batches with the names of the arrays of a batch."""
    for loop, target, module in _targets(steps):
        parts = target.elts if isinstance(target, ast.Tuple) else []
        yield loop, [part.id for part in parts if isinstance(part, ast.Name)], module


def batch_targets(steps: Sequence[TrainingStep]) -> Iterator[ast.expr]:
    """Yield the targets that the loops over batches assign a batch to."""
    yield from (target for _, target, _ in _targets(steps))


def _targets(steps: Sequence[TrainingStep]) -> Iterator[tuple[ast.For, ast.expr, Module]]:
    for step in steps:
        for event in step.of("backward"):
            loop = event.loops[-1].node if event.loops else None
            if isinstance(loop, ast.For):
                target, over = loop.target, loop.iter
                counted = isinstance(over, ast.Call) and identifier(over.func) == "enumerate"
                if isinstance(target, ast.Tuple):
                    inner = target.elts[-1]  # of enumerate()
                    target = inner if isinstance(inner, ast.Tuple) or counted else target
                yield loop, target, module_of(event.module, loop)


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


def computed(steps: Sequence[TrainingStep], uses: Sequence[Use]) -> Iterator[str]:
    """Yield the computations on a batch in loops and in functions that call the model."""
    yield from _given(steps)
    given = {name for use in uses if use.call for node in use.call.args for name in names_in(node)}
    bodies: list[Body] = [*batch_loops(steps), *_functions(steps, uses)]
    for body, names, module in bodies:
        yield from _of_inputs(body, names, given, module)
        if names and names[-1] not in given:  # the model is not given the whole batch
            texts = _of_labels(body, names[-1], module)
            yield from (f"the loss takes {t}: let the labels of your rows be so" for t in texts)


def _functions(
    steps: Sequence[TrainingStep], uses: Sequence[Use]
) -> Iterator[tuple[ast.FunctionDef, list[str], Module]]:
    """Yield the functions that call the model, with the parameters that are arrays of a batch."""
    loops = [loop for loop, _, _ in batch_loops(steps)]
    for use in uses:
        function = use.module.enclosing(use.call, ast.FunctionDef) if use.call else None
        if use.call is None or not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(walk(function))
        if any(loop in nodes for loop in loops):
            continue
        inputs = {name for argument in use.call.args for name in names_in(argument)}
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in inputs:
                    inputs |= names_in(value)
        parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        first = next((p for p, name in enumerate(parameters) if name in inputs), None)
        if first is not None:
            yield function, parameters[first:], use.module


def _of_inputs(
    body: ast.For | ast.FunctionDef, names: Sequence[str], given: set[str], module: Module
) -> Iterator[str]:
    """Yield the computations on inputs, under their names or others that the model is given."""
    for statement in (inner for outer in body.body for inner in walk(outer)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                own = name in names and name in names_in(value)
                own = own and (name in names[:-1] or isinstance(value, ast.BinOp))
                other = name in given - set(names) and bool(names_in(value) & set(names[:-1]))
                if (own or other) and not _is_plain(value, set(names)):
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


def _of_labels(loop: ast.For | ast.FunctionDef, labels: str, module: Module) -> Iterator[str]:
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
    name, loss = canonical(module.call(node).name), loss_of_call(module.call(node))
    if loss is None:
        loss = loss_of_value(evaluate(node.func, module), node.func, module)
    rows = (tables.reading.row_losses for tables in model_tables().values() if tables.reading)
    return bool(loss.kind or loss.named) or any(name in each for each in rows)


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
