"""CL512: a schedule that nothing advances."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.sources.still_rates import idle_schedules
from crosscast_reading.sources.subject import Subject

_METRIC = {"ReduceLROnPlateau": "loss", "ReduceOnPlateau": "loss"}
"""What is given to `step` of schedules that wait for it."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules in a program with its own loop that it neither steps nor passes on."""
    program = subject.program
    updates = [event for step in eager_steps(subject) for event in step.of("step")]
    for idle in idle_schedules(program) if updates else ():
        text = idle.call.module.text(idle.kept)
        step = f"`{text}.step({_METRIC.get(last(idle.name), '')})`"
        alone = idle.name.startswith("paddle.") and not idle.uses & {"rate", "optimizer"}
        yield Finding(
            span=idle.call.module.span(idle.call.node),
            message=f"nothing advances {text}, and no optimizer has it: the learning rate is "
            "another one, which does not change"
            if alone
            else f"nothing advances {text}: the learning rate stays at the first one of the "
            "schedule",
            hint=f"pass `learning_rate={text}` to the optimizer, and advance it after its "
            f"step: {step}"
            if alone
            else f"advance it after the step of the optimizer: {step}",
            related=(updates[0].span,),
        )


RULE = Rule("CL512", check, hints=("lr_scheduler", "optimizer.lr", "schedule", "callbacks"))
