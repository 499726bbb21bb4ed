"""Warm-ups that begin above 0: the lifted recipe has the rates that the program has."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from crosscast.messages.source import Source
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Schedule
from crosscast.plan.schedule import learning_rate
from crosscast_reading.lift.analysis import analyse, together
from crosscast_reading.lift.drafting import Lifted, lift

TORCH = """\
import math
import torch
from torch.optim.lr_scheduler import *
PEAK, WARMUP, TOTAL = 1e-3, 10, 100
model = torch.nn.Linear(2, 2)
opt = torch.optim.AdamW(model.parameters(), lr=PEAK)
{made}
for it, (x, y) in enumerate(rows):
    {first}
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    {last}
"""
PADDLE = """\
import paddle
model = paddle.nn.Linear(2, 2)
rate = paddle.optimizer.lr.LinearWarmup({arguments})
opt = paddle.optimizer.AdamW(learning_rate=rate, parameters=model.parameters())
for x, y in rows:
    loss = paddle.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
    rate.step()
"""
JAX = """\
import jax, optax
tx = optax.adamw({rate})
@jax.jit
def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state
"""
KERAS = """\
import keras
rate = keras.optimizers.schedules.CosineDecay({arguments})
model = keras.Sequential([keras.layers.Dense(2)])
model.compile(keras.optimizers.AdamW(learning_rate=rate), "sparse_categorical_crossentropy")
model.fit(x, y, batch_size=32)
"""


def by_class(made: str) -> str:
    return TORCH.format(made=made, first="pass", last="sched.step()")


def by_hand(body: str) -> str:
    made = f"def rate_of(it):\n    {body}"
    first = "for group in opt.param_groups:\n        group['lr'] = rate_of(it)"
    return TORCH.format(made=made, first=first, last="pass")


def from_text(text: str) -> Lifted:
    return lift(analyse(together([Source("train.py", text)])))


def rises(first: float, steps: int) -> Callable[[int], float]:
    return lambda step: first + (1e-3 - first) * min(1.0, step / steps)


def cosine(step: int, begin: int, total: int, end: float = 0.0) -> float:
    progress = min(1.0, (step - begin) / (total - begin))
    return end + (1e-3 - end) * 0.5 * (1 + math.cos(math.pi * progress))


def rises_and_falls(first: float, last: float = 0.0) -> Callable[[int], float]:
    """Return rates that rise for 10 steps and fall until step 100."""
    return lambda step: rises(first, 10)(step) if step < 10 else cosine(step, 10, 100, last)


NANO = (
    "if it < WARMUP:\n        return PEAK * (it + 1) / (WARMUP + 1)\n    "
    "if it > TOTAL:\n        return 1e-4\n    "
    "share = (it - WARMUP) / (TOTAL - WARMUP)\n    "
    "return 1e-4 + 0.5 * (1 + math.cos(math.pi * share)) * (PEAK - 1e-4)"
)
SAID: dict[str, tuple[str, Callable[[int], float], int]] = {
    "a factor that counts from 1": (
        by_class("sched = LambdaLR(opt, lambda it: min(1, (it + 1) / WARMUP))"),
        lambda step: 1e-3 * min(1.0, (step + 1) / 10),
        40,
    ),
    "a factor by a function": (
        by_class(
            "def factor(it):\n    if it < WARMUP:\n        return (it + 1) / WARMUP\n"
            "    return 1.0\n"
            "sched = LambdaLR(opt, factor)"
        ),
        lambda step: 1e-3 * min(1.0, (step + 1) / 10),
        40,
    ),
    "a loop by hand": (
        by_hand(NANO),
        lambda step: 1e-3 * (step + 1) / 11 if step < 10 else cosine(step, 10, 100, 1e-4),
        120,
    ),
    "LinearLR": (
        by_class("sched = LinearLR(opt, start_factor=0.1, total_iters=WARMUP)"),
        rises(1e-4, 10),
        40,
    ),
    "LinearLR by its defaults": (
        by_class("sched = LinearLR(opt)"),
        rises(1e-3 / 3, 5),
        40,
    ),
    "LinearLR before a fall": (
        by_class(
            "warm = LinearLR(opt, 0.1, total_iters=10)\n"
            "fall = CosineAnnealingLR(opt, 90)\n"
            "sched = SequentialLR(opt, [warm, fall], milestones=[10])"
        ),
        rises_and_falls(1e-4),
        100,
    ),
    "a sum that is 1 but for its digits": (
        by_class("sched = LambdaLR(opt, lambda it: 0.1 + 0.9 * min(1, it / WARMUP))"),
        rises(1e-4, 10),
        40,
    ),
    "LinearWarmup": (
        PADDLE.format(arguments="1e-3, warmup_steps=10, start_lr=1e-5, end_lr=1e-3"),
        rises(1e-5, 10),
        40,
    ),
    "optax with its warm-up": (
        JAX.format(rate="optax.warmup_cosine_decay_schedule(1e-5, 1e-3, 10, 100, 1e-4)"),
        rises_and_falls(1e-5, 1e-4),
        120,
    ),
    "optax of two parts": (
        JAX.format(
            rate="optax.join_schedules([optax.linear_schedule(1e-5, 1e-3, 10), "
            "optax.constant_schedule(1e-3)], [10])"
        ),
        rises(1e-5, 10),
        40,
    ),
    "a line of optax": (
        JAX.format(rate="optax.linear_schedule(1e-5, 1e-3, 10)"),
        rises(1e-5, 10),
        40,
    ),
    "Keras": (
        KERAS.format(arguments="1e-5, 90, warmup_target=1e-3, warmup_steps=10"),
        rises(1e-5, 10),
        10,
    ),
}


@pytest.mark.parametrize("form", SAID)
def test_the_rates_are_those_of_the_program(form: str) -> None:
    text, rate, count = SAID[form]
    found = from_text(text)
    assert found.recipe is not None
    plan = canonical_plan(found.recipe)
    rates = [learning_rate(plan.get(Schedule), step) for step in range(count)]
    assert rates == pytest.approx([rate(step) for step in range(count)], rel=1e-6)
    filled = found.fields["schedule.warmup_start_lr"]
    assert filled.how in ("read", "derived")
    assert filled.places
    assert not [d for d in found.diagnostics if d.code == "CC911"]


LATE = NANO.replace("(WARMUP + 1)", "WARMUP")
NOAM = "return PEAK * 10 ** 0.5 * min((it + 1) ** -0.5, (it + 1) * 10 ** -1.5)"


SETS = "for group in opt.param_groups:\n        group['lr'] = PEAK * min(1, (it + 1) / WARMUP)"


def test_a_rate_that_is_set_after_the_update_is_for_the_next_one() -> None:
    function = f"def adjust(it):\n    {SETS}"
    for before in (
        TORCH.format(made="", first=SETS, last="pass"),
        TORCH.format(made=function, first="adjust(it)", last="pass"),
    ):
        assert not [d for d in from_text(before).diagnostics if d.code == "CC911"]
    for after in (
        TORCH.format(made="", first="pass", last=SETS),
        TORCH.format(made=function, first="pass", last="adjust(it)"),
    ):
        (note,) = [d for d in from_text(after).diagnostics if d.code == "CC911"]
        assert "comes one step later" in note.message


@pytest.mark.parametrize(("body", "words"), [(LATE, "one step before"), (NOAM, "from 1")])
def test_what_no_recipe_has_is_told(body: str, words: str) -> None:
    notes = [d for d in from_text(by_hand(body)).diagnostics if d.code == "CC911"]
    assert [note.path for note in notes] == ["schedule.warmup_steps"]
    assert words in notes[0].message


WARM, HOLD = "LinearLR(opt, 0.1, total_iters=10)", "ConstantLR(opt, 1.0)"
FALL = "CosineAnnealingLR(opt, 90)"


def sequence(parts: str, milestones: str) -> str:
    return by_class(f"sched = SequentialLR(opt, [{parts}], milestones={milestones})")


@pytest.mark.parametrize(
    ("text", "words", "total"),
    [
        (sequence(f"{WARM}, {FALL}", "[5]"), "begins at another step", 95),
        (sequence(f"{WARM}, {FALL}", "[15]"), "begins at another step", 105),
        (sequence(f"{WARM}, {HOLD}, {FALL}", "[10, 30]"), "begins at another step", 120),
        (sequence(f"ConstantLR(opt, 0.1, 10), {FALL}", "[10]"), "keeps one rate", 100),
        (by_class(f"sched = ChainedScheduler([{WARM}, {FALL}])"), "are multiplied", 90),
    ],
)
def test_schedules_that_are_joined_in_another_way_are_told(
    text: str, words: str, total: int
) -> None:
    found = from_text(text)
    (note,) = [d for d in found.diagnostics if d.code == "CC911"]
    assert words in note.message
    assert found.fields["schedule.warmup_steps"].value == 10
    assert found.fields["schedule.total_steps"].value == total


def deepspeed(kind: str, **params: object) -> Lifted:
    optimizer = {"type": "AdamW", "params": {"lr": 5e-4}}
    scheduler = {"type": kind, "params": {"warmup_type": "linear", **params}}
    settings = {"train_micro_batch_size_per_gpu": 4, "optimizer": optimizer, "scheduler": scheduler}
    return lift(analyse(together([Source("ds_config.json", json.dumps(settings))])))


@pytest.mark.parametrize(
    ("kind", "params", "highest", "length"),
    [
        ("WarmupLR", {"warmup_num_steps": 10, "warmup_max_lr": 2e-3}, 2e-3, 10),
        ("WarmupLR", {"warmup_num_steps": 10}, 5e-4, 10),
        ("WarmupDecayLR", {"warmup_num_steps": 10, "total_num_steps": 100}, 1e-3, 10),
        ("WarmupCosineLR", {"warmup_num_steps": 1, "total_num_steps": 100}, 5e-4, 2),
        ("WarmupLR", {}, 5e-4, 1000),
    ],
)
def test_a_warm_up_of_deepspeed_has_its_own_highest_rate_and_length(
    kind: str, params: dict[str, object], highest: float, length: int
) -> None:
    found = deepspeed(kind, **params)
    assert found.fields["optimizer.learning_rate"].value == highest
    assert found.fields["schedule.warmup_steps"].value == length
    (note,) = [d for d in found.diagnostics if d.code == "CC911"]
    assert "comes one step later" in note.message


def join(end: float, step: int, then: str) -> str:
    warm = f"optax.linear_schedule(1e-5, {end}, 10)"
    return JAX.format(rate=f"optax.join_schedules([{warm}, {then}], [{step}])")


OTHER_END = "warmup_steps=10, start_lr=1e-5, end_lr=5e-4"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (join(1e-3, 5, "optax.cosine_decay_schedule(1e-3, 90)"), "begins at another step"),
        (join(5e-4, 10, "optax.cosine_decay_schedule(1e-3, 90)"), "ends at another rate"),
        (join(5e-4, 10, "optax.linear_schedule(1e-3, 0.0, 90)"), "ends at another rate"),
        (join(5e-4, 10, "optax.constant_schedule(1e-3)"), "ends at another rate"),
        (PADDLE.format(arguments=f"1e-3, {OTHER_END}"), "ends at another rate"),
        (
            PADDLE.format(
                arguments=f"paddle.optimizer.lr.CosineAnnealingDecay(1e-3, 90), {OTHER_END}"
            ),
            "ends at another rate",
        ),
    ],
)
def test_what_follows_a_warm_up_in_another_way_is_told(text: str, words: str) -> None:
    (note,) = [d for d in from_text(text).diagnostics if d.code == "CC911"]
    assert words in note.message


@pytest.mark.parametrize(
    "rate",
    ["optax.linear_schedule(1e-5, 1e-3, 10, 5)", "optax.polynomial_schedule(0, 1e-3, 2, 10)"],
)
def test_a_line_that_waits_and_a_curve_that_rises_are_no_warm_up(rate: str) -> None:
    found = from_text(JAX.format(rate=rate))
    assert [d.message for d in found.diagnostics if d.code == "CC911"] == [
        "the schedule is custom; a recipe cannot say that"
    ]


def test_the_length_of_a_warm_up_is_not_that_of_the_run() -> None:
    found = from_text(JAX.format(rate="optax.linear_schedule(1e-5, 1e-3, 10)"))
    assert found.fields["schedule.total_steps"].how == "assumed"


@pytest.mark.parametrize("target", ["", ", warmup_target=None", ", warmup_target=NOTHING"])
def test_keras_does_not_warm_up_without_a_target(target: str) -> None:
    text = KERAS.format(arguments=f"1e-3, 90, warmup_steps=10{target}")
    fields = from_text("NOTHING = None\n" + text).fields
    assert fields["schedule.warmup_steps"].value == 0
    assert fields["schedule.warmup_steps"].how == "read"
    assert fields["optimizer.learning_rate"].value == 1e-3


def test_a_fall_after_a_step_that_is_not_known_has_no_known_end() -> None:
    found = from_text(sequence(f"{WARM}, {FALL}", "[args.warmup]"))
    assert found.fields["schedule.total_steps"].how == "assumed"


def test_a_fall_that_another_schedule_follows_keeps_its_length() -> None:
    found = from_text(sequence(f"{FALL}, {HOLD}", "[90]"))
    assert found.fields["schedule.total_steps"].value == 90


@pytest.mark.parametrize(
    "text",
    [
        by_class("sched = LinearLR(opt, start_factor=args.first, total_iters=10)"),
        by_class("sched = LinearLR(opt, start_factor=0.5, end_factor=2.0, total_iters=10)"),
        PADDLE.format(arguments="1e-3, warmup_steps=10, start_lr=args.first, end_lr=1e-3"),
        JAX.format(rate="optax.warmup_cosine_decay_schedule(args.first, 1e-3, 10, 100)"),
        KERAS.format(arguments="args.first, 90, warmup_target=1e-3, warmup_steps=10"),
    ],
)
def test_a_first_rate_that_is_not_known_is_left_to_the_user(text: str) -> None:
    filled = from_text(text).fields
    assert filled["schedule.warmup_steps"].value == 10
    assert filled["schedule.warmup_start_lr"].how == "assumed"


def test_a_warm_up_to_another_rate_than_the_optimizer_s_is_told() -> None:
    text = by_class("sched = LinearLR(opt, start_factor=0.5, end_factor=2.0, total_iters=10)")
    assert from_text(text).fields["optimizer.learning_rate"].how == "assumed"
