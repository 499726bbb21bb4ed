"""Examples of the codemod for FP16_Optimizer: changed, unchanged and refused."""

from __future__ import annotations

from crosscast_migrate.codemod import Example

_PLAIN = """\
import torch
from apex.fp16_utils import FP16_Optimizer

model = torch.nn.Linear(4, 2).cuda().half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
optimizer = FP16_Optimizer(optimizer, static_loss_scale=128.0)
for inputs, targets in loader:
    optimizer.zero_grad()
    # The inputs are half, like the weights.
    outputs = model(inputs.half())
    loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    optimizer.backward(loss)
    optimizer.clip_master_grads(1.0)
    optimizer.step()
"""
_PLAIN_NEW = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda", init_scale=128.0, growth_interval=2**31 - 1)
for inputs, targets in loader:
    optimizer.zero_grad()
    # The inputs are half, like the weights.
    with torch.amp.autocast("cuda", dtype=torch.float16):
        outputs = model(inputs)
        loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(
        [p for group in optimizer.param_groups for p in group["params"]], 1.0
    )
    scaler.step(optimizer)
    scaler.update()
"""
_FLAGS = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--loss_scale", type=float, default=0)
args = parser.parse_args()

model = torch.nn.Linear(4, 2).cuda()
if args.fp16:
    model.half()
if args.fp16:
    try:
        from apex.optimizers import FP16_Optimizer
        from apex.optimizers import FusedAdam
    except ImportError:
        raise ImportError("Please install apex")
    optimizer = FusedAdam(model.parameters(), bias_correction=False, max_grad_norm=1.0)
    if args.loss_scale == 0:
        optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)
    else:
        optimizer = FP16_Optimizer(optimizer, static_loss_scale=args.loss_scale)
else:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs, targets in loader:
    outputs = model(inputs)
    loss = torch.nn.functional.cross_entropy(outputs, targets)
    if args.fp16:
        optimizer.backward(loss)
    else:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
_FLAGS_NEW = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--loss_scale", type=float, default=0)
args = parser.parse_args()

model = torch.nn.Linear(4, 2).cuda()
if args.fp16:
    try:
        from apex.optimizers import FusedAdam
    except ImportError:
        raise ImportError("Please install apex")
    optimizer = FusedAdam(model.parameters(), bias_correction=False)
    if args.loss_scale == 0:
        scaler = torch.amp.GradScaler("cuda", growth_interval=1000)
    else:
        scaler = torch.amp.GradScaler(
            "cuda",
            init_scale=float(args.loss_scale),
            growth_interval=2**31 - 1,
        )
else:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs, targets in loader:
    with torch.amp.autocast("cuda", dtype=torch.float16, enabled=args.fp16):
        outputs = model(inputs)
        loss = torch.nn.functional.cross_entropy(outputs, targets)
    if args.fp16:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    if args.fp16:
        scaler.unscale_(optimizer)
        for group in optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    optimizer.zero_grad()
"""
_CHOSEN = _PLAIN.replace(
    "static_loss_scale=128.0",
    "static_loss_scale=args.scale, dynamic_loss_scale=args.dynamic, "
    'dynamic_loss_args={"scale_window": 500}',
)
_CHOSEN_NEW = _PLAIN_NEW.replace(
    '"cuda", init_scale=128.0, growth_interval=2**31 - 1',
    """
    "cuda",
    init_scale=2.0**16 if args.dynamic else float(args.scale),
    growth_interval=500 if args.dynamic else 2**31 - 1,
""",
)
_OVERFLOW = _PLAIN.replace(
    "    optimizer.step()\n", "    optimizer.step()\n    print(optimizer.overflow)\n"
)
_FLOAT = _PLAIN.replace(".half()", "")
_OWN = _PLAIN.replace("apex.fp16_utils", "fp16")
WRAPPED = (
    Example(before=_PLAIN, after=_PLAIN_NEW),
    Example(before=_FLAGS, after=_FLAGS_NEW),
    Example(before=_CHOSEN, after=_CHOSEN_NEW),
    Example(before=_OVERFLOW, after=_OVERFLOW, refused="optimizer.overflow is a part of"),
    Example(before=_FLOAT, after=_FLOAT, refused="no model is made half in these files"),
    Example(before=_OWN, after=_OWN),
)
