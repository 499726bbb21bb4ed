"""CL115: an average of the weights is updated after every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import backward_of, implies, own_windows, window_steps
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import ACCUMULATION, changed
from crosscast_reading.sources.subject import Subject

_RIGHT = changed(
    ACCUMULATION,
    (
        "steps = 4\n",
        "slow = torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)\n"
        "average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=slow)\nsteps = 4\n",
    ),
    (
        "        optimizer.zero_grad()\n",
        "        optimizer.zero_grad()\n        average.update_parameters(model)\n",
    ),
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find averages that are updated while the weights do not change."""
    for step in window_steps(subject):
        if not own_windows(step) or not end_tests(step):
            continue
        backward = backward_of(step)
        for event in step.inside("average_weights"):
            if event.window is None and all(implies(candidate, event) for candidate in backward):
                yield Finding(
                    span=event.span,
                    message="the average of the weights is updated after every micro-batch, but "
                    "the weights change only once per window",
                    hint="update it right after the optimizer step",
                    related=(end_tests(step)[0][0].span,),
                )


RULE = Rule(
    code="CL115",
    name="average-per-micro-batch",
    topic="accumulation",
    severity=Severity.NOTE,
    title="The average of the weights is updated after every micro-batch",
    why="With windows of N micro-batches, the same weights are averaged N times. A decay d acts "
    "as d to the power of N, so an average intended to span 1000 updates spans only 1000 / N.",
    wrong=changed(_RIGHT, ("        average.update", "    average.update")),
    right=_RIGHT,
    check=check,
    hints=("ema", "EMA", "update_parameters", "average", "Ema"),
)
