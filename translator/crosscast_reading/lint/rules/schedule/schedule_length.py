"""CL503: the length of a schedule counts batches, but it advances once per update."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_reading.lint.answers.loop import (
    asks_settings,
    backward_of,
    eager_steps,
    implies,
    own_windows,
)
from crosscast_reading.lint.answers.schedules import (
    given_for,
    is_paddle_schedule,
    is_prepared,
    is_schedule,
    makers,
    spelled_out,
    times_window,
)
from crosscast_reading.lint.answers.windows import ACCUMULATES, accelerator_steps, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.schedule._epoch_lengths import (
    advanced,
    advanced_by_keras,
    counts_epochs,
    moves_with_count,
    runs_over,
    told_otherwise,
)
from crosscast_reading.lint.rules.schedule._loop_lengths import lengths_of_loops
from crosscast_reading.lint.rules.schedule._warmup_units import warmups_in_epochs
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import target_of
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep

_BATCHES = re.compile(r"\blen\((self\.)?\w*(loader|iter|dl|batches)\w*\)", re.I)
_ROWS = re.compile(r"\blen\([\w.]+\)\s*//?\s*\(?([\w.]*batch_?size\w*)", re.I)
"""The batches of an epoch, if the loader gets this number: `len(data) // args.batch_size`."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths of schedules in another unit than that in which they advance."""
    program = subject.program
    yield from _of_keras(program)
    yield from _of_lightning(program)
    yield from _of_warmups(program)
    for step in eager_steps(subject):
        yield from _of_epochs(step, program)
        yield from _of_updates(step, program)
        length, names = _window(step)
        ticks = [event for event in step.inside("schedule") if _per_update(event)]
        if not length or not ticks:
            continue
        reported: set[Span] = set()
        for call, node, bound, where in lengths_of_loops(step, ticks, program):
            reported.add(call.module.span(node))
            yield Finding(
                span=call.module.span(node),
                message=f"the loop takes a micro-batch a round, up to {where.text(bound)}, but "
                f"the schedule, as long, advances once in {length}",
                hint="divide the length by the number of micro-batches per window",
                related=(where.span(bound), ticks[0].span),
            )
        for call, node in makers(program):
            text = spelled_out(node, call.module)
            multiplied = times_window(node, call.module)
            if not multiplied:
                counted = _ROWS.sub(lambda match: _batches(match, program), text)
                if not _counts_batches(counted) or ACCUMULATES.search(text):
                    continue
                if any(name in text for name in names):
                    continue
            argument, module = given_for(node, call.module)
            if module.span(argument) in reported:
                continue  # another branch takes the same length
            reported.add(module.span(argument))
            yield Finding(
                span=module.span(argument),
                message=f"{module.text(argument)} counts batches, but the schedule advances "
                f"once in {length}",
                hint="count updates: do not multiply by the number of micro-batches per window"
                if multiplied
                else "divide the length by the number of micro-batches per window",
                related=(ticks[0].span,),
            )


def _batches(rows: re.Match[str], program: Program) -> str:
    """Return a number of rows by that of a batch as the length of a loader, if it is one."""
    for module in program.modules:
        for call in module.calls:
            size = call.bound().get("batch_size") if call.name.endswith("DataLoader") else None
            if size is not None and module.text(size) == rows[1]:
                return "len(loader)"
    return rows[0]


def _of_keras(program: Program) -> Iterator[Finding]:
    """Find lengths in epochs of schedules that every update advances."""
    for call, node in advanced_by_keras(program):
        if counts_epochs(call, node):
            yield Finding(
                span=call.module.span(node),
                message=f"{call.module.text(node)} counts epochs, but the schedule advances with "
                "every update",
                hint="multiply by the updates per epoch",
            )


def _of_lightning(program: Program) -> Iterator[Finding]:
    """Find modules whose number of epochs is not that of the Trainer that runs them."""
    for call, epochs, trainer, runs in told_otherwise(program):
        yield Finding(
            span=call.module.span(epochs),
            message=f"the module counts {call.module.text(epochs)} epochs, but the Trainer runs "
            f"{trainer.module.text(runs)}",
            hint="give both the same number, or take `trainer.max_epochs` in the module",
            related=(trainer.module.span(runs),),
        )


def _of_warmups(program: Program) -> Iterator[Finding]:
    """Find warm-ups in epochs of schedules whose whole length is in steps."""
    for call, warm, whole, unit in warmups_in_epochs(program):
        yield Finding(
            span=call.module.span(warm),
            message=f"{call.module.text(warm)} counts epochs, {unit}, but the schedule takes it "
            f"for steps, as {call.module.text(whole)}",
            hint="multiply by the updates per epoch",
        )


