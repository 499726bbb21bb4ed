"""Schedules whose length is a number of epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.schedules import converts, makers, spelled_out
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import identifier, keyword, names_in
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.library_calls import calls_of, fixed, last, value_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event, Loop

_EPOCHS = re.compile(
    r"([\w\[\]\"']+\.)*_?(n|num|max|total|train|all)?_?(train_)?epochs?(_num|s)?", re.I
)
_STEPS = re.compile(r"(?<![a-z])(steps?|iters?|iterations|updates)(?![a-z])", re.I)
_TRAINER = re.compile(r"(pytorch_lightning|lightning(\.pytorch)?)(\.trainer(\.trainer)?)?\.Trainer")
_COUNTS_MORE = re.compile(r"len\(|step|iter|batch|\*|/", re.I)
_PADDLE = {"CosineAnnealingDecay": "T_max", "PolynomialDecay": "decay_steps"}
_KERAS = frozenset({"CosineDecay", "PolynomialDecay", "CosineDecayRestarts"})
"""Schedules that every update advances."""


@once
def advanced(program: Program) -> tuple[tuple[Call, ast.expr], ...]:
    """Return the schedules that the program advances itself, with their lengths."""
    return (*makers(program), *_lengths(program, "paddle.", _PADDLE), *_of_lambdas(program))


def advanced_by_keras(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the schedules of Keras with their lengths, but those that a callback advances."""
    by_epoch = {
        part
        for name, call in calls_of(program)
        if last(name) == "LearningRateScheduler" and call.node.args
        for part, _ in chase(call.node.args[0], call.module)
    }
    for call, node in _lengths(program, "keras.", dict.fromkeys(_KERAS, "decay_steps")):
        if call.node not in by_epoch:
            yield call, node


def _lengths(
    program: Program, library: str, arguments: dict[str, str]
) -> Iterator[tuple[Call, ast.expr]]:
    for name, call in calls_of(program):
        argument = arguments.get(last(name), "") if name.startswith(library) else ""
        node = call.bound().get(argument)
        if node is not None:
            yield call, node


def _of_lambdas(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the numbers that the functions of LambdaLR divide their argument by."""
    for call in program.calls("torch.optim.lr_scheduler.LambdaLR"):
        functions = call.bound().get("lr_lambda")
        bindings = definitions(functions, call.module) if functions is not None else ()
        for function in (functions, *(binding.node for binding in bindings)):
            match function:
                case (
                    ast.Lambda(args=ast.arguments(args=arguments))
                    | ast.FunctionDef(args=ast.arguments(args=arguments))
                ):
                    names = {argument.arg for argument in arguments}
                    yield from ((call, number) for number in _divisors(function, names))


def _divisors(function: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    """Yield the divisors of any of some names."""
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right) if names & names_in(left):
                yield _without_float(right)


def _without_float(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[inner]):
            return inner
    return node


def counts_epochs(call: Call, node: ast.expr) -> bool:
    """Whether a length has the name of a number of epochs, and is nothing else."""
    if converts(call):
        return False
    module = call.module.owner_of(node)
    named = _EPOCHS.fullmatch(module.text(node))
    return bool(named) and not _COUNTS_MORE.search(spelled_out(node, module))


def runs_over(event: Event, length: str) -> bool:
    """Whether something happens for every batch of as many epochs as a length says.

    Or for every batch of a run that ends after a number of steps.
    """
    match event.loops:
        case [*around, batches]:
            by_batch = "epoch" not in f"{batches.counter} {batches.over}".lower()
            return by_batch and any(_goes_on(loop, event, length) for loop in around)
    return False


def _goes_on(loop: Loop, event: Event, length: str) -> bool:
    """Whether a loop has as many epochs as a length says, or ends after a number of steps."""
    match loop.node:
        case ast.While(
            test=ast.Compare(left=count, ops=[ast.Lt() | ast.LtE()], comparators=[limit])
        ) if _is_raised(count, event):
            return bool(_STEPS.search(identifier(limit)))
    named = re.search(rf"(?<![\w.]){re.escape(length)}(?![\w.])", loop.over)
    return loop.role == "epoch" and named is not None


def moves_with_count(event: Event, maker: Call) -> bool:
    """Whether a schedule of a known class is set to a count that every batch raises by one.

    The only condition may be that it is of that class, as where several are to choose from.
    """
    node = event.node
    match node:
        case ast.Call(func=ast.Attribute(value=schedule), args=[] | [ast.Name()]):
            tests = [guard.node for guard in event.guards if guard.holds]
            if len(tests) < len(event.guards) or event.window is not None:
                return False
            text, name = ast.unparse(schedule), last(maker.name)
            of_class = all(_asks_class(test, text, name) for test in tests)
            counted = not node.args or _is_raised(node.args[0], event)
            return of_class and counted and "by_hand" not in event.detail
    return False


def _asks_class(test: ast.expr, text: str, name: str) -> bool:
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[asked, classes]):
            names = classes.elts if isinstance(classes, ast.Tuple) else [classes]
            return ast.unparse(asked) == text and name in [identifier(each) for each in names]
    return False


def _is_raised(count: ast.expr, event: Event) -> bool:
    """Whether the body of the innermost loop adds 1 to a count."""
    body = event.loops[-1].node.body if event.loops else []
    return f"{ast.unparse(count)} += 1" in map(ast.unparse, body)


def told_otherwise(program: Program) -> Iterator[tuple[Call, ast.expr, Call, ast.expr]]:
    """Yield Lightning modules that are told another number of epochs than the Trainer runs.

    Each with the number, the Trainer, and its number.
    """
    for module in program.modules:
        fits = [call for call in module.calls if call.method == "fit"]
        if len(fits) == 1:
            yield from _epoch_arguments(fits[0])


def _epoch_arguments(fit: Call) -> Iterator[tuple[Call, ast.expr, Call, ast.expr]]:
    match fit.node:
        case ast.Call(func=ast.Attribute(value=running), args=[trained, *_]):
            trainer, model = evaluate(running, fit.module), evaluate(trained, fit.module)
        case _:
            return
    match trainer, model:
        case Instance(made_by=name, call=Call() as runner), Instance(call=Call() as maker):
            runs = keyword(runner.node, "max_epochs") if _TRAINER.fullmatch(name) else None
        case _:
            return
    if runs is None:
        return
    for epochs in maker.node.keywords:
        if _EPOCHS.fullmatch(epochs.arg or "") and _differ(epochs.value, maker, runs, runner):
            yield maker, epochs.value, runner, runs


def _differ(node: ast.expr, call: Call, other: ast.expr, other_call: Call) -> bool:
    match fixed(value_of(node, call.module)), fixed(value_of(other, other_call.module)):
        case (int() | float()) as number, (int() | float()) as another:
            return number != another and min(number, another) > 0
    return False
