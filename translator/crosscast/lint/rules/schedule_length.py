"""CL503: the length of a schedule counts batches, but it advances once per update."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import SCHEDULE, changed
from crosscast.lint.rules._loop import backward_of, eager_steps
from crosscast.lint.rules._schedules import (
    is_prepared,
    is_schedule,
    makers,
    spelled_out,
    times_window,
)
from crosscast.lint.rules._windows import ACCUMULATES, accelerator_steps, end_tests
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.values.value import Known
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import Event, TrainingStep

_BATCHES = re.compile(r"\blen\((self\.)?\w*(loader|iter|dl|batches)\w*\)", re.I)
_RIGHT = changed(
    SCHEDULE,
    ("schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)\n", ""),
    (
        "steps = 4\n",
        "steps = 4\nepochs = 3\nschedule = torch.optim.lr_scheduler.OneCycleLR(\n"
        "    optimizer, max_lr=0.1, total_steps=epochs * len(loader) // steps\n)\n",
    ),
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths of loaders in schedules that advance once per window."""
    program = subject.program
    if program is None:
        return
    for step in eager_steps(subject):
        length, names = _window(step)
        ticks = [event for event in step.inside("schedule") if _per_update(event)]
        if not length or not ticks:
            continue
        for call, node in makers(program):
            text = spelled_out(node, call.module)
            multiplied = times_window(node, call.module)
            if not multiplied:
                if not _BATCHES.search(text) or "/" in text or ACCUMULATES.search(text):
                    continue
                if any(name in text for name in names):
                    continue
            yield Finding(
                span=call.module.span(node),
                message=f"{call.module.text(node)} counts batches, but the schedule advances "
                f"once in {length}",
                hint="count updates: do not multiply by the number of micro-batches per window"
                if multiplied
                else "divide the length by the number of micro-batches per window",
                related=(ticks[0].span,),
            )


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
    if not is_schedule(event) or "argument" in event.detail:
        return False
    if event.window is not None:
        return True
    return event.context("accumulate") is not None and is_prepared(event)


RULE = Rule(
    code="CL503",
    name="schedule-length",
    topic="schedule",
    severity=Severity.WARNING,
    title="The length of the schedule counts batches instead of updates",
    why="With windows of N micro-batches, the run covers only 1/N of the schedule: a cosine "
    "hardly decays, and a warm-up takes N times as long. A schedule prepared by Accelerate "
    "also advances once per update (measured: 16 micro-batches, windows of 4, 4 ticks).",
    wrong=changed(_RIGHT, (" // steps\n", "\n")),
    right=_RIGHT,
    check=check,
    hints=("len(", "accum"),
    sources=("accelerate 1.15 scheduler.py",),
)
