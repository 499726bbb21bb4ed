"""Schedules of Paddle programs."""

from __future__ import annotations

import pytest

from program_facts import facts, values_of


def test_a_schedule_beside_an_executor() -> None:
    text = """
        import paddle
        paddle.enable_static()
        rate = paddle.optimizer.lr.PolynomialDecay(0.1, 100, 0)
        optimizer = paddle.optimizer.SGD(rate)
        optimizer.minimize(loss)
        for batch in loader:
            exe.run(main, feed=batch, fetch_list=[loss])
            rate.step()
    """
    assert values_of(text)["schedule.stepped_per"] == "step"


def test_a_schedule_from_elsewhere() -> None:
    text = """
        import paddle

        def train(model, lr_scheduler):
            loss = model()
            loss.backward()
            lr_scheduler.step()
    """
    assert values_of(text)["schedule.name"] == "elsewhere"


BY_HAND = """
    import argparse, math
    import paddle

    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=4e-4)
    args = parser.parse_args()

    def rate_at(step, total, peak):
        return peak / 10 + 0.45 * peak * (1 + math.cos(math.pi * step / total))

    optimizer = paddle.optimizer.AdamW(args.rate, parameters=model.parameters())
    length = len(loader)
    for epoch in range(3):
        for step, batch in enumerate(loader):
            rate = rate_at(epoch * length + step, 3 * length, args.rate)
            optimizer.set_lr(rate)
            model(batch).backward()
            optimizer.step()
            optimizer.clear_grad()
"""


def test_a_rate_that_a_formula_sets() -> None:
    found = values_of(BY_HAND)
    assert found["schedule.name"] == "cosine"
    assert found["schedule.end_factor"] == pytest.approx(0.1)
    assert found["schedule.peak"] == pytest.approx(4e-4)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("return peak / 10", "return table[step] + peak / 10", "custom"),
        ("rate_at(epoch * length + step, 3 * length, args.rate)", "args.rate", None),
        ("rate_at(epoch * length + step, 3 * length, args.rate)", "rate_at(0, 1, 0.1)", None),
        ("optimizer.set_lr(rate)", "monitor.set_lr(rate)", None),
    ],
)
def test_other_rates_that_are_set(old: str, new: str, name: str | None) -> None:
    assert values_of(BY_HAND.replace(old, new)).get("schedule.name") == name


SET = """
import paddle

optimizer = paddle.optimizer.AdamW(0.1, parameters=model.parameters())
rate = 0.1
for epoch in range(3):
    for step, batch in enumerate(loader):
        model(batch).backward()
        {inside}
        optimizer.step()
        optimizer.clear_grad()
    {behind}
"""


@pytest.mark.parametrize(
    ("inside", "behind", "told"),
    [
        ("pass", "if worse: rate *= 0.3; optimizer.set_lr(rate)", "?rate"),
        ("optimizer.set_lr(rate)", "rate = rate / 2", "?rate"),
        ("optimizer.set_lr(rates[step])", "pass", "?rates[step]"),
        ("optimizer.set_lr(rates[0])", "pass", None),
        ("optimizer.set_lr(rate)", "print(rate)", None),
        ("pass", "rate *= 0.3", None),
        ("monitor.set_lr(rates[step])", "pass", None),
        ("for group in optimizer._param_groups: group['lr'] = rates[step]", "pass", "?rates[step]"),
        ("for p in weights: p.optimize_attr['learning_rate'] = at(step)", "pass", "?at(step)"),
        ("for group in groups: group['lr'] = 0.1", "pass", None),
        ("record['lr'] = rates[step]", "pass", None),
    ],
)
def test_rates_that_a_loop_changes(inside: str, behind: str, told: str | None) -> None:
    found = values_of(SET.format(inside=inside, behind=behind))
    assert found.get("schedule.name") == told


