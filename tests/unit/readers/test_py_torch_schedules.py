"""Schedules of the learning rate in PyTorch programs."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.schedules import READER
from reading_helpers.torch_programs import STEP, facts_of, lines, read_by

HEAD = "import math\nimport torch\nfrom torch.optim.lr_scheduler import *\n"


def decay(text: str) -> object:
    return read_by(READER, text).get("schedule.name")


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("torch.optim.lr_scheduler.StepLR(optimizer, 30)", "step"),
        ("torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 60])", "multistep"),
        ("torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", "exponential"),
        ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)", "cosine"),
        ("torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 100)", "cosine"),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)", "plateau"),
        ("torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10)", "onecycle"),
        ("torch.optim.lr_scheduler.PolynomialLR(optimizer, 10)", "polynomial"),
        ("torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 10)", "linear"),
        ("transformers.get_cosine_schedule_with_warmup(optimizer, 10, 100)", "cosine"),
        ("transformers.get_linear_schedule_with_warmup(optimizer, 10, 100)", "linear"),
        ("transformers.get_constant_schedule_with_warmup(optimizer, 10)", "constant"),
        ("transformers.get_scheduler('polynomial', optimizer, 10, 100)", "polynomial"),
        ("transformers.optimization.get_scheduler('inverse_sqrt', optimizer)", "inverse_sqrt"),
        ("helpers.WarmupLinearSchedule(optimizer, warmup_steps=5, t_total=50)", "linear"),
        ("helpers.PolyWarmUpScheduler(optimizer, warmup=0.1, total_steps=50)", "polynomial"),
        ("timm.scheduler.create_scheduler_v2(optimizer)", "selectable"),
    ],
)
def test_by_name(call: str, word: str) -> None:
    package = call.partition(".")[0]
    assert decay(f"import {package}\nscheduler = {call}\n" + STEP) == word


def test_warm_up_and_length() -> None:
    text = "from transformers import get_linear_schedule_with_warmup as warm\n"
    text += "scheduler = warm(optimizer, num_warmup_steps=100, num_training_steps=1000)\n"
    found = read_by(READER, text + STEP)
    assert found["schedule.has_warmup"] == "yes"
    assert found["schedule.warmup"] == 100
    assert found["schedule.total_steps"] == 1000
    found = read_by(READER, text.replace("=100,", "=0,") + STEP)
    assert "schedule.has_warmup" not in found


@pytest.mark.parametrize(
    ("function", "word", "warms"),
    [
        ("lambda epoch: 0.95 ** epoch", "exponential", False),
        ("lambda epoch: 0.1 ** (epoch // 30)", "step", False),
        ("lambda step: 1 - step / 1000", "linear", False),
        ("lambda step: 0.5 * (1 + math.cos(math.pi * step / 1000))", "cosine", False),
        ("lambda step: (1 - step / 1000) ** 0.9", "polynomial", False),
        ("lambda step: min((step + 1) ** -0.5, (step + 1) * warmup ** -1.5)", "noam", True),
        ("lambda step: min(pow(step + 1, -0.5), (step + 1) * pow(warmup, -1.5))", "noam", True),
        ("lambda step: 1.0", "constant", False),
        ("lambda step: min(1.0, step / warmup_steps)", "constant", True),
    ],
)
def test_own_functions(function: str, word: str, warms: bool) -> None:
    found = read_by(READER, HEAD + f"schedule = LambdaLR(optimizer, lr_lambda={function})\n" + STEP)
    assert found["schedule.name"] == word
    assert found.get("schedule.has_warmup") == ("yes" if warms else None)


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        ("lambda step: min(1.0, (step + 1) / warmup_steps)", "(step + 1) / warmup_steps"),
        ("lambda s: float(1 + s_step) / WARMUP", "float(1 + s_step) / WARMUP"),
        ("lambda step: min(1.0, step / warmup_steps)", None),
        ("lambda step: min(1.0, (step + 0) / warmup_steps)", None),
        ("lambda step: (step + 1) / total_steps", None),
        ("lambda step: min(1.0, (step - 1) / warmup_steps)", None),
    ],
)
def test_a_warm_up_that_begins_above_nothing(function: str, formula: str | None) -> None:
    text = HEAD + f"schedule = LambdaLR(optimizer, lr_lambda={function})\n" + STEP
    found = {fact.field: fact for fact in facts_of(READER, text)}
    start = found.get("schedule.warmup_start_factor")
    assert (start.expression if start else None) == formula


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("start_factor=0.01, total_iters=9", (0.01, 9)),
        ("", (1 / 3, 5)),
        ("start_factor=0, total_iters=9", (None, 9)),
        ("start_factor=args.first, total_iters=9", ("?", 9)),
        ("1.0, 0.0, 10", (None, None)),
    ],
)
def test_a_warm_up_of_the_library_that_begins_above_nothing(
    arguments: str, told: tuple[float | None, int | None]
) -> None:
    text = HEAD + f"schedule = LinearLR(optimizer, {arguments})\n" + STEP
    found = read_by(READER, text)
    first, length = "schedule.warmup_start_factor", "schedule.warmup"
    assert (found.get(first), found.get(length)) == told
    unknown = {fact.field for fact in facts_of(READER, text) if not fact.known}
    assert (first in unknown) == ("args" in arguments)


def test_a_function_of_the_program() -> None:
    text = HEAD + (
        "def rate(step, warmup_steps, total):\n"
        "    if step < warmup_steps:\n        return step / max(1, warmup_steps)\n"
        "    return max(0.0, (total - step) / (total - warmup_steps))\n"
        "from functools import partial\n"
        "schedule = LambdaLR(optimizer, partial(rate, warmup_steps=10, total=100))\n"
    )
    found = read_by(READER, text + STEP)
    assert found["schedule.name"] == "linear"
    assert found["schedule.has_warmup"] == "yes"


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("rate = 0.1 * 0.1 ** (epoch // 30)", "step"),
        ("rate = 0.5 * (1 + math.cos(math.pi * epoch / 90))", "cosine"),
        ("rate = base * (1 - epoch / 90) ** 0.9", "polynomial"),
        ("rate = base * (90 - epoch) / 90", "linear"),
        ("rate = base * 0.97 ** epoch", "exponential"),
        (
            "rate = base\n    for m in milestones:\n        rate *= 0.1 if epoch >= m else 1",
            "step_custom",
        ),
    ],
)
def test_rates_written_by_hand(body: str, word: str) -> None:
    text = (
        f"import math\ndef adjust_learning_rate(optimizer, epoch, base, milestones):\n    {body}\n"
        "    for group in optimizer.param_groups:\n        group['lr'] = rate\n"
        "for epoch in range(90):\n    adjust_learning_rate(optimizer, epoch, 0.1, [30])\n"
    )
    assert decay(text + "    " + STEP.replace("\n", "\n    ")) == word
    assert {2, 7 + body.count("\n")} <= set(lines(facts_of(READER, text + STEP), "schedule.name"))


def test_a_warm_up_before_a_fall() -> None:
    text = HEAD + (
        "warm = LinearLR(optimizer, start_factor=0.01, total_iters=5)\n"
        "fall = CosineAnnealingLR(optimizer, 95)\n"
        "scheduler = SequentialLR(optimizer, [warm, fall], milestones=[5])\n"
    )
    found = read_by(READER, text + STEP)
    assert found["schedule.name"] == "cosine"
    assert found["schedule.has_warmup"] == "yes"


def test_a_flag_chooses() -> None:
    text = HEAD + (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--sched', default='step')\nargs = parser.parse_args()\n"
        "if args.sched == 'step':\n    scheduler = StepLR(optimizer, 30)\n"
        "elif args.sched == 'cosine':\n    scheduler = CosineAnnealingLR(optimizer, 90)\n"
    )
    assert decay(text + STEP) == "step"
    assert decay(text.replace("default='step'", "required=True") + STEP) == "selectable"


def test_the_other_branch_runs_by_default() -> None:
    text = HEAD + (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--sched', default='cosine')\nargs = parser.parse_args()\n"
        "if args.sched == 'step':\n    scheduler = StepLR(optimizer, 30)\n"
        "else:\n    scheduler = CosineAnnealingLR(optimizer, 90)\n"
    )
    assert decay(text + STEP) == "cosine"
    assert decay(text.replace("default='cosine'", "default='step'") + STEP) == "step"


def test_after_a_check_that_ends_the_program() -> None:
    text = HEAD + (
        "if not torch.cuda.is_available():\n    raise SystemExit\n"
        "scheduler = StepLR(optimizer, 30)\n"
        "if missing:\n    scheduler = CosineAnnealingLR(optimizer, 90)\n"
    )
    assert decay(text + STEP) == "step"


def test_a_flag_that_must_be_given() -> None:
    text = HEAD + (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--out', default=None)\n"
        "parser.add_argument('--fast', action='store_true')\nargs = parser.parse_args()\n"
        "if not args.out:\n    raise ValueError('no --out')\n"
        "scheduler = StepLR(optimizer, 30)\n"
        "if args.fast:\n    scheduler = CosineAnnealingLR(optimizer, 90)\n"
    )
    assert decay(text + STEP) == "step"


def test_a_warm_up_that_is_called_linear_does_not_fall() -> None:
    text = HEAD + (
        "import pytorch_warmup\nwarm = pytorch_warmup.LinearWarmup(optimizer, 10)\n"
        "scheduler = CosineAnnealingLR(optimizer, 90)\n"
    )
    found = read_by(READER, text + STEP)
    assert (found["schedule.name"], found["schedule.has_warmup"]) == ("cosine", "yes")


@pytest.mark.parametrize(("word", "decay_word"), [("poly", "polynomial"), ("exp", "exponential")])
def test_a_policy_of_another_file_that_a_flag_names(word: str, decay_word: str) -> None:
    text = (
        "import argparse\nfrom utils import adjust_learning_rate\n"
        "parser = argparse.ArgumentParser()\n"
        f"parser.add_argument('--lr_policy', default={word!r})\nargs = parser.parse_args()\n"
        "adjust_learning_rate(args, optimizer, warmup_steps=3)\n"
    )
    found = read_by(READER, text + STEP)
    assert (found["schedule.name"], found["schedule.has_warmup"]) == (decay_word, "yes")


def test_the_schedule_of_bert_own_adam() -> None:
    text = (
        "from optimization import BertAdam\n"
        "optimizer = BertAdam(p, lr=1e-4, schedule='warmup_linear', warmup=0.1, t_total=100)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["schedule.name"] == "linear"
    assert found["schedule.has_warmup"] == "yes"


def test_made_elsewhere_or_by_the_caller() -> None:
    text = "from schedules import build_scheduler\nscheduler = build_scheduler(config, optimizer)\n"
    assert decay(text + STEP) == "elsewhere"
    text = "def fit(optimizer, scheduler_fn):\n    scheduler = scheduler_fn(optimizer)\n"
    assert decay(text + "    loss.backward()\n") == "caller"


@pytest.mark.parametrize(
    "text",
    [
        "for group in optimizer.param_groups:\n    group['lr'] = 0.1\n",
        "def restore(optimizer, lr):\n    for g in optimizer.param_groups:\n        g['lr'] = lr\n",
        "from diffusers import DDPMScheduler\nnoise_scheduler = DDPMScheduler(1000)\n",
        "from torch.optim.lr_scheduler import StepLR\n",
        "rates = {'lr': 0.1}\nrates['lr'] = 0.2\n",
        "import torch\nprof = torch.profiler.schedule(wait=1, warmup=1, active=3)\n",
    ],
)
def test_what_is_no_schedule(text: str) -> None:
    assert decay(text + STEP) is None


def test_functions_of_other_files() -> None:
    text = "from utils import cosine_lr_schedule\nfor epoch in range(9):\n"
    assert decay(text + "    cosine_lr_schedule(optimizer, epoch, 9)\n" + STEP) == "cosine"
    text = "from utils import adjust_learning_rate\n"
    assert decay(text + "adjust_learning_rate(optimizer, epoch)\n" + STEP) == "elsewhere"
    text = "from schedules import SlantedSchedule\nschedule = SlantedSchedule(optimizer)\n"
    assert decay(text + STEP) == "elsewhere"


def test_an_engine_moves_it() -> None:
    text = (
        "from ignite.contrib.handlers import PiecewiseLinear\n"
        "scheduler = PiecewiseLinear(optimizer, 'lr', [(0, 1.0), (100, 0.0)])\n"
        "trainer.add_event_handler(Events.ITERATION_STARTED, scheduler)\n"
    )
    found = read_by(READER, text + STEP)
    assert (found["schedule.name"], found["schedule.stepped_per"]) == ("linear", "micro")


def test_a_rate_that_stays() -> None:
    text = (
        "rate = 0.1\nmodel, _, before, epoch = load(path)\nif resume:\n    rate = before\n"
        "for x in loader:\n    for group in optimizer.param_groups:\n        group['lr'] = rate\n"
    )
    assert decay(text + STEP) is None


FLAGGED = """
def main(kind):
    thawed = False
    for epoch in range(3):
        if epoch >= 1 and not thawed and frozen:
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
            thawed = True
        loss.backward()
        optimizer.step()
"""


def test_a_flag_that_is_set_under_its_own_test_ends() -> None:
    assert decay(HEAD + FLAGGED) == "step"
