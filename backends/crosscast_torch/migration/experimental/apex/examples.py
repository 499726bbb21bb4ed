"""Examples of the codemods for apex: changed, unchanged and refused."""

from __future__ import annotations

from crosscast_migrate.codemod import Example

_PLAIN = """\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# Level O1: what is safe runs in half precision.
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
"""
_PLAIN_NEW = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# Level O1: what is safe runs in half precision.
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
_FLAG = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--opt_level", default="O1", choices=["O0", "O1", "O2", "O3"])
parser.add_argument("--accumulate", type=int, default=4)
args = parser.parse_args()


def train(args, model, optimizer, scheduler, loader):
    if args.fp16:
        try:
            from apex import amp
        except ImportError:
            raise ImportError("Please install apex")
        model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)
    for step, (inputs, targets) in enumerate(loader):
        inputs = inputs.cuda()
        outputs = model(inputs)
        loss = torch.nn.functional.cross_entropy(outputs, targets)
        loss = loss / args.accumulate
        if args.fp16:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        if (step + 1) % args.accumulate == 0:
            if args.fp16:
                torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
            else:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            model.zero_grad()
"""
_FLAG_NEW = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--opt_level", default="O1", choices=["O0", "O1", "O2", "O3"])
parser.add_argument("--accumulate", type=int, default=4)
args = parser.parse_args()


def train(args, model, optimizer, scheduler, loader):
    if args.fp16:
        if args.opt_level == "O3":
            raise ValueError("torch.amp has no level O3")
        scaler = torch.amp.GradScaler("cuda", enabled=args.opt_level != "O0")
    for step, (inputs, targets) in enumerate(loader):
        inputs = inputs.cuda()
        with torch.amp.autocast("cuda", dtype=torch.float16, enabled=args.fp16 and \
scaler.is_enabled()):
            outputs = model(inputs)
            loss = torch.nn.functional.cross_entropy(outputs, targets)
            loss = loss / args.accumulate
        if args.fp16:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if (step + 1) % args.accumulate == 0:
            if args.fp16:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in \
group["params"]], 1.0)
            else:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if args.fp16:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            scheduler.step()
            model.zero_grad()
"""
_TYPO = _PLAIN.replace("amp.scale_loss", "amp.scaled_loss")
_EARLY = """\
import torch
from apex import amp

model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for step, (inputs, targets) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(inputs), targets) / 4
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    torch.nn.utils.clip_grad_value_(amp.master_params(optimizer), 1.0)
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
_BRANCHES = _PLAIN.replace(
    'model, optimizer = amp.initialize(model, optimizer, opt_level="O1")\n',
    """\
if teacher is None:
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
else:
    [model, teacher], optimizer = amp.initialize([model, teacher], optimizer, opt_level="O1")
""",
)
_LIMITED = _PLAIN.replace('"O1"', '"O1", max_loss_scale=2.0**20')
_PURE = _PLAIN.replace('"O1"', '"O3"')
_OTHER = """\
from apex_of_ours import amp

model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
with amp.scale_loss(loss, optimizer) as scaled_loss:
    scaled_loss.backward()
optimizer.step()
"""
AMP = (
    Example(before=_PLAIN, after=_PLAIN_NEW),
    Example(before=_FLAG, after=_FLAG_NEW),
    Example(before=_BRANCHES, after=_BRANCHES, refused="called in several places"),
    Example(before=_LIMITED, after=_LIMITED, refused="no upper limit"),
    Example(before=_PLAIN_NEW, after=_PLAIN_NEW),
    Example(before=_OTHER, after=_OTHER),
    Example(before=_TYPO, after=_TYPO, refused="apex.amp has no scaled_loss"),
    Example(before=_EARLY, after=_EARLY, refused="after every backward pass"),
    Example(before=_PURE, after=_PURE, refused="opt_level O3"),
)
