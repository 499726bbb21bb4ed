"""CL025: a schedule that ends before training does, by its warm-up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject

_SCHEDULES = ("warmup_cosine_decay_schedule",)


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths from which the warm-up was taken."""
    for name, call in calls_of(subject.program):
        given = call.bound()
        warmup, length = given.get("warmup_steps"), given.get("decay_steps")
        if not name.startswith("optax.") or last(name) not in _SCHEDULES or warmup is None:
            continue
        if isinstance(length, ast.BinOp) and isinstance(length.op, ast.Sub):
            text = call.module.text
            if text(length.right) == text(warmup) and "join_schedules" not in call.module.code:
                yield Finding(
                    span=call.module.span(length),
                    message=f"decay_steps includes the warm-up: with {text(warmup)} subtracted, "
                    "the rate reaches its end that many steps too early",
                    hint=f"give the whole length: `decay_steps={text(length.left)}`",
                )


RULE = Rule("CL025", check, hints=("warmup_cosine",))
