"""Schedules whose length is a number of epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rules._schedules import makers, spelled_out
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.syntax.nodes import keyword
from crosscast.pysource.values.value import Instance, Known
from crosscast.readers.python.library_calls import calls_of, last

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import Event

_EPOCHS = re.compile(
    r"([\w\[\]\"']+\.)*_?(n|num|max|total|train|all)?_?(train_)?epochs?(_num|s)?", re.I
)
_TRAINER = re.compile(r"(pytorch_lightning|lightning(\.pytorch)?)(\.trainer(\.trainer)?)?\.Trainer")
_COUNTS_MORE = re.compile(r"len\(|step|iter|batch|\*|/", re.I)
_PADDLE = {"CosineAnnealingDecay": "T_max", "PolynomialDecay": "decay_steps"}
_KERAS = frozenset({"CosineDecay", "PolynomialDecay", "CosineDecayRestarts"})
"""Schedules that every update advances."""


def advanced(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the schedules that the program advances itself, with their lengths."""
    yield from makers(program)
    yield from _lengths(program, "paddle.", _PADDLE)


def advanced_by_keras(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the schedules of Keras with their lengths."""
    yield from _lengths(program, "keras.", dict.fromkeys(_KERAS, "decay_steps"))


def _lengths(
    program: Program, library: str, arguments: dict[str, str]
) -> Iterator[tuple[Call, ast.expr]]:
    for name, call in calls_of(program):
        argument = arguments.get(last(name), "") if name.startswith(library) else ""
        node = call.bound().get(argument)
        if node is not None:
            yield call, node


def counts_epochs(call: Call, node: ast.expr) -> bool:
    """Whether a length has the name of a number of epochs, and is nothing else."""
    module = call.module.owner_of(node)
    named = _EPOCHS.fullmatch(module.text(node))
    return bool(named) and not _COUNTS_MORE.search(spelled_out(node, module))


def runs_over(event: Event, length: str) -> bool:
    """Whether something happens for every batch of as many epochs as a length says."""
    *around, batches = event.loops or (None,)
    return (
        batches is not None
        and "epoch" not in f"{batches.counter} {batches.over}".lower()
        and any(
            loop.role == "epoch"
            and re.search(rf"(?<![\w.]){re.escape(length)}(?![\w.])", loop.over)
            for loop in around
            if loop is not None
        )
    )


def told_otherwise(program: Program) -> Iterator[tuple[Call, ast.expr, Call, ast.expr]]:
    """Yield Lightning modules that are told another number of epochs than the Trainer runs.

    Each with the number, the Trainer, and its number.
    """
    for module in program.modules:
        fits = [call for call in module.calls if call.method == "fit"]
        if len(fits) == 1:
            yield from _told(fits[0])


def _told(fit: Call) -> Iterator[tuple[Call, ast.expr, Call, ast.expr]]:
    node, given = fit.node.func, fit.node.args
    if isinstance(node, ast.Attribute) and given:
        trainer, model = evaluate(node.value, fit.module), evaluate(given[0], fit.module)
        if not isinstance(trainer, Instance) or not isinstance(model, Instance):
            return
        if not _TRAINER.fullmatch(trainer.made_by):
            return
        if not isinstance(trainer.call, Call) or not isinstance(model.call, Call):
            return
        runs = keyword(trainer.call.node, "max_epochs")
        for told in model.call.node.keywords:
            named = told.arg is not None and _EPOCHS.fullmatch(told.arg)
            if named and runs is not None and _differ(told.value, model.call, runs, trainer.call):
                yield model.call, told.value, trainer.call, runs


def _differ(node: ast.expr, call: Call, other: ast.expr, there: Call) -> bool:
    values = (evaluate(node, call.module), evaluate(other, there.module))
    numbers = [
        value.value
        for value in values
        if isinstance(value, Known) and not value.flag and isinstance(value.value, int | float)
    ]
    return len(numbers) == len(values) and numbers[0] != numbers[1] and min(numbers) > 0
