"""CM101: torch.cuda.amp to torch.amp."""

from __future__ import annotations

from crosscast.lint.rules.torch_cuda_amp import RULE
from crosscast.migrate.codemod import Example
from crosscast.migrate.rule_codemods import codemod_of

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

CODEMOD = codemod_of(
    RULE,
    code="CM101",
    api="torch.amp",
    title="torch.cuda.amp and torch.cpu.amp become torch.amp with the device as first argument",
    done="torch.amp with the device as the first argument and the others by name",
    note="torch.amp.GradScaler needs PyTorch 2.3.",
    examples=(
        Example(before=_NEW, after=_NEW),
        Example(before=_BY_VARIABLE, after=_BY_VARIABLE, refused="is deprecated"),
        Example(before=_AS_VALUE, after=_AS_VALUE_NEW),
        Example(before=_WITH_ARGUMENTS, after=_WITH_ARGUMENTS),
    ),
)
