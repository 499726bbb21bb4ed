"""Schedules, samplers and processes that look wrong, and right ones that look like them."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, repaired, swap

SCHEDULE, DDP, NO_SYNC = examples.SCHEDULE, examples.DDP, examples.NO_SYNC
Changes = tuple[tuple[str, str], ...]
TICK = "        schedule.step()\n"
STEP = "        optimizer.step()\n"
BACKWARD = "    loss.backward()\n"
EVERY = ((TICK, ""), (BACKWARD, BACKWARD + "    schedule.step()\n"))
SECOND = (
    "criterion = ",
    "second = torch.optim.SGD(head.parameters(), lr=0.1)\ncriterion = ",
)
EPOCHS = (
    (
        "optimizer.zero_grad()\nfor step",
        "optimizer.zero_grad()\nfor epoch in range(3):\n  for step",
    ),
    ("    loss = ", "      loss = "),
)

# ---- CL501: before the optimizer steps

EARLY: dict[str, Changes] = {
    "in a window": ((STEP + TICK, TICK + STEP),),
    "in a window, twice": ((STEP + TICK, TICK + TICK + STEP),),
}
NOT_EARLY: dict[str, Changes] = {
    "with an argument": ((STEP + TICK, TICK.replace("()", "(epoch)") + STEP),),
    "in the other branch": (
        (STEP + TICK, STEP),
        ("        optimizer.zero_grad()\n", "        optimizer.zero_grad()\n    else:\n" + TICK),
    ),
    "after the first of two steps": (
        (SECOND),
        (STEP + TICK, STEP + TICK + "        second.step()\n"),
    ),
    "in a loop of its own": (
        (STEP + TICK, "        for schedule in schedules:\n    " + TICK + STEP),
    ),
    "in every micro-batch": ((TICK, ""), ("    loss = ", "    schedule.step()\n    loss = ")),
    "before all loops": ((TICK, ""), ("steps = 4\n", "schedule.step()\nsteps = 4\n")),
    "something else that steps": ((STEP + TICK, "        timer.step()\n" + STEP),),
    "a schedule by hand": (
        (
            STEP + TICK,
            "        for group in optimizer.param_groups:\n            group['lr'] = rate(step)\n"
            + STEP,
        ),
    ),
}


@pytest.mark.parametrize("name", EARLY)
def test_before_the_step(name: str) -> None:
    assert codes(swap(SCHEDULE, *EARLY[name])) == {"CL501"}


@pytest.mark.parametrize("name", NOT_EARLY)
def test_not_before_the_step(name: str) -> None:
    assert "CL501" not in codes(swap(SCHEDULE, *NOT_EARLY[name]))


PER_EPOCH = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
for epoch in range(90):
    {first}
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    {last}
"""


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("scheduler.step()", "pass", {"CL501"}),
        ("pass", "scheduler.step()", set()),
        ("scheduler.step(epoch)", "pass", set()),
        ("scheduler.step()", "scheduler.step()", set()),
        ("if epoch:\n        scheduler.step()", "pass", set()),
        ("if args.decay and args.name != 'x':\n        scheduler.step()", "pass", {"CL501"}),
        ("if args.decay and epoch > 3:\n        scheduler.step()", "pass", set()),
        ("if ready():\n        scheduler.step()", "pass", set()),
        ("for _ in range(2):\n        scheduler.step()", "pass", set()),
    ],
)
def test_once_an_epoch(first: str, last: str, expected: set[str]) -> None:
    assert codes(PER_EPOCH.replace("{first}", first).replace("{last}", last)) == expected


def test_once_an_epoch_of_paddle() -> None:
    paddle = (
        PER_EPOCH.replace("import torch\n", "import paddle\n")
        .replace("torch.nn.Linear(4, 2).cuda()", "paddle.nn.Linear(4, 2)")
        .replace(
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)\n",
            "scheduler = paddle.optimizer.lr.StepDecay(0.1, 30)\n"
            "optimizer = paddle.optimizer.SGD(scheduler, parameters=model.parameters())\n",
        )
        .replace("torch.nn.functional", "paddle.nn.functional")
        .replace("zero_grad", "clear_grad")
    )
    early = paddle.replace("{first}", "scheduler.step()").replace("{last}", "pass")
    assert codes(early) == {"CL501"}
    late = paddle.replace("{first}", "pass").replace("{last}", "scheduler.step()")
    assert codes(late) == set()


