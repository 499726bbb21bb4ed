"""CL901: torch.cuda.amp and torch.cpu.amp, deprecated in favor of torch.amp."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.outdated_apis import older, spans
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_torch.answers.amp_repairs import repairs_of
from crosscast_torch.answers.amp_uses import CLASSES, PLACES, Use


def check(subject: Subject) -> Iterator[Finding]:
    """Find the uses of the old names, with one finding per module and name."""
    if older(subject.program, "torch", "2.4"):
        return
    for repair in repairs_of(subject.program):
        if any(use.substitute for use in repair.uses):
            continue  # the program works where the old names are missing
        for name in dict.fromkeys(use.name for use in repair.uses):
            uses = [use for use in repair.uses if use.name == name]
            yield Finding(
                span=repair.module.span(uses[0].node),
                message=f"{name} is deprecated since PyTorch 2.4",
                hint=hint_for(uses[0]) + (f"; by hand: {repair.why}" if repair.why else ""),
                related=spans(repair.module, [use.node for use in uses]),
                edits=repair.edits,
            )


def hint_for(use: Use) -> str:
    """Return the hint that says what to write instead of an old name."""
    if use.name in PLACES or not use.is_known:
        return "use torch.amp"
    if use.what in CLASSES:
        new = f'write torch.amp.{use.what}("{use.device}", ...)'
        return new + ", with the other arguments as keywords" * (use.what == "autocast")
    return f'write torch.amp.{use.what}(..., device_type="{use.device}")'


_REST = """\
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
_MODEL = """\
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

RULE = Rule(
    code="CL901",
    name="torch-cuda-amp",
    topic="outdated",
    severity=Severity.NOTE,
    title="torch.cuda.amp is deprecated",
    why="Since PyTorch 2.4, every use of torch.cuda.amp and torch.cpu.amp prints a "
    "FutureWarning. The order of the parameters of autocast has changed: in "
    "torch.amp.autocast the first is the device and the second the dtype, so "
    '`autocast(False)` becomes `autocast("cuda", enabled=False)`. Passed by position, False '
    "would be taken for a dtype. custom_fwd and custom_bwd take the device as `device_type`.",
    wrong=f"""\
import torch
from torch.cuda.amp import GradScaler, autocast

{_MODEL}scaler = GradScaler(init_scale=1024)
for inputs, targets in loader:
    optimizer.zero_grad()
    with autocast(True):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
{_REST}""",
    right=f"""\
import torch
from torch.amp import GradScaler, autocast

{_MODEL}scaler = GradScaler("cuda", init_scale=1024)
for inputs, targets in loader:
    optimizer.zero_grad()
    with autocast("cuda", enabled=True):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
{_REST}""",
    check=check,
    hints=("torch.cuda", "torch.cpu", "cuda.amp"),
    fixable=True,
    sources=("FutureWarning of PyTorch 2.4 to 2.13", "torch/cuda/amp/autocast_mode.py"),
)
