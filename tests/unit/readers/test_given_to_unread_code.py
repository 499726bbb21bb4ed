"""What unread code is given: settings under usual names in calls of a program."""

from __future__ import annotations

import pytest

from reader_texts import told

CALL = """\
import torch
from theirs.optim import make_optimizer
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--warmup", type=int, default=100)
parser.add_argument("--no_warmup", type=int, default=0)
args = parser.parse_args()
model = torch.nn.Linear(2, 2)
"""


@pytest.mark.parametrize(
    ("call", "field", "reason"),
    [
        ("make_optimizer(model, args.warmup)", "schedule.name", "warmup is given to"),
        ('make_optimizer(config["warmup_steps"])', "schedule.name", "warmup_steps is given to"),
        ("theirs.build_lr_scheduler(args, o)", "schedule.name", "lr_scheduler is given to theirs"),
        ("make_optimizer(model, warmup_steps=10)", "schedule.name", "warmup_steps is given to"),
        ("make_optimizer(model, clip_norm=1.0)", "clipping.kind", "clip_norm is given to"),
        (
            "getattr(torch, kind)(gradient_accumulation_steps=4)",
            "accumulation.present",
            "gradient_accumulation_steps is given to",
        ),
        ("make_optimizer(model, use_amp=True)", "precision.enabled", "use_amp is given to"),
        ("make_optimizer(fp16=enabled)", "precision.enabled", "fp16 is given to"),
        ("make_optimizer(loss_scale)", "loss_scaling.mode", "loss_scale is given to"),
        ("make_optimizer(x, loss_scale=128)", "precision.enabled", "loss_scale is given to"),
        ("LossScalingOptimizer(o)", "loss_scaling.mode", "loss_scale is given to LossScal"),
        ("make_optimizer(recompute=True)", "activation_checkpointing", "recompute is given to"),
        ("opt, lr_fn = setup(c)", "schedule.name", "setup makes the schedule"),
        ("self.scheduler = setup(optim)", "schedule.name", "setup makes the schedule"),
        ("Accumulating(o, n_accum_grads=c.n)", "accumulation.present", "n_accum_grads is given"),
        ("grad_accum_optimizer(o)", "accumulation.present", "accumulate_gradients is given"),
        (
            "getattr(torch.optim.lr_scheduler, kind)(o)",
            "schedule.name",
            "its class is looked up in torch.optim.lr_scheduler by name",
        ),
    ],
)
def test_what_unread_code_is_given_is_there(call: str, field: str, reason: str) -> None:
    assert told(t__py=CALL + call + "\n")[field].startswith(f"? {reason}")


def test_a_warm_up_that_is_given_away_is_one() -> None:
    assert told(t__py=CALL + "make_optimizer(args.warmup)\n")["schedule.has_warmup"] == "yes"
    by_name = told(t__py=CALL + "make_optimizer(lr_scheduler='cosine')\n")
    assert "schedule.has_warmup" not in by_name


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("optimizer = make_optimizer(lr, warmup_steps)", "step"),
        ("optimizer, lr_fn = make_optimizer(lr, warmup_steps)", "step"),
        ("fall = getattr(tf.keras.optimizers.schedules, kind)(lr, 9)", "step"),
        ("calls = make_callbacks(warmup_steps=9)", None),
        ("optimizer = make_optimizer(lr, warmup_steps)\ntf.compat.v1.disable_eager()", None),
        ("import torch\ntorch.nn.Linear(2, 2)\noptimizer = make_optimizer(lr, warmup_steps)", None),
    ],
)
def test_a_schedule_within_an_optimizer_of_keras_moves_itself(text: str, unit: str) -> None:
    tensorflow = "" if "torch" in text else "tape = tf.GradientTape()\n"
    program = f"import tensorflow as tf\nfrom theirs import make_optimizer\n{tensorflow}{text}\n"
    found = told(t__py=program)
    assert found["schedule.name"].startswith("? ")
    assert found.get("schedule.stepped_per") == unit


@pytest.mark.parametrize(
    "call",
    [
        "make_optimizer(model, warmup_steps=0)",
        "make_optimizer(model, clip_norm=None)",
        "make_optimizer(model, use_amp=False)",
        "print(args.warmup)",
        "dict(clip_norm=1.0)",
        "logger.info('x', lr_scheduler=3)",
        "wandb.config.update(warmup_steps=3)",
        "torch.nn.Linear(2, 2, clip=1.0)",
        "make_optimizer(model, args.warmup_noise)",
        "make_optimizer(settings[0])",
        "torch.optim.lr_scheduler.StepLR(o, 3)",
        "scheduler.step(o)",
        "make_optimizer(loss_scale=0.5)",  # weighs one of several losses
        "make_optimizer(x, loss_scale=False)",
        "scheduler = diffusion(model)",
        "optimizer, epoch = setup(c)",
        "make_optimizer(warmup_lr=1e-6)",
        "getattr(torch.optim.lr_scheduler, 'LRScheduler')",
        "getattr(torch.nn, kind)(o)",
        "def make(warmup_steps): return warmup_steps\nmake(warmup_steps=3)",
    ],
)
def test_what_is_not_given_away(call: str) -> None:
    found = told(t__py=CALL + "import wandb\n" + call + "\n")
    assert not {"schedule.name", "clipping.kind", "precision.enabled"} & found.keys()
    assert "loss_scaling.mode" not in found


def test_a_switch_of_the_command_line_is_a_flag() -> None:
    flag = 'parser.add_argument("--fp16", action="store_true")\nargs = parser.parse_args()\n'
    found = told(t__py=CALL + flag + "make_optimizer(model, fp16=args.fp16)\n")
    assert found["precision.enabled"] == "flag"


def test_where_something_is_read_nothing_is_given_away() -> None:
    step = (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "course = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n"
        "for batch in batches:\n    model(batch).backward()\n    optimizer.step()\n"
        "    course.step()\n"
        "make_optimizer(model, warmup_steps=10)\n"
    )
    assert told(t__py=CALL + step)["schedule.name"] == "step"
