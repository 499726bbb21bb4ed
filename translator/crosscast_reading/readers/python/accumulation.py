"""Reads training loops: accumulation, zero_grad, clipping, scale updates, the schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.averages import averages_of
from crosscast_reading.readers.python.fused_clips import clipped_again
from crosscast_reading.readers.python.losses import losses_of
from crosscast_reading.readers.python.origins import by_words, is_parsed
from crosscast_reading.readers.python.perturbed_weights import perturbs_weights
from crosscast_reading.readers.python.switched_off import off_by_default
from crosscast_reading.trainstep.answers import step as steps
from crosscast_reading.trainstep.answers import windows
from crosscast_reading.trainstep.answers.clip_conditions import unknown_conditions
from crosscast_reading.trainstep.answers.division import division_of
from crosscast_reading.trainstep.answers.divisors import divisors_of
from crosscast_reading.trainstep.answers.main_loop import by_weight
from crosscast_reading.trainstep.answers.warmups import warms_by_hand
from crosscast_reading.trainstep.answers.windows import Answer
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event, TrainingStep

NAME = "accumulation"


class Accumulation:
    """Reads the events of a training loop, per window and per micro-batch."""

    name = NAME
    hints = ("backward", "gradient", "minimize", "grad(", "apply_gradients", "update_params")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts of the most informative loop; other loops fill in missing fields."""
        fields: set[str] = set()
        found_steps = by_weight(training_steps(program))
        yield from averages_of(found_steps, NAME)
        for step in found_steps:
            told = [_less_sure(fact, step) for fact in _facts(step)]
            facts = clipped_again(told, program)
            yield from (fact for fact in facts if fact.field not in fields)
            fields.update(fact.field for fact in facts)


def _less_sure(fact: Fact, step: TrainingStep) -> Fact:
    """Return a fact that the flow of gradients into a variable of TensorFlow may contradict."""
    tape = any(event.library == "tensorflow" for event in step.of("backward"))
    unread = fact.field == "accumulation.steps" and not fact.known
    if tape and (unread or fact.field in ("accumulation.loss_divided", "zero_grad.where")):
        return replace(fact, confidence="likely")
    return fact


def _facts(step: TrainingStep) -> Iterator[Fact]:
    passes = step.of("backward")
    moved = [event for event in passes if perturbs_weights(event.node, event.module)]
    if moved:
        yield from _said("run.besides", windows.answer("moved_weights", *moved))
    if windows.is_present(step) and not moved:
        yield from _windows(step)
    yield from losses_of(step, NAME)
    if not moved:
        yield from _said("zero_grad.where", steps.cleared(step))
    every = steps.clips(step)
    clips = [clip for clip in every if clip.by_default]
    none = off_by_default("clipping.kind", "none", every, NAME)
    if none is not None:
        yield none
    if clips:
        yield from _clips(clips, unknown_conditions(clips, step))
        for event in clips:
            limit = event.detail.get("max")
            if limit is not None:
                value = _passed(by_words(_number(limit)), event)
                yield fact_of("clipping.value", value, event.span, reader=NAME)
            added = event.detail.get("eps")
            if added is not None:
                yield fact_of("clipping.eps", by_words(added), event.span, reader=NAME)
        yield from _said("clipping.unscaled_first", steps.clip_unscaled(step, clips))
        yield from _said("clipping.per", steps.clip_per(step, clips))
    yield from _said("scaler_update.status", steps.scale_update(step))
    for event in warms_by_hand(step)[:1]:
        yield fact_of("schedule.has_warmup", Known("yes", "presence"), event.span, reader=NAME)
    ticks = steps.rate_stepped(step)
    yield from _said("schedule.stepped_per", ticks)
    unclear = steps.unclear_rates(step) if ticks is None else []
    if unclear:
        yield Fact(
            field="schedule.stepped_per",
            known=False,
            reason="a function that steps decides about it",
            places=tuple(dict.fromkeys(event.span for event in unclear)),
            confidence="likely",
            origin="presence",
            reader=NAME,
        )
    if ticks is not None and ticks.value != "epoch":
        yield from _said("schedule.on_skip", steps.rate_on_skip(step))


def _clips(clips: Sequence[Event], under: tuple[str, ...]) -> Iterator[Fact]:
    """Yield how gradients are clipped; of a function of the program its name alone tells."""
    kind = steps.clip_kind(clips)
    places = tuple(dict.fromkeys(event.span for event in clips))
    if kind is None:
        reason = "how it clips was not read"
        yield Fact(
            field="clipping.kind",
            known=False,
            reason=reason,
            places=places,
            confidence="likely",
            origin="presence",
            reader=NAME,
        )
        return
    own = any("own" in event.detail for event in clips)
    yield Fact(
        field="clipping.kind",
        value=kind.value,
        places=kind.places,
        origin="presence",
        confidence="guess" if own else "certain",
        reason="by the name of a function" if own else "",
        under=under,
        reader=NAME,
    )


def _windows(step: TrainingStep) -> Iterator[Fact]:
    tests = windows.windows_of(step)
    places = tuple(dict.fromkeys(e.module.span(t.node) for e, t in tests)) or _first(step)
    yield from _said("accumulation.present", Answer("yes", places))
    value = windows.steps_value(step)
    if value is not None:
        under = windows.steps_under(step)
        yield fact_of("accumulation.steps", _parsed(value, step), *places, under=under, reader=NAME)
    yield from _said("accumulation.loss_divided", division_of(step))
    yield from _said("accumulation.tail", _tail(step))
    yield from _said("accumulation.no_sync", windows.sync_of(step))


def _tail(step: TrainingStep) -> Answer | None:
    """Return the handling of a short last window, and whether it is divided by its own length."""
    tail = windows.tail_of(step)
    if tail is None or tail.value != "stepped":
        return tail
    divisors = divisors_of(step, windows.windows_of(step))
    if divisors is None:
        return tail
    if divisors.changes is not None:
        return None  # its micro-batches do not count alike
    return replace(tail, value="renormalized") if divisors.follows else tail


def _parsed(value: Value, step: TrainingStep) -> Value:
    """Return an unknown length with its origin: a flag, if a parser returned the owner."""
    length = by_words(value)
    if not isinstance(length, Unknown) or length.origin != "config":
        return length
    for event, test in windows.windows_of(step):
        for node in walk(test.node):
            if isinstance(node, ast.Attribute) and event.module.text(node) == length.text:
                return replace(length, origin="flag") if is_parsed(node, event.module) else length
    return length


def _first(step: TrainingStep) -> tuple[Span, ...]:
    for event in step.of("backward"):
        context = event.context("accumulate")
        if context is not None:
            return (event.module.span(context.node), event.span)
        return (event.span,)
    return ()


def _number(value: Value) -> Value:
    """Return the default value of a limit."""
    match settled(value):
        case Symbol(name=name):
            return Unknown(name, "its assignment was not found")
        case Known(value=int() | float() | None) as number:
            return number
        case Known(value=content):
            return Unknown(str(content), "it is not a number")
    return settled(value)


def _passed(value: Value, event: Event) -> Value:
    """Return a number that is the default of a parameter as a setting of that parameter."""
    function = event.module.function_of(event.node)
    match value, event.detail.get("max_text"), function:
        case Known(origin="literal"), Known(value=text), ast.FunctionDef(args=arguments):
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if text in [keyword.arg for keyword in every]:
                return replace(value, origin="function_argument")
    return value


def _said(field: str, answer: Answer | None) -> Iterator[Fact]:
    if answer is not None:
        yield Fact(
            field=field, value=answer.value, places=answer.places, origin="presence", reader=NAME
        )


READER = Accumulation()
