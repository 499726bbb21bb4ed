"""CL811: a schedule of Paddle that advances, but belongs to no optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.kept_schedules import is_inherited, kept_name, uses_of
from crosscast_reading.sources.subject import Subject

_SCHEDULE = re.compile(r"paddle\.optimizer\.lr\.[A-Z]\w+")


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules whose only use is that they are stepped, saved and shown."""
    for name, call in calls_of(subject.program):
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


RULE = Rule("CL811", check, hints=("optimizer.lr", "lr."), needs_training=False)
