"""Schedules whose length is a number of epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rules._schedules import makers, spelled_out
from crosscast.readers.python.library_calls import calls_of, last

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import Event

_EPOCHS = re.compile(
    r"([\w\[\]\"']+\.)*_?(n|num|max|total|train|all)?_?(train_)?epochs?(_num|s)?", re.I
)
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
