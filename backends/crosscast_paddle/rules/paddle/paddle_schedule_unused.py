"""CL811: a schedule of Paddle that advances, but belongs to no optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_paddle.answers.amp import AMP
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.kept_schedules import is_inherited, kept_name, uses_of
from crosscast_reading.sources.subject import Subject

_SCHEDULE = re.compile(r"paddle\.optimizer\.lr\.[A-Z]\w+")


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules whose only use is that they are stepped, saved and shown."""
    program = subject.program
    for name, call in calls_of(program):
        kept = kept_name(call) if _SCHEDULE.fullmatch(name) else None
        if kept is None or is_inherited(kept, call):
            continue
        uses = set(uses_of(kept, call))
        if "step" in uses and uses <= {"shown", "read", "restored", "step"}:
            yield Finding(
                span=call.module.span(call.node),
                message=f"no optimizer gets {call.module.text(kept)}: its steps do not change the "
                "learning rate",
                hint=f"make it before the optimizer, and pass `learning_rate="
                f"{call.module.text(kept)}`",
            )


_MADE = "optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())\n"
_SCHEDULED = "schedule = paddle.optimizer.lr.CosineAnnealingDecay(1e-3, T_max=1000)\n"
_RIGHT = changed(
    AMP,
    (_MADE, _SCHEDULED + _MADE.replace("1e-3", "schedule")),
    ("    scaler.update()\n", "    scaler.update()\n    schedule.step()\n"),
)

RULE = Rule(
    code="CL811",
    name="paddle-schedule-unused",
    topic="paddle",
    severity=Severity.WARNING,
    title="A Paddle schedule that no optimizer has",
    why="A schedule of PyTorch is given the optimizer. One of Paddle is given to the optimizer, "
    "which asks it for its rate. If the optimizer was made with a number, the schedule advances "
    "for nothing and the rate stays as it is.",
    wrong=changed(_RIGHT, ("AdamW(schedule,", "AdamW(1e-3,")),
    right=_RIGHT,
    check=check,
    hints=("optimizer.lr", "lr."),
    sources=("Paddle 3.3.1, optimizer/lr.py",),
    needs_training=False,
)
