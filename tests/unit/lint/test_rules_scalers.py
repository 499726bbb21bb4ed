"""Rules about scalers: half weights, scalers made again, checkpoints, apex."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import code_lines, codes, swap

AMP, AMP_ACCUMULATION, PLAIN = examples.AMP, examples.AMP_ACCUMULATION, examples.PLAIN


# ---- CL208


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((".cuda()\n", ".cuda().half()\n"), {"CL208"}),
        ((".cuda()\n", ".cuda().to(torch.float16)\n"), {"CL208"}),
        ((".cuda()\n", ".to(dtype=torch.half)\n"), {"CL208"}),
        (("scaler = ", "model = model.half()\nscaler = "), {"CL208"}),
        (("scaler = ", "teacher = teacher.half()\nscaler = "), set()),
        (("scaler = ", "if inference:\n    model = model.half()\nscaler = "), set()),
        ((".cuda()\n", ".cuda().to(torch.bfloat16)\n"), set()),
        (("model(inputs)", "model(inputs.half())"), set()),
    ],
)
def test_half_weights(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(AMP, change)) == expected


# ---- CL209, CL210, CL212


def test_scalers_made_again() -> None:
    line = 'scaler = torch.amp.GradScaler("cuda")\n'
    inner = swap(
        AMP, (line, ""), ("    optimizer.zero_grad()\n", f"    {line}    optimizer.zero_grad()\n")
    )
    assert codes(inner) == {"CL209"}
    lazy = swap(inner, (f"    {line}", f"    if scaler is None:\n        {line}"))
    assert codes(lazy) == set()


CHECKPOINT = (
    'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)\n'
)


def test_checkpoints() -> None:
    assert codes(AMP + CHECKPOINT) == {"CL210"}
    assert codes(PLAIN + CHECKPOINT) == set()
    assert codes(AMP + "torch.save(model.state_dict(), path)\n") == set()
    whole = CHECKPOINT.replace("}", ', "scaler": scaler.state_dict()}')
    assert codes(AMP + whole) == set()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2**16", set()),
        ("65536.0", set()),
        ("1.0", set()),
        ("2^16", {"CL212"}),
        ('"65536"', {"CL212"}),
        ("0.5", {"CL212"}),
        ("0", {"CL212"}),
        ("1000", {"CL212"}),
        ("options.scale", set()),
    ],
)
def test_initial_scales(value: str, expected: set[str]) -> None:
    assert (
        codes(swap(AMP, ('GradScaler("cuda")', f'GradScaler("cuda", init_scale={value})')))
        == expected
    )


# ---- CL213, CL214, CL215


APEX = """\
import torch
from apex import amp
from apex.parallel import DistributedDataParallel

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
model = DistributedDataParallel(model)
for step, (inputs, targets) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(inputs), targets) / 4
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_apex_windows() -> None:
    assert codes(APEX) == set()
    waiting = swap(
        APEX,
        (
            "    loss = ",
            "    last = (step + 1) % 4 == 0\n    model.disable_allreduce()\n"
            "    if last:\n        model.enable_allreduce()\n    loss = ",
        ),
    )
    assert codes(waiting) == {"CL213"}
    for given in ("delay_unscale=not last", "**options"):
        delayed = swap(waiting, ("loss, optimizer)", f"loss, optimizer, {given})"))
        assert codes(delayed) == set()


def test_names_of_apex() -> None:
    assert codes(swap(APEX, ("amp.scale_loss", "amp.scaled_loss"))) == {"CL214"}
    assert (
        codes(
            swap(
                APEX,
                ("from apex import amp", "from mine import amp"),
                ("amp.scale_loss", "amp.scaled_loss"),
            )
        )
        == set()
    )


SWITCH = """\
import torch

first = torch.optim.SGD(encoder.parameters(), lr=0.1)
second = torch.optim.SGD(decoder.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    first.zero_grad()
    second.zero_grad()
    loss = torch.nn.functional.cross_entropy(decoder(encoder(inputs)), targets)
    if args.fp16:
        scaler.scale(loss).backward()
        scaler.step(first)
        scaler.update()
    else:
        loss.backward()
        first.step()
        second.step()
"""


def test_an_optimizer_left_out() -> None:
    assert codes(SWITCH) == {"CL215"}
    assert (
        codes(
            swap(
                SWITCH,
                ("        scaler.update()", "        scaler.step(second)\n        scaler.update()"),
            )
        )
        == set()
    )
    assert codes(swap(SWITCH, ("if args.fp16", "if args.joint"))) == set()


