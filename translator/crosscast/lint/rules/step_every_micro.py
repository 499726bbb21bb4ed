"""CL113: losses are divided for windows, but the optimizer steps after every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import ACCUMULATION, changed
from crosscast.lint.rules._loop import backward_of, eager_steps, implies, known_word
from crosscast.lint.rules._windows import ACCUMULATES
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject

_RIGHT = changed(
    ACCUMULATION,
    ("steps = 4", "accumulation_steps = 4"),
    (" / steps", " / accumulation_steps"),
    ("% steps", "% accumulation_steps"),
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find divisions by a number of micro-batches in loops without windows."""
    for step in eager_steps(subject):
        applied, backward = step.of("step"), backward_of(step) or step.of("backward")
        if (
            step.windowed
            or not applied
            or any(event.library not in ("", "apex") for event in applied)
        ):
            continue
        if not all(implies(event, other) for event in backward for other in applied):
            continue
        for divided in step.of("divide_loss"):
            text = str(known_word(divided, "by_text"))
            if ACCUMULATES.search(text) and known_word(divided, "by") != 1:
                yield Finding(
                    span=divided.span,
                    message=f"the loss is divided by {text}, but the optimizer steps after every "
                    "micro-batch",
                    hint=f"step when `(step + 1) % {text} == 0`, or do not divide",
                    related=(applied[0].span,),
                )


RULE = Rule(
    code="CL113",
    name="step-every-micro-batch",
    topic="accumulation",
    severity=Severity.WARNING,
    title="The optimizer steps after every micro-batch although losses are divided",
    why="Gradients are not accumulated: every batch causes an update with 1/N of its gradient.",
    wrong=changed(
        _RIGHT,
        ("    if (step + 1) % accumulation_steps == 0:\n", ""),
        ("        torch.nn", "    torch.nn"),
        (
            "        optimizer.step()\n        optimizer.zero",
            "    optimizer.step()\n    optimizer.zero",
        ),
    ),
    right=_RIGHT,
    check=check,
    hints=("accum", "iter_size", "update_freq", "micro"),
)
