"""What float32 means to a framework: readings of one Plan that differ by roundings of constants.

The kernels of Adam in Paddle, that of PyTorch's fused Adam on a GPU, and the optimizers of Keras
hold the betas in float32: with 0.999 the share of a new gradient in the moments, 1 - 0.999, is
1.3e-5 off. Paddle multiplies the powers of the bias corrections up in float32, too. Both are the
framework's own precision, not another meaning, and code that an emitted script brings along has
neither; so a step may follow either reading, but the same one in all windows. PyTorch on a CPU has
one reading, and so has every framework where rounded betas are more than a rounding
(`predicates.rounds_shares`): there the scripts bring code along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from crosscast.plan.operations import Op, Plan, Step
from crosscast.plan.predicates import rounds_shares
from crosscast.targets.backend import harness_of


class Told(Protocol):
    """What a run tells of the device that it ran on."""

    @property
    def float32_betas(self) -> bool:
        """Whether optimizers hold the betas in float32 there."""


@dataclass(frozen=True)
class Reading:
    """One reading of a plan."""

    plan: Plan
    rounded_powers: bool = False


def readings(plan: Plan, framework: str, seen: Told) -> list[Reading]:
    """Return the readings that a framework allows where a run was seen."""
    allowed = [Reading(plan)]
    harness = harness_of(framework)
    rounds = harness is not None and (harness.float32_betas or seen.float32_betas)
    if harness is not None and rounds and not rounds_shares(plan):
        rounded = replace(plan, window=tuple(map(_round_betas, plan.window)))
        allowed.append(Reading(rounded, rounded_powers=harness.float32_powers))
    return allowed


def _round_betas(op: Op) -> Op:
    if not isinstance(op, Step):
        return op
    first, second = (float(np.float32(beta)) for beta in op.betas)
    return replace(op, betas=(first, second))