def _of_epochs(step: TrainingStep, program: Program) -> Iterator[Finding]:
    """Find lengths in epochs of schedules that advance for every batch, and the reverse."""
    around = [event for event in step.around("schedule") if _is_plain(event, late=True)]
    every = [(event, _is_plain(event)) for event in step.inside("schedule")]
    for call, node, name, epochs in _in_units(program):
        mine = [e for e, plain in every if _is_named(e, name) if plain or moves_with_count(e, call)]
        ends = [event for event in around if _is_named(event, name)]
        text = call.module.text(node) if mine or ends else ""
        if mine and not ends and epochs and _run_over(mine, text):
            yield Finding(
                span=call.module.span(node),
                message=f"{text} counts epochs, but the schedule advances after every batch",
                hint="multiply by the updates per epoch, or step the schedule once an epoch",
                related=(mine[0].span,),
            )
        elif ends and not mine and _counts_batches(spelled_out(node, call.module)):
            yield Finding(
                span=call.module.span(node),
                message=f"{text} counts batches, but the schedule advances once an epoch",
                hint="count epochs, or step the schedule after every batch",
                related=(ends[0].span,),
            )


@once
def _in_units(program: Program) -> list[tuple[Call, ast.expr, str, bool]]:
    """Return the lengths in epochs or batches, their schedules, and whether they count epochs."""
    return [
        (call, node, target_of(call.node, call.module).rpartition(".")[2], epochs)
        for call, node in advanced(program)
        if (epochs := counts_epochs(call, node)) or _counts_batches(spelled_out(node, call.module))
    ]


def _of_updates(step: TrainingStep, program: Program) -> Iterator[Finding]:
    """Find lengths in updates of schedules that advance after every micro-batch."""
    ends, backward = end_tests(step), backward_of(step)
    if not own_windows(step) or not ends or len(ends) != len(step.inside("step")):
        return
    every = [
        event
        for event in step.inside("schedule")
        if _is_plain(event)
        and (is_schedule(event) or is_paddle_schedule(event))
        and all(implies(other, event) and other.loops == event.loops for other in backward)
    ]
    window = ends[0][1].steps_text
    for call, node in makers(program):
        mine = [
            e for e in every if _is_named(e, target_of(call.node, call.module).rpartition(".")[2])
        ]
        if mine and _in_updates(spelled_out(node, call.module), window):
            yield Finding(
                span=call.module.span(node),
                message=f"{call.module.text(node)} counts updates, but the schedule advances "
                f"after every micro-batch, {window} times as fast",
                hint="step the schedule with the optimizer",
                related=(mine[0].span,),
            )


def _in_updates(text: str, window: str) -> bool:
    """Whether a length is that of a loader divided by the micro-batches of a window."""
    return bool(window) and bool(
        re.search(rf"{_BATCHES.pattern}\)?\s*//?\s*{re.escape(window)}(?![\w.])", text, re.I)
    )


def _is_plain(event: Event, *, late: bool = False) -> bool:
    """Whether a schedule certainly advances by one where it stands, maybe only from an epoch on."""
    by_one = not {"by_hand", "argument"} & event.detail.keys()
    rest = [guard for guard in event.guards if not (late and _begins(guard))]
    settings = all(asks_settings(guard.node) for guard in rest)
    return by_one and event.window is None and settings


def _begins(guard: Guard) -> bool:
    """Whether a condition holds from some number on: `epoch >= 10`."""
    match guard.node:
        case ast.Compare(left=ast.Name(), ops=[ast.Gt() | ast.GtE()]):
            return guard.holds
    return False


def _is_named(event: Event, name: str) -> bool:
    return bool(name) and event.subject.rpartition(".")[2] == name


def _run_over(events: list[Event], length: str) -> bool:
    return all(runs_over(event, length) for event in events)


def _counts_batches(text: str) -> bool:
    return bool(_BATCHES.search(text)) and "/" not in text


def _window(step: TrainingStep) -> tuple[str, list[str]]:
    """Return the length of the windows as text, and its names."""
    if isinstance(step.steps, Known) and step.steps.value == 1 and not step.steps.flag:
        return "", []
    ends = end_tests(step)
    if ends and not ends[0][1].by_caller:
        return f"{ends[0][1].steps_text} of them", [ends[0][1].steps_text]
    if any(event.context("accumulate") for event in backward_of(step)):
        return ("", []) if accelerator_steps(step) == 1 else ("a window", [])
    return "", []


def _per_update(event: Event) -> bool:
    if "argument" in event.detail:
        return False
    if is_paddle_schedule(event):
        return event.window is not None
    if not is_schedule(event):
        return False
    if event.window is not None:
        return True
    return event.context("accumulate") is not None and is_prepared(event)


RULE = Rule(
    "CL503", check, hints=("len(", "accum", "epoch", "EPOCH", "_steps", "num_replicas_in_sync")
)
