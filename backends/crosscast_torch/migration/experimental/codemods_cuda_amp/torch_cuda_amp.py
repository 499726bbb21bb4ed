"""CM101: torch.cuda.amp to torch.amp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_torch.answers.amp_repairs import Repair, repairs_of
from crosscast_torch.answers.amp_uses import CLASSES, DECORATORS
from crosscast_torch.migration.experimental.codemods_cuda_amp.torch_cuda_amp_fallback import (
    substituted,
)
from crosscast_torch.migration.experimental.unknown_origin import unknown_classes
from crosscast_torch.rules.outdated.torch_cuda_amp import RULE, hint_for

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject

_NOTE = "torch.amp.GradScaler needs PyTorch 2.3."
_DECORATED = "torch.amp.custom_fwd and custom_bwd need PyTorch 2.4."


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the uses of the old packages, or say why a module is left as it is."""
    for repair in repairs_of(subject.program):
        module = repair.module
        if substituted(module):
            continue  # see CM107
        for name in dict.fromkeys(use.name for use in repair.uses):
            first = next(use for use in repair.uses if use.name == name)
            span = module.span(first.node)
            if repair.edits:
                message = "torch.amp with the device as the first argument and the others by name"
                yield Change(span=span, message=message, edits=repair.edits, note=_note(repair))
            else:
                message = f"{name} is deprecated since PyTorch 2.4, and stays: {repair.why}"
                yield Refusal(span=span, message=message, hint=hint_for(first))
    yield from unknown_classes(subject)


def _note(repair: Repair) -> str:
    decorates = any(use.what in DECORATORS for use in repair.uses)
    return _DECORATED if decorates else _NOTE


_NEW = """\
import torch

scaler = torch.amp.GradScaler("cuda")
with torch.amp.autocast("cuda", dtype=torch.float16):
    loss = model(inputs)
scaler.scale(loss).backward()
"""
_BY_VARIABLE = """\
import torch

arguments = (False,)
with torch.cuda.amp.autocast(*arguments):
    loss = model(inputs)
loss.backward()
"""
_AS_VALUE = """\
import contextlib
import torch
from torch.cuda.amp import autocast


def train(model, loader, half):
    context = autocast if half else contextlib.nullcontext
    for inputs in loader:
        with context():
            loss = model(inputs)
        loss.backward()
"""
_AS_VALUE_NEW = _AS_VALUE.replace("torch.cuda", "torch").replace(
    "autocast if", '(lambda: autocast("cuda")) if'
)
_WITH_ARGUMENTS = _AS_VALUE.replace("context():", "context(False):")
_OF_A_CLASS = """\
import torch

scaler = torch.cuda.amp.GradScaler()
if isinstance(scaler, torch.cuda.amp.GradScaler):
    scaler.scale(loss).backward()
"""
_DECORATORS = """\
import torch
from torch.cuda.amp import custom_bwd, custom_fwd


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]
"""
_DECORATORS_NEW = (
    _DECORATORS.replace("torch.cuda.amp", "torch.amp")
    .replace("custom_fwd(", 'custom_fwd(device_type="cuda", ')
    .replace("@custom_bwd", '@custom_bwd(device_type="cuda")')
)

_PLAIN = """\
import torch
from torch.cuda.amp import GradScaler, autocast

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler(init_scale=1024)
for inputs, targets in loader:
    optimizer.zero_grad()
    with autocast(True):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
_PLAIN_NEW = (
    _PLAIN.replace("torch.cuda.amp", "torch.amp")
    .replace("GradScaler(init", 'GradScaler("cuda", init')
    .replace("autocast(True)", 'autocast("cuda", enabled=True)')
)
CODEMOD = Codemod(
    code="CM101",
    name="torch-cuda-amp",
    api="torch.amp",
    title="torch.cuda.amp and torch.cpu.amp become torch.amp with the device as first argument",
    hints=(*RULE.hints, *CLASSES),
    examples=(
        Example(before=_PLAIN, after=_PLAIN_NEW),
        Example(before=_NEW, after=_NEW),
        Example(before=_BY_VARIABLE, after=_BY_VARIABLE, refused="not all arguments"),
        Example(before=_AS_VALUE, after=_AS_VALUE_NEW),
        Example(before=_WITH_ARGUMENTS, after=_WITH_ARGUMENTS, refused="is used as a value"),
        Example(
            before=_OF_A_CLASS,
            after=_OF_A_CLASS.replace("cuda.", "").replace("Scaler()", 'Scaler("cuda")'),
        ),
        Example(before=_DECORATORS, after=_DECORATORS_NEW),
    ),
    run=run,
    scope="every file",
)
