"""CL505: a schedule of Accelerate whose length does not count the processes."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import ACCELERATE, changed
from crosscast.lint.rules._loop import eager_steps
from crosscast.lint.rules._schedules import (
    is_prepared,
    is_schedule,
    makers,
    spelled_out,
    times_window,
)
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject

_RIGHT = changed(
    ACCELERATE,
    (
        "from accelerate import Accelerator\n",
        "from accelerate import Accelerator\nfrom transformers import get_scheduler\n",
    ),
    (
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n",
        "updates = 1000\nschedule = get_scheduler(\n"
        '    "cosine",\n    optimizer,\n    num_warmup_steps=100 * accelerator.num_processes,\n'
        "    num_training_steps=updates * accelerator.num_processes,\n)\n"
        "model, optimizer, loader, schedule = accelerator.prepare(\n"
        "    model, optimizer, loader, schedule\n)\n",
    ),
    ("        optimizer.step()\n", "        optimizer.step()\n        schedule.step()\n"),
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths in updates of schedules that Accelerate steps once per process."""
    program = subject.program
    if program is None or any("split_batches" in module.source.text for module in program.modules):
        return
    for step in eager_steps(subject):
        ticks = [o for o in step.inside("schedule") if is_schedule(o) and is_prepared(o)]
        if not ticks:
            continue
        for call, node in makers(program):
            text = spelled_out(node, call.module)
            if any(word in text for word in ("num_processes", "world_size", "len(")):
                continue
            if times_window(node, call.module):
                continue  # it counts batches: reported by schedule-length
            yield Finding(
                span=call.module.span(node),
                message=f"{call.module.text(node)} ignores the number of processes, but a prepared "
                "schedule advances once for each of them",
                hint="multiply by `accelerator.num_processes`",
                related=(ticks[0].span,),
            )


RULE = Rule(
    code="CL505",
    name="schedule-per-process",
    topic="schedule",
    severity=Severity.NOTE,
    title="Accelerate steps a prepared schedule once per process",
    why="With 8 processes, every update advances the schedule by 8 steps (unless split_batches "
    "is set): a length given in updates ends after an eighth of the run.",
    wrong=changed(
        _RIGHT,
        ("100 * accelerator.num_processes", "100"),
        ("updates * accelerator.num_processes", "updates"),
    ),
    right=_RIGHT,
    check=check,
    hints=("accelerat",),
    sources=("huggingface/accelerate 16cb6eb8, scheduler.py", "huggingface/accelerate#1382"),
)
