"""CL213: apex discards the gradients of earlier micro-batches or never reduces them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep

_RIGHT = """\
import torch
from apex import amp
from apex.parallel import DistributedDataParallel

torch.distributed.init_process_group("nccl")
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
model = DistributedDataParallel(model)
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    last = (step + 1) % steps == 0
    model.disable_allreduce()
    if last:
        model.enable_allreduce()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets) / steps
    with amp.scale_loss(loss, optimizer, delay_unscale=not last) as scaled:
        scaled.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
"""


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows with apex.amp that delay the all-reduce but not the unscaling."""
    for step in eager_steps(subject):
        for backward in step.of("backward"):
            context = backward.context("scale_loss")
            if context is None or not step.windowed or "delay_unscale" in context.detail:
                continue
            waits = _waiting(step, backward)
            if waits is not None:
                yield Finding(
                    span=backward.module.span(context.node),
                    message="the gradients are unscaled after every micro-batch of a window "
                    "without all-reduce, so those of earlier micro-batches are never "
                    "reduced",
                    hint="pass `delay_unscale=True` for all but the last micro-batch",
                    related=(waits,) if waits != backward.span else (),
                )


def _waiting(step: TrainingStep, backward: Event) -> Span | None:
    """Return where the all-reduce is delayed: `no_sync`, or `disable_allreduce`."""
    context = backward.context("no_sync")
    if context is not None:
        return backward.module.owner_of(context.node).span(context.node)
    loop = step.loop.node if step.loop is not None else step.module.tree
    for node in walk(loop):
        match node:
            case ast.Call(func=ast.Attribute(attr="disable_allreduce")):
                return step.module.span(node)
    return None


RULE = Rule(
    code="CL213",
    name="apex-window-not-reduced",
    topic="loss scaling",
    severity=Severity.ERROR,
    title="apex: a window without all-reduce and without delay_unscale",
    why="Entering `scale_loss` stashes the gradients accumulated so far, and leaving it adds the "
    "new ones in float32. Only the gradients of the last micro-batch are all-reduced, so the "
    "processes apply different updates and diverge.",
    wrong=_RIGHT.replace(", delay_unscale=not last", ""),
    right=_RIGHT,
    check=check,
    hints=("scale_loss",),
    sources=("NVIDIA/apex before cb65b8ed, apex/amp/_process_optimizer.py", "NVIDIA/apex#1512"),
)
