"""Reads how many rows a batch has: from the arguments of `fit`, or from a pipeline of tf.data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of
from crosscast_reading.readers.python.library_calls import calls_of, matching, value_of
from crosscast_reading.readers.python.shuffling import made_of, tell_of_datasets, tell_of_fit
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_FITS = re.compile(r"keras\.(\w+\.)*\w+\.fit")
_BEGINS = re.compile(r"tensorflow\.data\.(Dataset\.\w+|\w+Dataset)")
_DIVIDED = re.compile(r"tensorflow\.distribute\..*|tensorflow\.contrib\.distribute\..*")
_USUAL = 32
"""Rows of a batch that Keras makes of arrays unless it is told."""


def fitted(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts about rows: what `fit` makes of arrays, or the pipeline that is trained on.

    `fit` trains on a short last batch too.
    """
    writer = FactWriter(reader)
    fits = [call for call in program.calls() if call.method == "fit" and call.receiver is not None]
    of_arrays = next((call for call in fits if "batch_size" in call.bound()), None)
    if of_arrays is None:
        of_arrays = next((call for _, call in matching(program, _FITS) if _has_labels(call)), None)
    if of_arrays is not None:
        size = of_arrays.argument("batch_size", Known(_USUAL))
        usual = Known(_USUAL) if content(size) is None and isinstance(size, Known) else size
        writer.number("batch.micro_batch_size", usual, place_of(of_arrays))
        writer.say("batch.drop_last", "no", place_of(of_arrays))
        tell_of_fit(writer, of_arrays)
    else:
        tell_of_datasets(writer, program)
        _of_pipeline(writer, program)
    yield from writer.facts


def _has_labels(call: Call) -> bool:
    """Whether `fit` gets labels beside its inputs, which only arrays need."""
    labels = call.bound().get("y")
    return labels is not None and not isinstance(labels, ast.Constant)


def _of_pipeline(writer: FactWriter, program: Program) -> None:
    """Record the size of the batches of the pipeline that a program trains on, if it is certain."""
    if any(_DIVIDED.fullmatch(name) for name, _ in calls_of(program)):
        return  # its batches are divided among devices
    trained = (call for each in _trained_on(program) for call in _batches(*each))
    batches = {call.node: call for call in trained}
    if len(batches) != 1:
        return
    (call,) = batches.values()
    size = call.node.args[0] if call.node.args else _named(call, "batch_size")
    if size is None:
        return
    writer.number("batch.micro_batch_size", value_of(size, call.module), place_of(call))
    drops = call.node.args[1] if len(call.node.args) > 1 else _named(call, "drop_remainder")
    dropped = content(value_of(drops, call.module)) if drops is not None else False
    if isinstance(dropped, bool):
        writer.say("batch.drop_last", "yes" if dropped else "no", place_of(call))
    else:
        text = call.module.text(drops) if drops is not None else ""
        writer.unknown("batch.drop_last", "a setting decides", place_of(call), expression=text)


def _trained_on(program: Program) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the data that the loops of training steps run over, or that `fit` gets."""
    looped = False
    for step in training_steps(program):
        for event in step.of("backward"):
            loops = [loop.node for loop in event.loops if isinstance(loop.node, ast.For)]
            for loop in loops[-1:]:
                looped = True
                where = next((m for m in program.modules if loop in m.parents), event.module)
                yield loop.iter, where
    if not looped:
        for _, call in matching(program, _FITS):
            node = call.bound().get("x")
            if node is not None:
                yield node, call.module


def _batches(node: ast.expr, module: Module) -> Iterator[Call]:
    """Yield the calls of `batch` in a pipeline that begins with a function of tf.data."""
    made = made_of(node, module)
    calls = [where.call(each) for each, where in made if isinstance(each, ast.Call)]
    if any(_BEGINS.fullmatch(name) for call in calls for name in call.names):
        yield from (call for call in calls if call.method == "batch")


def _named(call: Call, word: str) -> ast.expr | None:
    return next((k.value for k in call.node.keywords if k.arg == word), None)
