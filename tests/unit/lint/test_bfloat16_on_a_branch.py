"""CL207 where a branch or a setting decides that the forward pass is in bfloat16."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

BRANCH = """\
import torch

scaler = torch.amp.GradScaler()
for inputs, targets in loader:
    if args.half:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
"""


def test_a_branch_in_bfloat16() -> None:
    assert "CL207" in codes(BRANCH)


@pytest.mark.parametrize(
    "pair",
    [
        ("torch.bfloat16", "torch.float16"),
        ("torch.bfloat16", "kind"),
        ("GradScaler()", "GradScaler(enabled=args.fp16)"),
        ("dtype=torch.bfloat16", "dtype=torch.bfloat16, enabled=args.bf16"),
    ],
)
def test_branches_that_may_need_a_scaler(pair: tuple[str, str]) -> None:
    assert "CL207" not in codes(swap(BRANCH, pair))


CHOSEN = """\
import torch
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


class Trainer:
    def __init__(self, config):
        self.kind = torch.bfloat16 if config.train.half == "bfloat16" else torch.float16
        self.scaler = ShardedGradScaler() if config.train.amp else None

    def train(self, model, loader, optimizer):
        for inputs, targets in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.kind, enabled=bool(self.scaler)):
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            if self.scaler:
                self.scaler.scale(loss).backward()
                self.scaler.step(optimizer)
                self.scaler.update()
            else:
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize("scaled_if", ["config.train.amp", "config.train.half"])
def test_a_setting_that_the_scaler_ignores(scaled_if: str) -> None:
    assert "CL207" in codes(swap(CHOSEN, ("config.train.amp", scaled_if)))


@pytest.mark.parametrize(
    "pair",
    [
        ("if config.train.amp else", 'if config.train.half == "float16" else'),
        ("if config.train.amp else", "if needed else"),
        ("ShardedGradScaler()", 'ShardedGradScaler(enabled=config.train.half != "bfloat16")'),
        ("torch.float16", "torch.float32"),
        ("            if self.scaler:", "            if self.scaler and other():"),
    ],
)
def test_scalers_that_may_know_the_type(pair: tuple[str, str]) -> None:
    assert "CL207" not in codes(swap(CHOSEN, pair))


LISTED = """\
import argparse
from contextlib import nullcontext

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="float16")
parser.add_argument("--device", default="gpu")
args = parser.parse_args()


def epoch(model, loader, optimizer):
    for x, y in loader:
        half = args.dtype in ("float16", "bfloat16") and args.device != "cpu"
        region = paddle.amp.auto_cast(half, dtype=args.dtype) if half else nullcontext()
        with region:
            loss = paddle.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()


if __name__ == "__main__":
    scaler = paddle.amp.GradScaler(enable=args.dtype in ("float16", "bfloat16"))
    epoch(*make())
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((), True),
        (('enable=args.dtype in ("float16", "bfloat16")', 'enable=args.dtype == "float16"'), False),
        (('enable=args.dtype in ("float16", "bfloat16")', "enable=is_on(args)"), False),
        (('("float16", "bfloat16") and', '("float16",) and'), False),
        (("dtype=args.dtype)", 'dtype="float16")'), False),
        (("dtype=args.dtype)", "dtype=kind)"), False),
    ],
)
def test_a_list_of_types_that_switch_the_scaler_on(change: tuple[str, str], found: bool) -> None:
    assert ("CL207" in codes(swap(LISTED, change) if change else LISTED)) is found


TABLE = """import torch

kinds = {"float16": torch.float16, "bfloat16": torch.bfloat16, None: torch.float32}
half = args.precision is not None
if hasattr(torch.amp, "GradScaler"):
    scaler = torch.amp.GradScaler("cuda", enabled=half)
else:
    scaler = torch.cuda.amp.GradScaler(enabled=half)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", enabled=args.precision is not None, dtype=kinds[args.precision]):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((), True),
        (("half = args.precision is not None", 'half = args.precision == "float16"'), False),
        (("half = args.precision is not None", "half = args.scale"), False),
        (("if hasattr", "scaler = parts.scaler()\nif False and hasattr"), False),
        (("kinds[args.precision]", "kinds[args.other]"), True),
        (('"bfloat16": torch.bfloat16', '"bfloat16": torch.float16'), False),
        (("enabled=args.precision is not None", 'enabled=args.precision == "float16"'), False),
    ],
)
def test_a_table_of_types(change: tuple[str, str], found: bool) -> None:
    assert ("CL207" in codes(swap(TABLE, change) if change else TABLE)) is found


SWITCHED = """import torch

scaler = torch.cuda.amp.GradScaler(enabled=options.train.bf16)
for x, y in loader:
    with torch.cuda.amp.autocast(enabled=options.train.bf16, dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if second:
            extra = second(x).mean()
    optimizer.zero_grad()
    finite = loss.requires_grad
    if second:
        scaler.scale(extra).backward()
    if finite and not torch.isnan(loss).any():
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((), True),
        (
            ("GradScaler(enabled=options.train.bf16)", "GradScaler(enabled=options.train.fp16)"),
            False,
        ),
        (("dtype=torch.bfloat16", "dtype=torch.float16"), False),
        (("dtype=torch.bfloat16", "dtype=options.train.kind"), False),
        (("if finite and", "if chosen and"), False),
    ],
)
def test_one_switch_for_both(change: tuple[str, str], found: bool) -> None:
    assert ("CL207" in codes(swap(SWITCHED, change) if change else SWITCHED)) is found


@pytest.mark.timeout(60)
def test_names_that_stand_for_many_others_are_followed_once() -> None:
    names = [f"v{place}" for place in range(40)]
    made = (f"{name} = make({', '.join(names[:place])})\n" for place, name in enumerate(names))
    switch = ("enabled=options.train.bf16, dtype", "enabled=options.train.bf16 and v39, dtype")
    text = swap(SWITCHED, ("import torch\n", f"import torch\n\n{''.join(made)}"), switch)
    assert "CL207" not in codes(text)  # what was made may switch autocast off


OPTIONAL = """\
import torch


class Trainer:
    def __init__(self, model, use_amp, kind=torch.bfloat16):
        self.model, self.kind = model, kind
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda") if use_amp else None

    def train(self, loader):
        for inputs, labels in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                loss.backward()
                self.optimizer.step()
"""


@pytest.mark.parametrize(
    "pairs",
    [
        (),
        (("self.scaler is not None", "self.scaler"),),
        (("if use_amp else None", "if use_amp.scaled else None"),),
        (('"cuda", dtype=torch.bfloat16', '"cuda", torch.bfloat16'),),
        (
            ('torch.amp.GradScaler("cuda") if use_amp else None', "None"),
            (
                "    def train",
                "        if use_amp:\n            self.scaler = torch.amp.GradScaler()\n\n"
                "    def train",
            ),
        ),
    ],
)
def test_a_scaler_in_an_optional_attribute(pairs: tuple[tuple[str, str], ...]) -> None:
    assert "CL207" in codes(swap(OPTIONAL, *pairs))


@pytest.mark.parametrize(
    "pair",
    [
        ("torch.bfloat16):", "torch.float16):"),
        ("torch.bfloat16):", "self.kind):"),
        ('torch.amp.GradScaler("cuda")', 'torch.amp.GradScaler("cuda", enabled=False)'),
        ("if use_amp else", "if use_amp and False else"),
        ("torch.bfloat16):", "torch.bfloat16, enabled=False):"),
    ],
)
def test_optional_scalers_that_are_needed_or_off(pair: tuple[str, str]) -> None:
    assert "CL207" not in codes(swap(OPTIONAL, pair))