CONVERTED = """
import paddle

def main(model, loader, args):
    optimizer = paddle.optimizer.SGD(args.rate, parameters=model.parameters())
    {made}
    for epoch in range(90):
        for x, y in loader:
            model(x, y).backward()
            optimizer.step()
            optimizer.clear_grad()
        schedule.step()
"""


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (
            "later = paddle.optimizer.lr.MultiStepDecay(optimizer.get_lr(), [30, 60])\n"
            "    optimizer.set_lr_scheduler(later)\n    schedule = later",
            "multistep",
        ),
        ("schedule = paddle.optimizer.lr.CosineAnnealingDecay(args.rate, 90)", "cosine"),
        ("schedule = ours.Decay(args.rate, 90)", "elsewhere"),
        ("schedule = args.schedule", "elsewhere"),
    ],
)
def test_a_schedule_that_is_made_after_the_optimizer(made: str, name: str) -> None:
    assert values_of(CONVERTED.format(made=made))["schedule.name"] == name


def test_a_number_that_is_stepped_is_no_schedule() -> None:
    text = CONVERTED.format(made="schedule = 0.001")
    assert "schedule.name" not in values_of(text)


FLUID = """
import paddle.fluid as fluid
from paddle.fluid.optimizer import Adam

with fluid.dygraph.guard():
    rate = fluid.{schedule}
    optimizer = {optimizer}
    for x, y in loader():
        loss = model(x, y)
        loss.backward()
        optimizer.minimize(loss)
        model.clear_gradients()
"""
GIVEN = "Adam(rate, parameter_list=model.parameters())"


@pytest.mark.parametrize(
    ("schedule", "optimizer", "per"),
    [
        ("layers.exponential_decay(0.1, 1000, 0.99)", GIVEN, "step"),
        ("dygraph.NoamDecay(512, 4000)", GIVEN, "step"),
        ("dygraph.StepDecay(0.1, 30)", GIVEN, None),
        ("layers.exponential_decay(0.1, 1000, 0.99)", GIVEN.replace("rate", "0.1"), None),
    ],
)
def test_schedules_of_fluid_that_advance_by_themselves(
    schedule: str, optimizer: str, per: str | None
) -> None:
    found = values_of(FLUID.format(schedule=schedule, optimizer=optimizer))
    assert found.get("schedule.stepped_per") == per


OWN = """
import paddle

def factor(step):
    if step < warmup_steps:
        return step / warmup_steps
    return {factor}

rate = paddle.optimizer.lr.LambdaDecay(0.1, factor)
optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
"""


def test_a_power_of_a_number_is_no_polynomial() -> None:
    falling = values_of(OWN.format(factor="math.pow(1 - step / total, args.end)"))
    assert falling["schedule.name"] == "polynomial"
    steps = values_of(OWN.format(factor="math.pow(0.1, sum(edge <= step for edge in edges))"))
    assert steps.get("schedule.name") != "polynomial"


def test_clips_under_their_later_names_in_fluid() -> None:
    text = OWN.format(factor="1.0").replace(
        "parameters=", "grad_clip=paddle.fluid.clip.ClipGradByValue(2.5), parameters="
    )
    found = values_of(text)
    assert (found["clipping.kind"], found["clipping.value"]) == ("value", 2.5)


OF_OPTIMIZER = """
    import paddle

    rate = paddle.optimizer.lr.{rate}
    optimizer = paddle.optimizer.SGD(rate, parameters=model.parameters())
    for batch in loader:
        model(batch).backward()
        optimizer.step()
        rate.step()
"""


@pytest.mark.parametrize(
    ("rate", "first"),
    [
        ("PiecewiseDecay(boundaries=[10, 20], values=[0.1, 0.01, 0.001])", 0.1),
        ("PiecewiseDecay([10, 20], [0.1, 0.01, 0.001])", 0.1),
        ("NoamDecay(d_model=64, warmup_steps=40)", None),
        ("PiecewiseDecay([10], values)", None),
    ],
)
def test_the_rate_of_a_schedule_is_never_the_default(rate: str, first: float | None) -> None:
    found = facts(OF_OPTIMIZER.format(rate=rate))
    rates = [fact for fact in found if fact.field == "optimizer.learning_rate"]
    assert [fact.value if fact.known else None for fact in rates] == [first]
