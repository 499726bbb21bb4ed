"""What a program writes for the training and nothing follows: rates of groups, floors, calls."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import codes

GROUPS = """
import paddle
def build(model, cfg):
    groups = []
    for name, factor in cfg.factors:
        groups.append({{"params": [p for n, p in model.named_parameters() if name in n], {first}}})
    groups.append({{"params": model.rest(), {second}}})
    return paddle.optimizer.AdamW(learning_rate=cfg.lr, parameters=groups)
"""


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ('"lr": cfg.lr * factor', '"lr": cfg.lr', True),
        ('"lr": cfg.lr * factor', '"weight_decay": 0.0', True),
        ('"lr": cfg.lr', '"lr": cfg.lr', False),
        ('"learning_rate": factor', '"weight_decay": 0.0', False),
        ('"learning_rate": factor, "lr": cfg.lr * factor', '"weight_decay": 0.0', False),
    ],
)
def test_rates_of_groups(first: str, second: str, found: bool) -> None:
    text = GROUPS.format(first=first, second=second)
    assert ("CL809" in codes(text)) is found
    assert "CL809" not in codes(text.replace("paddle.optimizer", "ours.optimizer"))


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("cfg.lr * 0.1", "cfg.lr", True),
        ("cfg.lr", "cfg.lr", False),
    ],
)
def test_rates_of_groups_that_are_added(first: str, second: str, found: bool) -> None:
    text = f"""
import paddle
def build(model, cfg):
    groups = []
    groups += [{{"params": model.backbone.parameters(), "lr": {first}}}]
    if cfg.masks:
        groups += [{{"params": model.head.parameters(), "lr": {second}}}]
    return paddle.optimizer.SGD(cfg.lr, groups)
"""
    assert ("CL809" in codes(text)) is found


WRITTEN = """
import paddle
optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
for x, y in loader:
    for i, group in enumerate({groups}):
        {write}
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("groups", "write", "found"),
    [
        ("optimizer._param_groups", "group['learning_rate'] = rate(i)", True),
        ("optimizer._param_groups", "group['lr'] *= 0.5", True),
        ("optimizer._param_groups", "group['lr'] = 0.1  # optimizer.set_lr(0.1)", True),
        ("range(2)", "optimizer._param_groups[i]['learning_rate'] = 0.1", True),
        ("optimizer._param_groups", "group['beta1'] = 0.8", False),
        ("optimizer._param_groups", "rates.append(group['learning_rate'])", False),
        ("optimizer._param_groups", "settings['learning_rate'] = 0.1", False),
        ("own_groups", "group['learning_rate'] = 0.1", False),
        ("optimizer._param_groups", "group['lr'] = 0.1; optimizer.set_lr(0.1)", False),
        ("optimizer._param_groups", "group['lr'] = p.optimize_attr['learning_rate'] = 1", False),
    ],
)
def test_rates_that_are_written_into_groups(groups: str, write: str, found: bool) -> None:
    assert ("CL809" in codes(WRITTEN.format(groups=groups, write=write))) is found


COSINE = """
import paddle
def build(cfg, model):
    base = cfg.lr
    plan = paddle.optimizer.lr.CosineAnnealingDecay({0})
    return paddle.optimizer.SGD(plan, parameters=model.parameters())
"""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("learning_rate=base, eta_min=cfg.lr, T_max=cfg.t", True),
        ("learning_rate=cfg.lr, eta_min=base, T_max=cfg.t", True),
        ("learning_rate=0.1, eta_min=0.1, T_max=9", True),
        ("learning_rate=base, eta_min=cfg.min_lr, T_max=cfg.t", False),
        ("learning_rate=base, eta_min=base * 0.1, T_max=cfg.t", False),
        ("learning_rate=base, T_max=cfg.t", False),
    ],
)
def test_schedules_that_stay_where_they_are(arguments: str, found: bool) -> None:
    assert ("CL511" in codes(COSINE.format(arguments))) is found


POLYNOMIAL = """
import argparse
import keras
import paddle
parser = argparse.ArgumentParser()
parser.add_argument("--low", type=float, default=5e-5)
parser.add_argument("--high", type=float, default=1e-2)
args = parser.parse_args()
plan = {0}
optimizer = paddle.optimizer.SGD(plan, parameters=model.parameters())
"""
PADDLES = "paddle.optimizer.lr.PolynomialDecay"


@pytest.mark.parametrize(
    ("made", "ending"),
    [
        (f"{PADDLES}(1e-4, decay_steps=9)", "starts at 0.0001: the learning rate never changes"),
        (f"{PADDLES}(2e-5, 9, power=1.0)", "starts at 2e-05: the learning rate rises"),
        (
            f"{PADDLES}(args.low, 9)",
            "starts at 5e-05 by default (args.low): the learning rate rises",
        ),
        (
            "keras.optimizers.schedules.PolynomialDecay(5e-5, 9)",
            "starts at 5e-05: the learning rate rises",
        ),
        (f"{PADDLES}(2e-5, 9, 0.0)", ""),
        (f"{PADDLES}(2e-5, 9, end_lr=1e-6)", ""),
        (f"{PADDLES}(args.high, 9)", ""),
        (f"{PADDLES}(unknown, 9)", ""),
        (f"{PADDLES}(2e-5, 9, **more)", ""),
        (f"{PADDLES}(2e-5, *more)", ""),
        ("paddle.optimizer.lr.LinearWarmup(2e-5, 9)", ""),
        ("ours.PolynomialDecay(2e-5, 9)", ""),
        ("torch.optim.lr_scheduler.PolynomialLR(2e-5, 9)", ""),
    ],
)
def test_decays_that_end_above_their_start_if_nothing_is_given(made: str, ending: str) -> None:
    found = lint_sources([Source("train.py", POLYNOMIAL.format(made))])
    messages = [each.message for each in found if each.code == "CL511"]
    assert bool(messages) is bool(ending)
    assert all(message.endswith(ending) for message in messages)


CALL = """
import paddle
def prepare(model, optimizer):
    {0}
    for x, y in loader:
        loss = paddle.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("model.__call__ = paddle.amp.auto_cast(enable=True)(model.__call__)", True),
        ("model.forward = paddle.amp.auto_cast(enable=True)(model.forward)", False),
        ("Net.__call__ = paddle.amp.auto_cast(enable=True)(Net.__call__)", False),
        ("kind = type(model)\n    kind.__call__ = paddle.amp.auto_cast()(kind.__call__)", False),
        ("model.__call__ = counted(model.__call__)", False),
    ],
)
def test_autocast_of_an_instance(line: str, found: bool) -> None:
    assert ("CL405" in codes(CALL.format(line))) is found
