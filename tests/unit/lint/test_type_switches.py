"""Types of autocast and switches of scalers that do not fit (CL206, CL207, CL912)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import codes, swap

CHOSEN = """\
import argparse
from contextlib import nullcontext

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", type=str, default="float16")
parser.add_argument("--device", default="cuda:0")
args = parser.parse_args()
on_cpu = "cpu" in args.device
region = nullcontext() if on_cpu else torch.cuda.amp.autocast()
model = torch.nn.Linear(4, 2).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.cuda.amp.GradScaler(enabled=args.dtype == "float16")
for x, y in loader:
    optimizer.zero_grad()
    with region:
        loss = torch.nn.functional.cross_entropy(model(x), y)
    print(x.dtype)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("import torch\n", "import torch\n"), {"CL206", "CL912"}),
        (('== "float16"', 'in ("float16", "half")'), {"CL206", "CL912"}),
        (("amp.autocast()", "amp.autocast(dtype=getattr(torch, args.dtype))"), set()),
        (("amp.autocast()", 'amp.autocast(enabled=args.dtype == "float16")'), set()),
        (("amp.autocast()", "amp.autocast(dtype=torch.bfloat16)"), set()),
        (("if on_cpu", 'if args.dtype == "float32"'), set()),
        (("if on_cpu", "if args.plain"), set()),
        (('args.dtype == "float16"', "args.scale_it"), set()),
        (("print(x.dtype)", "show(args.dtype)"), {"CL206"}),
        (("type=str, default", 'choices=["float16"], default'), {"CL206"}),
    ],
)
def test_scalers_that_another_type_switches_off(
    change: tuple[str, str], expected: set[str]
) -> None:
    assert codes(swap(CHOSEN, change)) & {"CL206", "CL912"} == expected


ONE_SWITCH = """\
import torch
from parts import optimizer_and_scaler

model = torch.nn.Linear(4, 2).cuda()
optimizer, scaler = optimizer_and_scaler(model)
for x, y in loader:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast(dtype=torch.bfloat16, enabled=use_half):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    if use_half:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("import torch\n", "import torch\n"), True),
        (("bfloat16", "float16"), False),
        (("dtype=torch.bfloat16", "dtype=kind"), False),
        (("if use_half", "if use_scaler"), False),
        (("if use_half", "if not use_half"), False),
        (
            (
                "optimizer, scaler = optimizer_and_scaler(model)",
                "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                "scaler = torch.cuda.amp.GradScaler(enabled=False)",
            ),
            False,
        ),
    ],
)
def test_a_scaler_under_the_switch_of_bfloat16(change: tuple[str, str], found: bool) -> None:
    assert ("CL207" in codes(swap(ONE_SWITCH, change))) is found


PARTS = """\
import torch

def optimizer_and_scaler(model, with_scaler=False):
    scaler = torch.cuda.amp.GradScaler() if with_scaler else None
    return torch.optim.SGD(model.parameters(), lr=0.1), scaler
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [("with_scaler=use_half", True), ("with_scaler=half_type", False), ("**more", False)],
)
def test_a_scaler_that_a_helper_makes(given: str, found: bool) -> None:
    start = 'use_half = config["half"]\nhalf_type = config["float16"]\nmodel ='
    main = swap(ONE_SWITCH, ("model =", start), ("_scaler(model)", f"_scaler(model, {given})"))
    results = lint_sources([Source("train.py", main), Source("parts.py", PARTS)])
    assert ("train.py" in {each.file for each in results if each.code == "CL207"}) is found


BY_DEVICE = """\
import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast(device_type=str(device)):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("import torch\n", "import torch\n"), True),
        (("str(device)", "device.type"), True),
        (("device_type=str(device)", "device.type"), True),
        (('"cuda:0" if', 'options.get("device", "cuda") if'), True),
        (('"cuda:0" if', 'options["device"] if'), False),
        (('"cuda:0" if', '"cpu" if'), False),
        (("torch.cuda.is_available()", "options.fast"), False),
        (("str(device)", "str(device), dtype=torch.bfloat16"), False),
        (("str(device)", "str(device), enabled=False"), False),
        (("torch.device(", "pick("), False),
    ],
)
def test_the_device_of_a_machine_with_cuda(change: tuple[str, str], found: bool) -> None:
    assert ("CL206" in codes(swap(BY_DEVICE, change))) is found
