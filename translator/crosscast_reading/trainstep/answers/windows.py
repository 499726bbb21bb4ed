"""What a training step says about its windows: division of losses, the tail, no_sync."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.trainstep.answers.opening import clears_first
from crosscast_reading.trainstep.answers.reductions import held_back, is_certain
from crosscast_reading.trainstep.events import Context, Event, TrainingStep, WindowTest
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import given_steps, library_steps
from crosscast_reading.trainstep.windows.validity import LIBRARY_KEYS
from crosscast_reading.trainstep.windows.whole_epochs import fits_whole

_DATA_PARALLEL = re.compile(
    r"DistributedDataParallel|\bDDP\b|^paddle\.[\w.]*DataParallel$|distributed_model$"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A word of the vocabulary, and where the source says it."""

    value: str
    places: tuple[Span, ...]


def answer(value: str, *events: Event) -> Answer:
    """Return an answer with the places of events, each once."""
    return Answer(value, tuple(dict.fromkeys(e.span for e in events)))


def windows_of(step: TrainingStep) -> list[tuple[Event, WindowTest]]:
    """Return the optimizer steps that stand under a window test, usual ones first."""
    tests = [(e, e.window) for e in step.of("step") if e.window is not None]
    return sorted(tests, key=lambda pair: not pair[0].by_default)


def default_events(events: Iterable[Event]) -> list[Event]:
    """Return the events that happen with the defaults of the flags; all, if that leaves none."""
    every = list(events)
    return [e for e in every if e.by_default] or every


def with_windows(step: TrainingStep, events: Iterable[Event]) -> list[Event]:
    """Return the events that can happen where there are windows; all, if that leaves none."""
    every = list(events)
    ends = [event for event, _ in windows_of(step)]
    possible_events = [e for e in every if any(not e.excludes(end) for end in ends)]
    return possible_events or every


def in_micro_loop(event: Event) -> bool:
    """Whether an event happens for every micro-batch of an inner loop."""
    return any(loop.role == "micro" for loop in event.loops)


# ---- number of micro-batches


def steps_value(step: TrainingStep) -> Value | None:
    """Return the number of micro-batches of a window."""
    value = None if step.steps is None else settled(step.steps)
    if isinstance(value, Symbol):
        value = Unknown(value.name, "its assignment was not found")
    if isinstance(value, Known) and not isinstance(value.value, int | float):
        return Unknown("", "it is no number")
    if isinstance(value, Unknown) and not value.has_default and not windows_of(step):
        return _by_library(step) or _by_division(step) or value
    if isinstance(value, Unknown) and value.text.endswith(".gradient_accumulation_steps"):
        return _given_to_library(step, value.text.rpartition(".")[0]) or value
    return value


def _given_to_library(step: TrainingStep, owner: str) -> Value | None:
    """Return the argument behind `accelerator.gradient_accumulation_steps`."""
    for event in step.of("backward"):
        match event.node:
            case ast.Call(func=ast.Attribute(value=library)) if event.library == "accelerate":
                if event.module.text(library) == owner:
                    return given_steps(library, CallFrame(event.module, None))
    return None


def steps_under(step: TrainingStep) -> tuple[str, ...]:
    """Return the condition under which the window has its length, if it has another otherwise."""
    value = step.steps
    if not isinstance(value, Choice) or settled(value) is value:
        return ()
    if len({other for _, other in value.options}) < 2:
        return ()
    return (value.options[0][0],)


def _by_library(step: TrainingStep) -> Value | None:
    """Return the setting of a library in a program that counts micro-batches itself."""
    for event in step.of("backward"):
        match event.node:
            case ast.Call(func=ast.Attribute(value=library)) if event.library == "accelerate":
                value = library_steps(library, CallFrame(event.module, None))
                if isinstance(value, Known) and value.origin != "library_default":
                    return value
    return None


def _by_division(step: TrainingStep) -> Value | None:
    """Return the divisor of losses in a loop over micro-batches of unknown length."""
    for event in step.of("divide_loss"):
        if in_micro_loop(event) or step.of("accumulate"):
            by = event.detail.get("by")
            by = None if by is None else settled(by)
            if isinstance(by, Unknown) or (isinstance(by, Known) and isinstance(by.value, int)):
                return by
    return None


def is_present(step: TrainingStep) -> bool:
    """Whether the step sums up gradients of several micro-batches, or may be told to."""
    if not step.windowed:
        return False
    value = step.steps
    if not step.by_hand and isinstance(value, Known) and value.origin == "library_default":
        return False
    return not (isinstance(value, Known) and value.origin == "literal" and value.value == 1)