@pytest.mark.parametrize("name", ["opt", "_optimizer"])
def test_an_optimizer_within_another(name: str) -> None:
    inner = ("scaler.step(first)", f"scaler.step(both.{name})")
    assert codes(swap(SWITCH, inner)) == set()
    assert codes(swap(SWITCH, ("scaler.step(first)", "scaler.step(self.optimizer)"))) == {"CL215"}


UNSWITCHED = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    if config.mixed:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((), {"CL206"}),
        (("dtype=torch.float16", "dtype=torch.float16, enabled=config.mixed"), set()),
        (("torch.float16", "torch.bfloat16"), set()),
        (("torch.float16", "kind"), set()),
        (("if config.mixed", "if device == 'cuda'"), set()),
        (("if config.mixed", "if scaler is not None"), set()),
        (("    with torch", "    with region if config.mixed else torch"), set()),
        (("else:\n        loss.backward()", "else:\n        scaler.scale(loss).backward()"), set()),
        (('    with torch.autocast("cuda", dtype=torch.float16)', "    if True"), set()),
    ],
)
def test_a_loss_that_is_scaled_on_one_branch(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(UNSWITCHED, change) if change else UNSWITCHED) & {"CL206"} == expected


EPOCH = """\
import torch


def train_one_epoch(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_scaler_for_every_epoch() -> None:
    assert code_lines(EPOCH) == ["CL209:5"]
    assert codes(swap(EPOCH, ("train_one_epoch", "train"))) == set()
    off = swap(EPOCH, ('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)'))
    assert "CL209" not in codes(off)
    given = swap(
        EPOCH,
        ("loader):", "loader, scaler=None):"),
        ("    scaler = torch", "    if scaler is None:\n        scaler = torch"),
    )
    assert codes(given) == set()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('config = {"init_loss_scaling": 2^15}', {"CL212"}),
        ('config = {"init_loss_scaling": 2**15}', set()),
        ('parser.add_argument("--init_loss_scale", default=2^20)', {"CL212"}),
        ('parser.add_argument("--init_loss_scale", type=int, default=2**20)', set()),
        ('build(init_loss_scaling="auto")', set()),
        ('build(initial_loss_scale="2**15")', {"CL212"}),
        ("build(init_scale_of_layers=0.02)", set()),
    ],
)
def test_initial_scales_elsewhere(line: str, expected: set[str]) -> None:
    assert codes(f"{PLAIN}{line}\n") - {"CL912"} == expected  # nothing reads the flag


def test_a_scaler_that_is_made_when_there_is_none_yet() -> None:
    text = (
        "import torch\nscaler = None\nfor x, y in loader:\n    if scaler is None:\n"
        "        scaler = torch.amp.GradScaler('cuda')\n    optimizer.zero_grad()\n"
        "    with torch.autocast('cuda', dtype=torch.float16):\n        loss = model(x, y)\n"
        "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
    )
    assert "CL209" not in codes(text)


GUARDED = """\
import torch

def train_one_epoch(model, optimizer, loader, half, {more}):
    {before}
    for i, (x, y) in enumerate(loader):
        {within}
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=half):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        if half:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("half", True),
        ("half and torch.cuda.is_available()", True),
        ("options.half == 'O1'", True),
        ("scaler is None", False),
        ("half and not scaler", False),
        ("i == 0", False),
        ("loss is None", False),
        ("must_restart()", False),
    ],
)
def test_scalers_made_under_a_condition(condition: str, found: bool) -> None:
    made = f"if {condition}:\n            scaler = torch.amp.GradScaler('cuda')"
    text = GUARDED.format(before="pass", within=made, more="scaler=None")
    assert ("CL209" in codes(text)) is found
    above = made.replace("            ", "        ")
    text = GUARDED.format(before=above, within="pass", more="scaler=None")
    assert ("CL209" in codes(text)) is (found and "i ==" not in condition)


def test_scalers_that_a_function_makes_or_not() -> None:
    for value, found in (
        ("torch.amp.GradScaler('cuda') if half else None", True),
        ("scaler or torch.amp.GradScaler('cuda')", False),
        ("wrap(torch.amp.GradScaler('cuda'))", False),
    ):
        text = GUARDED.format(before=f"scaler = {value}", within="pass", more="scaler=None")
        assert ("CL209" in codes(text)) is found


def test_scalers_made_in_an_epoch_of_a_run() -> None:
    text = GUARDED.format(before="pass", within="pass", more="scaler")
    outer = "for epoch in range(3):\n    if {}:\n        scaler = torch.amp.GradScaler('cuda')\n"
    call = "    train_one_epoch(model, optimizer, loader, half, scaler)\n"
    for condition, found in (("half", True), ("epoch == 0", False), ("epoch > 3", False)):
        assert ("CL209" in codes(text + outer.format(condition) + call)) is found
