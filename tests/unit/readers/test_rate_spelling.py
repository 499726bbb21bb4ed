"""Formulas of learning rates that cannot be computed, as they call functions of other files."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.schedules import READER
from reading_helpers.torch_programs import STEP, facts_of

HEAD = """import math
import numpy as np
import torch
from torch.optim.lr_scheduler import LambdaLR
from tuning import *

table = torch.load(milestones_path)
def spread(values, step):
    for value in values:
        if value.matters:
            return
        return value * 0.5
    return step
"""


def told(formula: str) -> tuple[object, bool, str]:
    """Return the decay, whether there is a warm-up, and how it starts."""
    text = f"{HEAD}schedule = LambdaLR(optimizer, lambda step: {formula})\n{STEP}"
    found = {fact.field: fact for fact in facts_of(READER, text)}
    start = found.get("schedule.warmup_start_factor")
    warms = "schedule.has_warmup" in found
    return found["schedule.name"].value, warms, start.expression if start else ""


@pytest.mark.parametrize(
    ("formula", "decay"),
    [
        ("tuned(step) * 0.9 ** step", "exponential"),
        ("tuned() * math.exp(-0.1 * step)", "exponential"),
        ("tuned(step) * (0.5 * gamma) ** stage", "exponential"),
        ("tuned(step) * gamma ** int(step / 30)", "step"),
        ("tuned(step) * gamma ** math.floor(step / 30)", "step"),
        ("tuned(step) * gamma ** (step // decays[0])", "step_custom"),
        ("gamma ** bisect_right(milestones, step)", "step_custom"),
        ("rates[np.searchsorted(boundaries, step)]", "step_custom"),
        ("rates[np.digitize(step, edges)]", "custom"),
        ("tuned(step) * (1 - step / total) ** power", "polynomial"),
        ("tuned(step) * (1 - step / total) ** exponent", "polynomial"),
        ("tuned(step) * rest(step) ** 2", "polynomial"),
        ("tuned(step) * rest ** power", "polynomial"),
        ("tuned(step) * rest ** exponent", "exponential"),
        ("np.interp(step, xs, ys)", "linear"),
        ("np.take(step, xs, ys)", "custom"),
        ("linear_decay(step)", "linear"),
        ("any_decay(step)", "custom"),
        ("tuned(step) * (1 - progress)", "linear"),
        ("tuned(step) - offset", "custom"),
        ("0.9 if tuned(step) and step > 30 else 1", "step_custom"),
        ("0.9 if tuned(step) and step + 1 > 30 else 1", "step_custom"),
        ("0.9 if tuned(step) and step % 30 == 0 else 1", "custom"),
        ("0.9 if tuned(step) and args.lr > 0.1 else 1", "custom"),
        ("tuned(step) * step ** -0.5", "inverse_sqrt"),
        ("tuned(step) * torch.rsqrt(step)", "inverse_sqrt"),
        ("tuned(step) * math.sqrt(step)", "custom"),
        ("tuned(step) * table", "custom"),
        ("tuned(step) * spread(table, step)", "custom"),
    ],
)
def test_the_spelling_suggests_a_decay(formula: str, decay: str) -> None:
    assert told(formula) == (decay, False, "")


@pytest.mark.parametrize(
    ("formula", "decay", "start"),
    [
        ("tuned(step) * math.sqrt(warmup / step)", "inverse_sqrt", ""),
        ("tuned(step) * min(step ** -0.5, step / math.sqrt(warmup))", "noam", ""),
        ("tuned(step) * step ** -0.5 * warmup ** 0.5", "inverse_sqrt", ""),
        ("tuned(step) * min(1, step / rampup_steps)", "constant", ""),
        ("tuned(step) * min(1, (1 - step) / warmup)", "linear", ""),
        ("tuned(step) * min(1, (step + 1) / warmup)", "constant", "(step + 1) / warmup"),
        ("tuned(step) * min(1, float(1 + step) / warmup)", "constant", "float(1 + step) / warmup"),
        ("tuned(step) * min(1, round(1 + step) / warmup)", "constant", ""),
        ("tuned(step) * min(1, (base + 1e-8) / warmup)", "constant", ""),
        ("tuned(step) * min(1, (step - 1) / warmup)", "constant", ""),
        ("tuned(step) * min(warmup, (step + 1) / total)", "constant", ""),
        ("0.9 if tuned(step) and step > warmup else 1", "constant", ""),
    ],
)
def test_the_spelling_suggests_a_warm_up(formula: str, decay: str, start: str) -> None:
    assert told(formula) == (decay, True, start)
