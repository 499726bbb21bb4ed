"""Reads how the rows of a loop are loaded: batch size, and what becomes of a short last batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.containers import ends_of
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_reading.readers.python.shuffling import tell_of_loader
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_EVALUATION = re.compile(r"val|test|eval|dev|valid|infer|predict", re.I)
_CUTS = re.compile(
    r"\.(split|chunk|tensor_split)\(|\b(split|chunk|tensor_split|array_split)\("
    r"|range\(0, (len\(\w+\)|\w+\.(shape\[0\]|size\(0\))), "
)


def batch_facts(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the batch size of the loader that the program trains with, and its short last batch."""
    writer = FactWriter(reader)
    _batch(writer, program)
    yield from writer.facts


def _cut(program: Program) -> str | None:
    """Return the parts that a loop over micro-batches cuts a batch into, as text; None without."""
    overs = [
        loop.over
        for step in training_steps(program)
        for event in step.inside("backward")
        for loop in event.loops
        if loop.role == "micro" and _CUTS.search(loop.over)
    ]
    return overs[0] if overs else None


def _batch(writer: FactWriter, program: Program) -> None:
    """Record the batch size of the first loader that is not for evaluation."""
    loaders = list(_loaders(program))
    if not loaders or _may_be_left_out(loaders[0], program):
        return
    call = loaders[0]
    if (cut := _cut(program)) is not None:
        reason = "micro-batches are cut from a batch"
        writer.unknown("batch.micro_batch_size", reason, place_of(call), expression=cut)
    else:
        writer.number("batch.micro_batch_size", call.argument("batch_size"), place_of(call))
    tell_of_loader(writer, call)
    if len({_kept(loader) for loader in loaders}) == 1:
        _last(writer, call)
    else:
        writer.unknown("batch.drop_last", "loaders differ", *map(place_of, loaders))


def _may_be_left_out(loader: Call, program: Program) -> bool:
    """Whether a library trains with what may be a loader or something else."""
    fits = (call for call in program.calls() if any(_fits(name) for name in call.names))
    given = ((node, call.module) for call in fits for node in call.bound().values())
    several = ({end for end, _ in ends_of(*place)} for place in given)
    return any(loader.node in ends and len(ends) > 1 for ends in several)


def _fits(name: str) -> bool:
    return has_role(canonical(name), "fits")


def _kept(loader: Call) -> str:
    """Return the argument of a loader about a short last batch, as it is written."""
    said = loader.bound().get("drop_last")
    return loader.module.text(said) if said is not None else "False"


def _loaders(program: Program) -> Iterator[Call]:
    for name, call in calls_of(program):
        if not has_role(name, "data_loader"):
            continue
        statement = call.module.statement_of(call.node)
        function = call.module.function_of(call.node)
        text = call.module.text(call.node)[:200]
        where = function.name if function is not None else ""
        if isinstance(statement, ast.Assign):
            where += " " + call.module.text(statement.targets[0])
        if _EVALUATION.search(where) or (_EVALUATION.search(text) and "train" not in text):
            continue
        if call.bound().get("batch_size") is not None:
            yield call


def _last(writer: FactWriter, call: Call) -> None:
    """Record what a loader does with a short last batch; it keeps it unless it is told to."""
    if "drop_last" in call.bound():
        drops = content(call.argument("drop_last"))
        if isinstance(drops, bool):
            writer.say("batch.drop_last", "yes" if drops else "no", place_of(call))
        else:
            text = call.module.text(call.bound()["drop_last"])
            writer.unknown("batch.drop_last", "a setting decides", place_of(call), expression=text)
    elif not call.has_star:
        writer.say("batch.drop_last", "no", place_of(call))
