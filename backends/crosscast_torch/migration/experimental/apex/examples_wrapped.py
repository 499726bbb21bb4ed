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
_VARIANT = _PLAIN.replace("apex.fp16_utils", "apex.optimizers")
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
    Example(before=_VARIANT, after=_VARIANT, refused="the variant for the old FusedAdam"),
    Example(before=_CHOSEN, after=_CHOSEN_NEW),
    Example(before=_OVERFLOW, after=_OVERFLOW, refused="optimizer.overflow is a part of"),
    Example(before=_FLOAT, after=_FLOAT, refused="no model is made half in these files"),
    Example(before=_OWN, after=_OWN),
)
