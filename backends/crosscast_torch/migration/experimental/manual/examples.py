"""Examples of the codemod for manual half precision."""

from __future__ import annotations

from crosscast_migrate.codemod import Example

_LOOP = """\
import torch

SCALE = 1024.0
model = torch.nn.Linear(4, 2).cuda().half()
masters = [p.detach().clone().float() for p in model.parameters()]
for master in masters:
    master.requires_grad = True
optimizer = torch.optim.SGD(masters, lr=0.1, momentum=0.9)
for inputs, targets in loader:
    model.zero_grad()
    outputs = model(inputs.cuda().half())
    loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    (loss * SCALE).backward()
    # float32 copies of the gradients
    for master, p in zip(masters, model.parameters()):
        if p.grad is not None:
            master.grad = p.grad.detach().float() / SCALE
    torch.nn.utils.clip_grad_norm_(masters, 1.0)
    optimizer.step()
    with torch.no_grad():
        for master, p in zip(masters, model.parameters()):
            p.copy_(master)
"""
_LOOP_NEW = """\
import torch

SCALE = 1024.0
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda", init_scale=SCALE, growth_interval=2**31 - 1)
for inputs, targets in loader:
    model.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        outputs = model(inputs.cuda())
        loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    scaler.scale(loss).backward()
    # float32 copies of the gradients
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
_UNPACKED = _LOOP.replace("SCALE = 1024.0", "EPOCHS, SCALE = 3, 1024.0")
_UNPACKED_NEW = _LOOP_NEW.replace("SCALE = 1024.0", "EPOCHS, SCALE = 3, 1024.0")
_DYNAMIC = _LOOP.replace(
    "    optimizer.step()\n",
    "    if not all(torch.isfinite(m.grad).all() for m in masters):\n"
    "        SCALE /= 2\n"
    "        continue\n"
    "    optimizer.step()\n",
)
_INFERENCE = """\
import torch

model = torch.nn.Linear(4, 2).cuda().half()
with torch.no_grad():
    outputs = model(inputs.half())
"""
_LISTS = """\
from apex.fp16_utils import prep_param_lists

model = model.half()
parameters, masters = prep_param_lists(model)
"""
_HELPED = """\
import torch
from apex.fp16_utils import *

SCALE = 1024.0
model = network_to_half(torch.nn.Linear(4, 2).cuda())
weights, masters = prep_param_lists(model)
optimizer = torch.optim.SGD(masters, lr=0.1)
for inputs, targets in loader:
    model.zero_grad()
    outputs = model(inputs.cuda())
    loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    (loss * SCALE).backward()
    model_grads_to_master_grads(weights, masters)
    if SCALE != 1:
        for master in masters:
            master.grad.data = master.grad.data / SCALE
    optimizer.step()
    master_params_to_model_params(weights, masters)
"""
_HELPED_NEW = """\
import torch

SCALE = 1024.0
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
scaler = torch.amp.GradScaler("cuda", init_scale=SCALE, growth_interval=2**31 - 1)
for inputs, targets in loader:
    model.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.float16):
        outputs = model(inputs.cuda())
        loss = torch.nn.functional.cross_entropy(outputs.float(), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
_READ = _HELPED + "    print(weights[0].norm())\n"
_FLAT = _HELPED.replace("prep_param_lists(model)", "prep_param_lists(model, flat_master=True)")
_TWICE = _HELPED.replace("master.grad.data / SCALE", "master.grad.data / SCALE / SCALE")
MANUAL = (
    Example(before=_LOOP, after=_LOOP_NEW),
    Example(before=_UNPACKED, after=_UNPACKED_NEW),
    Example(before=_HELPED, after=_HELPED_NEW),
    Example(before=_READ, after=_READ, refused="weights is used here for another purpose"),
    Example(before=_FLAT, after=_FLAT, refused="prep_param_lists of apex"),
    Example(before=_TWICE, after=_TWICE, refused="not divided exactly once by SCALE"),
    Example(before=_INFERENCE, after=_INFERENCE),
    Example(before=_DYNAMIC, after=_DYNAMIC, refused="it is not certain that SCALE is a constant"),
    Example(before=_LISTS, after=_LISTS, refused="prep_param_lists of apex"),
)
