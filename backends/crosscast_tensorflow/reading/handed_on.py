"""What calls of optimizers from other files show: a limit of gradients, a rate with a course."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.syntax.nodes import identifier, keyword
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of, value_of
from crosscast_reading.readers.python.optimizers import course_facts
from crosscast_reading.readers.python.schedules import course_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_EPOCH = re.compile(r"epoch|\bep\b", re.IGNORECASE)
_SCHEDULE = re.compile(r"(lr_?|learning_?rate_?)?sched(uler|ule)?", re.I)
_RATE = re.compile(r"(^|_)(lr|learning_?rate|rate|optim\w*|sched\w*)(_|$)", re.I)
_ADVANCES = frozenset({"step", "on_epoch_begin", "on_epoch_end"})
_OPTIMIZER = re.compile(r"(^|[._])(optim\w{0,60}|opt)$", re.I)


def handed_limits(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the limits that `apply_gradients(pairs, clip_norm=1.0)` of an own optimizer gets.

    After the pairs, optimizers of TensorFlow 1 take a step counter, those of Keras a name. The
    wrapper of transformers 2.3 took the limit there (its issue 2711), and others follow it.
    """
    for _, call in calls_of(program):
        if call.method != "apply_gradients" or call.receiver is None:
            continue
        limit = keyword(call.node, "clip_norm")
        if limit is None and len(call.node.args) == 2:
            given = call.node.args[1]
            is_number = isinstance(given, ast.Constant) and isinstance(given.value, float)
            limit = given if is_number else None
        value = value_of(limit, call.module)
        if limit is None or value is None or value == Known(None):
            continue
        span = call.module.span(call.node)
        reason = "the optimizer gets the limit, and its class was not read"
        kind = Unknown(call.module.text(limit), reason)
        yield fact_of("clipping.kind", kind, span, reader=reader, confidence="likely")
        yield fact_of("clipping.value", value, span, reader=reader, confidence="likely")
        yield fact_of("clipping.per", Known("step"), span, reader=reader, confidence="likely")
        return


def called_rates(program: Program, reader: str) -> Iterator[Fact]:
    """Yield that an optimizer has a schedule: `optimizer.learning_rate(step)` asks for its rate."""
    for _, call in calls_of(program):
        if call.method not in ("learning_rate", "lr") or call.receiver is None:
            continue
        if not _OPTIMIZER.search(call.receiver_text) or not (call.node.args or call.node.keywords):
            continue
        reason = f"{call.receiver_text} has a schedule that was not read"
        course = Unknown(call.module.text(call.node), reason)
        span = call.module.span(call.node)
        yield fact_of("schedule.name", course, span, reader=reader, confidence="likely")
        # Keras asks a schedule inside an optimizer at every update
        step = Known("step")
        yield fact_of("schedule.stepped_per", step, span, reader=reader, confidence="likely")
        return


def handed_courses(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedule of Keras that a function or class of another file gets for its rate."""
    for name, call in calls_of(program):
        module = call.module
        if not name.startswith("keras.optimizers.schedules."):
            continue
        match module.parent(call.node):
            case ast.Assign(targets=[ast.Name() as kept]) if _RATE.search(kept.id):
                pass
            case _:
                continue
        course = course_of(call.node, module)
        if course is not None and any(_gets(each, kept, program) for each in module.calls):
            yield from course_facts(course, reader, module.span(call.node), stepped="step")
            span = module.span(call.node)
            yield fact_of("schedule.on_skip", Known("library"), span, reader=reader)
            return


def _gets(call: Call, kept: ast.Name, program: Program) -> bool:
    """Whether a call of something that is not read gets a variable."""
    module = call.module
    home = module.scope_of(kept).lookup(kept.id)
    given = [*call.node.args, *(k.value for k in call.node.keywords)]
    named = [g for g in given if isinstance(g, ast.Name) and g.id == kept.id]
    same = any(module.scope_of(g).lookup(g.id) is home for g in named)
    read = program.function(call) is not None or program.constructor(call) is not None
    return same and not read and not call.name.startswith(("tensorflow.", "keras."))


def given_schedules(program: Program, reader: str) -> list[Fact]:
    """Return that the caller decides: `self.scheduler.step()` for a parameter `scheduler`."""
    for _, call in calls_of(program):
        receiver, module = call.receiver, call.module
        if call.method not in _ADVANCES or receiver is None:
            continue
        if not _SCHEDULE.fullmatch(identifier(receiver)):
            continue
        loop = module.enclosing(call.node, ast.For, ast.While)
        sources = [place for place, _ in chase(receiver, module) if isinstance(place, ast.Name)]
        if (
            not isinstance(loop, ast.For | ast.While)
            or not sources
            or not all(_is_parameter(n, module) for n in sources)
        ):
            continue
        head = module.text(loop.target if isinstance(loop, ast.For) else loop.test)
        per = "epoch" if _EPOCH.search(head) else "step"
        span = module.span(call.node)
        return [
            fact_of("schedule.name", Known("caller"), span, reader=reader, confidence="likely"),
            fact_of("schedule.stepped_per", Known(per), span, reader=reader),
        ]
    return []


def _is_parameter(node: ast.Name, module: Module) -> bool:
    return all(binding.kind == "parameter" for binding in definitions(node, module))
