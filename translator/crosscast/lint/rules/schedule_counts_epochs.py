"""CL508: the length of a schedule counts epochs, but it advances once per batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._loop import eager_steps
from crosscast.lint.rules._schedules import spelled_out
from crosscast.messages.diagnostics import Severity
from crosscast.readers.python.library_calls import calls_of, last, target_of
from crosscast.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import Event, TrainingStep

_EPOCHS = re.compile(
    r"([\w\[\]\"']+\.)*_?(n|num|max|total|train|all)?_?(train_)?epochs?(_num|s)?", re.I
)
_COUNTS_MORE = re.compile(r"len\(|step|iter|batch|\*|/", re.I)
_BY_LOOP = {
    "CosineAnnealingLR": "T_max",
    "LinearLR": "total_iters",
    "PolynomialLR": "total_iters",
    "OneCycleLR": "total_steps",
    "get_linear_schedule_with_warmup": "num_training_steps",
    "get_cosine_schedule_with_warmup": "num_training_steps",
    "CosineAnnealingDecay": "T_max",
    "PolynomialDecay": "decay_steps",
}
"""Schedules that the program advances, and their lengths."""
_BY_LIBRARY = frozenset({"CosineDecay", "PolynomialDecay", "CosineDecayRestarts"})
"""Schedules of Keras, which every update advances."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths that are a number of epochs."""
    program = subject.program
    if program is None:
        return
    made = list(_made(program))
    for call, node in made:
        if not call.name.startswith(("tensorflow.", "keras.", "tf_keras.")):
            continue
        yield Finding(
            span=call.module.span(node),
            message=f"{call.module.text(node)} counts epochs, but the schedule advances with "
            "every update",
            hint="multiply it by the number of updates per epoch",
        )
    for step in eager_steps(subject):
        for event in step.inside("schedule"):
            if "by_hand" in event.detail or "argument" in event.detail or not _each(event, step):
                continue
            for call, node in made:
                variable = target_of(call.node, call.module).rpartition(".")[2]
                if variable and variable == event.subject.rpartition(".")[2]:
                    yield Finding(
                        span=call.module.span(node),
                        message=f"{call.module.text(node)} counts epochs, but {event.subject} "
                        "advances after every batch",
                        hint="step it once per epoch, or multiply its length by the number of "
                        "batches",
                        related=(event.span,),
                    )


def _made(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the schedules whose length is a number of epochs, with the length."""
    for name, call in calls_of(program):
        shown = last(name)
        keras = name.startswith("keras.") and shown in _BY_LIBRARY
        argument = "decay_steps" if keras else _BY_LOOP.get(shown, "")
        node = call.bound().get(argument) if argument else None
        if node is None or not (keras or name.startswith(("torch.", "paddle.", "transformers."))):
            continue
        module = call.module.owner_of(node)
        text = module.text(node)
        if _EPOCHS.fullmatch(text) and not _COUNTS_MORE.search(spelled_out(node, module)):
            yield call, node


def _each(event: Event, step: TrainingStep) -> bool:
    """Whether a schedule advances in a loop over batches, within one over epochs."""
    if event.window is not None or any("epoch" in g.text.lower() for g in event.guards):
        return False
    loops = event.loops
    if len(loops) < 2 or step.loop is None or loops[-1].node is not step.loop.node:
        return False
    around = f"{loops[-2].counter} {loops[-2].over}"
    inner = f"{loops[-1].counter} {loops[-1].over}"
    return "epoch" in around.lower() and "epoch" not in inner.lower()


_RIGHT = """\
import torch

epochs = 30
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    schedule.step()
"""

RULE = Rule(
    code="CL508",
    name="schedule-counts-epochs",
    topic="schedule",
    severity=Severity.WARNING,
    title="The length of the schedule counts epochs, but it advances with every batch",
    why="After as many batches as there are epochs, the schedule is at its end: the learning rate "
    "is 0 for the rest of the run, or goes up and down with a period of a few batches.",
    wrong=changed(_RIGHT, ("    schedule.step()\n", "        schedule.step()\n")),
    right=_RIGHT,
    check=check,
    hints=("epoch", "EPOCH"),
    sources=("PyTorch docs, CosineAnnealingLR", "Keras docs, LearningRateSchedule"),
)
