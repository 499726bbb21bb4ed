"""CL103: a short last window is divided by the full number of micro-batches."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import eager_steps, known_word
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import EPOCHS, changed
from crosscast_reading.sources.subject import Subject

_REST = "len(loader) % steps"


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that apply a short window and divide by the full number."""
    for step in eager_steps(subject):
        last = [(event, test) for event, test in end_tests(step) if test.last and step.by_hand]
        divided = [
            candidate
            for candidate in step.of("divide_loss")
            if any(known_word(candidate, "by_key") == test.key for _, test in last)
            and "times" not in candidate.detail
        ]
        if last and divided:
            event, test = last[0]
            yield Finding(
                span=divided[0].span,
                message="a short last window is applied, but its losses are divided by "
                f"{test.steps_text}",
                hint="divide by the actual number of micro-batches in the window",
                related=(event.span,),
            )


RULE = Rule(
    code="CL103",
    name="tail-divided-by-all",
    topic="accumulation",
    severity=Severity.NOTE,
    title="A short last window is divided by the full number of micro-batches",
    why="With 10 batches and N = 4, the last window has 2 micro-batches; dividing them by 4 "
    "halves its gradient. Hugging Face's Trainer divides by the actual number, Accelerate "
    "and Lightning do not.",
    wrong=EPOCHS,
    right=changed(
        EPOCHS,
        (
            "        loss = criterion(model(inputs), targets) / steps\n",
            "        rest = len(loader) - step // steps * steps\n"
            "        loss = criterion(model(inputs), targets) / min(steps, rest)\n",
        ),
    ),
    check=check,
    hints=("backward",),
    sources=("huggingface/transformers#34191",),
)