# ---- no_sync


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What the calls of a program say about the all-reduce."""

    disabled: Span | None
    """Where it is disabled, if it is."""
    wrapped: bool
    """Whether a model is wrapped for data parallelism."""


@once
def _exchange(program: Program) -> _Exchange:
    calls = [*program.calls()]
    disabled = (c for c in calls if c.method in ("disable_allreduce", "disable_allreduce_"))
    wrapped = any(_DATA_PARALLEL.search(call.name or call.method) for call in calls)
    return _Exchange(next((c.module.span(c.node) for c in disabled), None), wrapped)


def sync_of(step: TrainingStep) -> Answer | None:
    """Return whether the all-reduce waits for the end of the window."""
    if not step.by_hand:
        return answer("library", *step.of("backward")[:1])
    backward = step.of("backward")
    if not all(is_certain(event, step) for event in backward):
        return None
    held = [e for e in backward if held_back(e, step) is not None]
    if held:
        flagged = all(_by_flag(e, held_back(e, step)) for e in held)
        return answer("flag" if flagged else "yes", *held)
    exchange = _exchange(step.module.program)
    if exchange.disabled is not None:
        return Answer("yes", (exchange.disabled,))
    if any(test.by_caller for _, test in windows_of(step)):
        return None
    if exchange.wrapped:
        return answer("no", *step.of("backward")[:1])
    if any(e.library in ("accelerate", "lightning_fabric") for e in step.of("backward")):
        return answer("no", *step.of("backward")[:1])
    reduced = step.inside("all_reduce")
    if reduced and all(e.window is not None for e in reduced):
        return answer("yes", *reduced)
    return None


_SEVERAL = re.compile(
    r"gpu|dist|world|ddp|rank|parallel|grad\w{0,60}_accum|accum\w{0,60}_(steps?|iters?)", re.I
)
"""Flags that tell whether there are several processes, or how long a window is."""


def _by_flag(event: Event, context: Context | None) -> bool:
    """Whether a flag decides about no_sync, besides the window."""
    guards = [g for g in event.guards if g.window is not None and g.at_end is False]
    guards += context.guards if context is not None else ()
    flags = {flag for guard in guards for flag in guard.flags}
    tests = [guard.window for guard in guards if guard.window is not None]
    texts = {test.key for test in tests} | {test.counter.replace("'", '"') for test in tests}
    return any(flag not in texts and not _SEVERAL.search(flag) for flag in flags)


# ---- tail


def tail_of(step: TrainingStep) -> Answer | None:
    """Return the fate of a short last window."""
    if not step.by_hand:
        return answer("library", *step.of("step")[:1])
    tests = windows_of(step)
    if not tests:
        return None
    event, test = tests[0]
    if test.by_caller:
        return answer("caller", event)
    if test.key in LIBRARY_KEYS:
        return answer("library", event)
    if test.last or any(t.last for _, t in tests):
        return answer("stepped", event)
    if fits_whole(step, test):
        return answer("none", event)
    flush = [e for e in step.around("step") if e.order > event.order]
    if flush:
        return answer("stepped", *flush)
    ended = _ended_early(step, test)
    if ended is not None:
        return Answer("not_consumed", ended)
    if test.restarts is None:
        return None
    if not test.restarts:
        return answer("carried_over", event)
    if any(clears_first(event, step) for event in step.of("zero_grad")):
        return answer("dropped", event)
    if not _per_epoch(step):
        return _of_one_pass(step, event)
    cleared = [
        e
        for e in step.around("zero_grad")
        if (e.order < event.order or not e.guards) and _each_epoch(e, step)
    ]
    return answer("dropped", event, *cleared) if cleared else answer("leak", event)


def _of_one_pass(step: TrainingStep, applied: Event) -> Answer | None:
    """Say what becomes of the last gradients of a loop without epochs around it.

    They are never applied if the program ends with the loop, or clears them before it; None for
    the loop of a function that others may call for every epoch.
    """
    cleared = [e for e in step.around("zero_grad") if e.order < applied.order and not e.guards]
    if cleared:
        return answer("dropped", applied, *cleared[-1:])
    alone = step.loop is not None and applied.loops[0].node is step.loop.node
    return answer("dropped", applied) if alone and not step.function else None


def _per_epoch(step: TrainingStep) -> bool:
    """Whether the loop runs once an epoch: within another loop, or in a function called so."""
    for event in step.inside("backward"):
        if any(loop.role == "epoch" for loop in event.loops):
            return True
    return "epoch" in step.function.lower()


def _each_epoch(event: Event, step: TrainingStep) -> bool:
    inside = step.inside("backward")
    outer = [loop for e in inside[:1] for loop in e.loops if loop.role == "epoch"]
    return not outer or any(loop.node is outer[-1].node for loop in event.loops)


def _ended_early(step: TrainingStep, test: WindowTest) -> tuple[Span, ...] | None:
    """Whether the loop ends at the last full window."""
    if step.loop is None:
        return None
    if _cut(step.loop.over, step):
        return (step.module.span(step.loop.node),)
    for event in step.inside("leave"):
        if not isinstance(event.node, ast.Break | ast.Continue):
            continue
        for guard in event.guards:
            if _counts_windows(guard.node, event.module, test):
                return (event.span,)
    return None


def _cut(text: str, step: TrainingStep) -> bool:
    """Whether a loop runs over a slice of the data."""
    node = step.loop.node if step.loop is not None else None
    if "islice" in text or not isinstance(node, ast.For | ast.AsyncFor):
        return "islice" in text
    module = next((e.module for e in step.events if node in e.module.parents), step.module)
    return any("islice" in name for name in _meanings(node.iter, module))


def _meanings(node: ast.expr, module: Module) -> list[str]:
    """Return the texts that the names of an expression were given."""
    texts: list[str] = []
    for name in walk(node):
        if not isinstance(name, ast.Name):
            continue
        home = module.scope_of(name).lookup(name.id)
        for binding in home.bindings.get(name.id, ()) if home is not None else ():
            if binding.kind == "assign" and binding.value is not None:
                texts.append(module.text(binding.value))
    return texts


def _counts_windows(node: ast.expr, module: Module, test: WindowTest) -> bool:
    """Whether a condition compares with a number of whole windows: `len(loader) // n`."""
    texts = [module.text(node), *_meanings(node, module)]
    return any("//" in text and test.steps_text and test.steps_text in text for text in texts)