def test_a_schedule_of_paddle_that_a_flag_may_replace() -> None:
    text = """
import argparse
import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--decay", action="store_true")
args = parser.parse_args()
scheduler = args.rate
if args.decay:
    scheduler = paddle.optimizer.lr.StepDecay(args.rate, 30)
optimizer = paddle.optimizer.SGD(scheduler, parameters=model.parameters())
for epoch in range(90):
    if args.decay:
        scheduler.step()
    for x, y in loader:
        model(x, y).backward()
        optimizer.step()
        optimizer.clear_grad()
"""
    assert codes(text) == {"CL501"}
    assert codes(text.replace("paddle.optimizer.lr.StepDecay", "ours.StepDecay")) == set()


# ---- CL502: in every micro-batch

NOT_EVERY: dict[str, Changes] = {
    "with an argument": (*EVERY, ("schedule.step()", "schedule.step(epoch)")),
    "under its own condition": (
        (TICK, ""),
        (BACKWARD, BACKWARD + "    if complete(step):\n" + TICK),
    ),
    "in a loop of its own": ((TICK, ""), (BACKWARD, BACKWARD + "    for part in parts:\n" + TICK)),
    "something else that steps": (*EVERY, ("schedule.step()", "timer.step()")),
    "where another optimizer steps as often": (
        *EVERY,
        SECOND,
        (BACKWARD, BACKWARD + "    second.step()\n"),
    ),
    "a schedule of the program": (
        *EVERY,
        (
            "import torch\n",
            "import torch\n\n\nclass Schedule:\n    def step(self):\n        pass\n\n\n",
        ),
        ("torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)", "Schedule()"),
    ),
}


def test_in_every_micro_batch() -> None:
    assert codes(swap(SCHEDULE, *EVERY)) == {"CL502"}


def test_a_subclass_of_a_schedule_is_one() -> None:
    made = swap(
        SCHEDULE,
        *EVERY,
        (
            "import torch\n",
            "import torch\n\n\nclass Schedule(torch.optim.lr_scheduler.LambdaLR):\n    pass\n\n\n",
        ),
        ("torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)", "Schedule(optimizer)"),
    )
    assert codes(made) == {"CL502"}


@pytest.mark.parametrize("name", NOT_EVERY)
def test_not_in_every_micro_batch(name: str) -> None:
    assert "CL502" not in codes(swap(SCHEDULE, *NOT_EVERY[name]))


# ---- CL503: a length in batches

LENGTH = swap(SCHEDULE, ("total_iters=100", "total_iters=epochs * len(loader)"))
UPDATES: dict[str, Changes] = {
    "divided": (("len(loader)", "len(loader) // steps"),),
    "divided elsewhere": (
        ("schedule = ", "length = len(loader) // 4\nschedule = "),
        ("epochs * len(loader)", "length"),
    ),
    "of something with windows in its name": (("len(loader)", "len(loader) - accumulation"),),
    "that names the window": (("len(loader)", "len(loader[::steps])"),),
    "of a schedule in every micro-batch": EVERY,
    "of a schedule with an argument": (("schedule.step()", "schedule.step(step)"),),
    "in windows of one": (("steps = 4\n", ""), ("/ steps", "/ 1"), ("% steps", "% 1")),
    "a number": (("epochs * len(loader)", "1000"),),
}


def test_a_length_in_batches() -> None:
    assert codes(LENGTH) == {"CL503"}
    named = swap(LENGTH, ("schedule = ", "length = epochs * len(loader)\nschedule = "))
    named = swap(named, ("total_iters=epochs * len(loader)", "total_iters=length"))
    assert codes(named) == {"CL503"}


@pytest.mark.parametrize("name", UPDATES)
def test_not_a_length_in_batches(name: str) -> None:
    assert "CL503" not in codes(swap(LENGTH, *UPDATES[name]))


# ---- CL604: the order of every epoch

UNSET = swap(DDP, ("    sampler.set_epoch(epoch)\n", ""))
LOADER = "loader = DataLoader(dataset, batch_size=8, sampler=sampler)\n"
SET: dict[str, Changes] = {
    "not shuffled": (
        ("DistributedSampler(dataset)", "DistributedSampler(dataset, shuffle=False)"),
    ),
    "perhaps not shuffled": (
        ("DistributedSampler(dataset)", "DistributedSampler(dataset, **more)"),
    ),
    "shuffled by a setting": (
        ("DistributedSampler(dataset)", "DistributedSampler(dataset, shuffle=args.shuffle)"),
    ),
    "for validation": (("DistributedSampler(dataset)", "DistributedSampler(val_set)"),),
    "by its name": (
        ("sampler = D", "eval_sampler = D"),
        ("sampler=sampler", "sampler=eval_sampler"),
    ),
    "no epochs": (("for epoch in range(3):\n    for", "if True:\n    for"),),
    "while there is time": (("for epoch in range(3):\n", "while time():\n"),),
    "by a library": (("import torch\n", "import accelerate\nimport torch\n"),),
    "another sampler": (("from torch.utils.data.distributed import", "from samplers import"),),
}
KEPT: dict[str, Changes] = {
    "not a variable": (
        ("sampler = D", "self.sampler = D"),
        ("sampler=sampler", "sampler=self.sampler"),
    ),
    "made again": ((LOADER, "sampler = DistributedSampler(dataset)\n" + LOADER),),
    "not a counter": (("for epoch in range(3):", "for epoch, rate in plan:"),),
    "made in a function": (
        (
            "sampler = DistributedSampler(dataset)\n",
            "def make():\n    sampler = DistributedSampler(dataset)\n    return sampler\n\n\n",
        ),
        ("sampler=sampler", "sampler=make()"),
    ),
    "made in a condition": (("sampler = D", "if many:\n    sampler = D"),),
}


