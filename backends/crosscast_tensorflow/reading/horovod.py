"""Reads what Horovod adds to a training in TensorFlow and Keras: windows, and its callbacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of, last, plain, value_of
from crosscast_reading.readers.python.optimizers import course_facts
from crosscast_reading.readers.python.schedules import Course

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_WRAPPERS = ("DistributedOptimizer", "DistributedGradientTape", "DistributedAdasumOptimizer")
_WARMUP, _DECAY = "LearningRateWarmupCallback", "LearningRateScheduleCallback"


def horovod_windows(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the windows that `backward_passes_per_step` asks for."""
    for call in _calls(program, *_WRAPPERS):
        given = keyword(call.node, "backward_passes_per_step")
        if given is None or plain(value_of(given, call.module)) == 1:
            continue
        value, span = value_of(given, call.module), call.module.span(given)
        yield fact_of("accumulation.present", Known("yes"), span, reader=reader)
        yield fact_of("accumulation.steps", value, span, reader=reader)
        for field in ("loss_divided", "tail", "no_sync"):
            yield fact_of(f"accumulation.{field}", Known("library"), span, reader=reader)
        return


def horovod_rates(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedule that Horovod's callbacks give the learning rate."""
    warmups = list(_calls(program, _WARMUP))
    decays = list(_calls(program, _DECAY))
    if not warmups and not decays:
        return
    made = (*warmups, *decays)
    length = keyword(warmups[0].node, "warmup_epochs") if warmups else None
    text = f"{warmups[0].module.text(length)} epochs" if length is not None else ""
    word = "constant"
    if decays:
        factors = [plain(value_of(_factor(call), call.module)) for call in decays]
        word = "multistep" if all(isinstance(f, int | float) for f in factors) else "custom"
    course = Course(word, text, bool(warmups), places=tuple(c.module.span(c.node) for c in made))
    yield from course_facts(course, reader, stepped="epoch" if decays else "step")
    span = course.places[0]
    yield fact_of("schedule.on_skip", Known("library"), span, reader=reader)


def _factor(call: Call) -> ast.expr | None:
    given = keyword(call.node, "multiplier")
    return given if given is not None else next(iter(call.node.args[1:2]), None)


def _calls(program: Program, *names: str) -> Iterator[Call]:
    for name, call in calls_of(program):
        if name.startswith("horovod.") and last(name) in names:
            yield call
