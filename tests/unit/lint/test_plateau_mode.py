"""Schedules that wait for a plateau of a metric (CL515)."""

from __future__ import annotations

import pytest

from .lint_results import codes

LOOP = """
import losses
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR

class Trainer:
    def __init__(self, model, args):
        self.optimizer = torch.optim.Adam(model.parameters())
        self.schedule = {made}
        self.judge = losses.DiceLoss()

    def fit(self, epochs, best=0):
        for epoch in range(epochs):
            self.loss().backward()
            self.optimizer.step()
            {metric}
            self.schedule.step({given})
            {then}
"""
PLAIN = "ReduceLROnPlateau(self.optimizer)"
MOST = "ReduceLROnPlateau(self.optimizer, 'max', 0.5)"


def looks(made: str, metric: str, given: str, then: str = "pass") -> bool:
    """Return whether the rule finds something in a program."""
    return "CL515" in codes(LOOP.format(made=made, metric=metric, given=given, then=then))


@pytest.mark.parametrize(
    ("made", "given", "found"),
    [
        (PLAIN, "val_acc", True),
        (PLAIN, "scores['val_f1']", True),
        (PLAIN, "self.dice.item()", True),
        (PLAIN, "sum(ious) / 4", False),
        (PLAIN, "metrics=np.mean(iou)", True),
        (PLAIN, "val_loss", False),
        (PLAIN, "dice_loss", False),
        (PLAIN, "1 - val_acc", False),
        (PLAIN, "-val_acc", False),
        (PLAIN, "neg_acc", False),
        (PLAIN, "metric", False),
        (MOST, "val_loss", True),
        (MOST, "-val_loss", False),
        (MOST, "val_acc", False),
        ("ReduceLROnPlateau(self.optimizer, mode='max' if args.up else 'min')", "val_acc", False),
        ("ReduceLROnPlateau(self.optimizer, mode=args.mode)", "val_acc", False),
        ("ReduceLROnPlateau(self.optimizer, **args.plateau)", "val_acc", False),
        ("ReduceLROnPlateau(self.optimizer, mode=['min'])", "val_acc", False),
        ("ReduceLROnPlateau(self.optimizer, *['min'])", "val_acc", True),
        ("StepLR(self.optimizer, 3)", "val_acc", False),
    ],
)
def test_by_name(made: str, given: str, found: bool) -> None:
    assert looks(made, "pass", given) is found


def test_one_of_several_schedules() -> None:
    made = "ReduceLROnPlateau(self.optimizer) if args.wait else StepLR(self.optimizer, 3)"
    assert looks(made, "pass", "val_acc")


@pytest.mark.parametrize(
    ("metric", "given", "then", "found"),
    [
        ("metric = measure()", "metric", "if metric > best: best = metric", True),
        ("metric = measure()", "metric", "if best <= metric: best = metric", True),
        ("metric = measure()", "metric", "if metric < best: best = metric", False),
        ("metric = measure()", "metric", "if metric > best: worse += 1", False),
        ("metric = measure()", "metric", "if metric < 1: pass\n            else: best = 1", False),
        ("val_acc = measure()", "val_acc", "if val_acc < best: best = val_acc", False),
        ("val_acc = -measure()", "val_acc", "pass", False),
        ("val_acc = 1 - measure()", "val_acc", "pass", False),
        ("dice = DiceLoss()(x, y)", "dice", "pass", False),
        ("dice = losses.DiceLoss()(x, y).item()", "dice", "pass", False),
        ("dice = self.judge(x, y)", "dice", "pass", False),
        ("dice = float(dice_loss(x, y)) / 3", "dice", "pass", False),
        ("parts = []; parts.append(dice_loss(x)); dice = np.mean(parts)", "dice", "pass", False),
        ("dice = DiceScore()(x, y)", "dice", "pass", True),
        ("dice = measure(self.loss)", "dice", "pass", True),
    ],
)
def test_by_what_is_kept_as_the_best(metric: str, given: str, then: str, found: bool) -> None:
    assert looks(PLAIN, metric, given, then) is found


@pytest.mark.parametrize(
    ("monitor", "mode", "found"),
    [
        ("val_accuracy", "min", True),
        ("val_loss", "max", True),
        ("val_loss", "min", False),
        ("val_dice_loss", "min", False),
        ("val_accuracy", "auto", False),
    ],
)
def test_callbacks_of_keras(monitor: str, mode: str, found: bool) -> None:
    made = f"keras.callbacks.ReduceLROnPlateau(monitor={monitor!r}, mode={mode!r})"
    assert ("CL515" in codes(f"import keras\nmodel.fit(x, callbacks=[{made}])\n")) is found


@pytest.mark.parametrize(("monitor", "found"), [("val/acc", True), ("val/loss", False)])
def test_modules_of_lightning(monitor: str, found: bool) -> None:
    text = f"""
import torch

def configure_optimizers(self):
    optimizer = torch.optim.Adam(self.parameters())
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    watched = {{"scheduler": schedule, "monitor": "{monitor}"}}
    return {{"optimizer": optimizer, "lr_scheduler": watched}}
"""
    assert ("CL515" in codes(text)) is found