def test_the_epoch_is_not_set() -> None:
    assert codes(UNSET) == {"CL604"}
    assert repaired(UNSET, "CL604") == DDP


@pytest.mark.parametrize("name", SET)
def test_the_epoch_need_not_be_set(name: str) -> None:
    assert "CL604" not in codes(swap(UNSET, *SET[name]))


@pytest.mark.parametrize("name", KEPT)
def test_the_epoch_is_set_by_hand(name: str) -> None:
    text = swap(UNSET, *KEPT[name])
    assert codes(text) == {"CL604"}
    assert repaired(text, "CL604") == text


# ---- CL601, CL602: no_sync

BARE = swap(
    NO_SYNC,
    ("    with contextlib.nullcontext() if last else model.no_sync():\n", "    if True:\n"),
)
SYNCED: dict[str, Changes] = {
    "elsewhere": (("import contextlib\n", "import contextlib\n\nquiet = 'no_sync'\n"),),
    "no windows": (("    if last:\n", "    if True:\n"),),
    "not wrapped": (
        ("DistributedDataParallel(torch.nn.Linear(4, 2).cuda())", "torch.nn.Linear(4, 2).cuda()"),
    ),
    "a wrapper of the program": (("from torch.nn.parallel import", "from wrappers import"),),
}


def test_no_sync_is_missing() -> None:
    assert "CL601" in codes(BARE)


@pytest.mark.parametrize("name", SYNCED)
def test_no_sync_is_not_missing(name: str) -> None:
    assert "CL601" not in codes(swap(BARE, *SYNCED[name]))


LATE = all_rules()["CL602"].wrong


def test_no_sync_is_entered_late() -> None:
    assert codes(LATE) == {"CL602"}
    forward = "loss = criterion(model(inputs), targets) / steps\n"
    assert forward in LATE
    apart = LATE.replace("model(inputs)", "other(inputs)")
    assert codes(apart) == set()
    bare = swap(LATE, ("from torch.nn.parallel import", "from wrappers import"))
    assert "CL602" not in codes(bare)
    first = LATE.replace(forward, f"with torch.no_grad():\n        {forward}")
    assert "CL602" not in codes(first)


# ---- CL606, CL605: gradients of several processes

SUMS = all_rules()["CL606"].wrong
REDUCED: dict[str, Changes] = {
    "averaged": (
        (
            "all_reduce(parameter.grad)",
            "all_reduce(parameter.grad, op=torch.distributed.ReduceOp.AVG)",
        ),
    ),
    "averaged by position": (
        (
            "all_reduce(parameter.grad)",
            "all_reduce(parameter.grad, torch.distributed.ReduceOp.AVG)",
        ),
    ),
    "something else": (("all_reduce(parameter.grad)", "all_reduce(parameter.data)"),),
    "by another library": (("torch.distributed.all_reduce(", "comm.all_reduce("),),
    "divided": (
        (
            "all_reduce(parameter.grad)\n",
            "all_reduce(parameter.grad)\n        parameter.grad /= world\n",
        ),
    ),
    "divided by a call": (
        (
            "all_reduce(parameter.grad)\n",
            "all_reduce(parameter.grad)\n        parameter.grad.div_(world)\n",
        ),
    ),
}


@pytest.mark.parametrize("more", ["", ", op=torch.distributed.ReduceOp.SUM", ", group=group"])
def test_gradients_are_summed(more: str) -> None:
    assert codes(swap(SUMS, ("parameter.grad)", f"parameter.grad{more})"))) == {"CL606"}


@pytest.mark.parametrize("name", REDUCED)
def test_gradients_are_not_summed(name: str) -> None:
    assert "CL606" not in codes(swap(SUMS, *REDUCED[name]))
