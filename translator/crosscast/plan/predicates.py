"""Predicates on Plans: what printing and the conditions of rows ask about a training step."""

from __future__ import annotations

from typing import Literal

from crosscast.plan.operations import (
    Accumulate,
    AllReduce,
    Autocast,
    Clip,
    Ema,
    Plan,
    Scale,
    Schedule,
    Step,
    UpdateScale,
)
from crosscast.recipe.float32 import float32

SHARE_ERROR = 1e-4
"""How far off the share of a new gradient in a moment, 1 - beta, is still called rounding: a tenth
of what a replay of updates accepts. Of 0.999 in float32 it is 1.3e-5 off, of 0.9999 1.7e-4."""


def rounds_shares(plan: Plan) -> bool:
    """Whether betas that are held in float32 are off by more than a rounding."""
    betas = plan.get(Step).betas
    return any(abs((1 - float32(beta)) / (1 - beta) - 1) > SHARE_ERROR for beta in betas)


def constant_rate(plan: Plan) -> bool:
    """Whether the learning rate is one number, which scripts name instead of computing it."""
    schedule = plan.get(Schedule)
    return schedule.name == "constant" and not schedule.warmup_steps


def half_type(plan: Plan) -> Literal["", "float16", "bfloat16"]:
    """Return the half type of the computation; empty for none."""
    dtype = plan.get(Autocast).compute_dtype
    return "" if dtype == "float32" else dtype


def half_weights(plan: Plan) -> bool:
    """Whether the model computes with half weights."""
    return plan.get(Autocast).weights != "float32"


def mixed(plan: Plan) -> bool:
    """Whether operations run in half precision with float32 weights."""
    return bool(half_type(plan)) and not half_weights(plan)


def half_sums(plan: Plan) -> bool:
    """Whether gradients are accumulated in half precision."""
    return plan.get(Accumulate).dtype != "float32"


def scaled(plan: Plan) -> bool:
    """Whether the loss is scaled."""
    return plan.find(Scale) is not None


def dynamic(plan: Plan) -> bool:
    """Whether the loss scale changes."""
    update = plan.find(UpdateScale)
    return update is not None and update.mode == "dynamic"


def static(plan: Plan) -> bool:
    """Whether the loss scale is constant."""
    return scaled(plan) and not dynamic(plan)


def hysteresis(plan: Plan) -> bool:
    """Whether the scale backs off only after several overflows."""
    update = plan.find(UpdateScale)
    return update is not None and update.mode == "dynamic" and update.hysteresis > 1


def lowest_scale(plan: Plan) -> bool:
    """Whether the loss scale changes and has a lowest value."""
    return dynamic(plan) and plan.get(UpdateScale).min_scale > 0


def processes(plan: Plan) -> int:
    """Return the number of data-parallel processes."""
    reduction = plan.find(AllReduce)
    return 1 if reduction is None else reduction.processes


def parallel(plan: Plan) -> bool:
    """Whether there are several processes."""
    return processes(plan) > 1


def clips(plan: Plan) -> bool:
    """Whether gradients are clipped."""
    return plan.get(Clip).mode != "none"


def clips_each(plan: Plan) -> bool:
    """Whether each gradient is clipped by its own norm."""
    return plan.get(Clip).mode == "per_param_norm"


def clips_some(plan: Plan) -> bool:
    """Whether gradients are clipped, but not all of them."""
    return bool(plan.get(Clip).exempt)


def clips_norm(plan: Plan) -> bool:
    """Whether gradients are clipped by a norm."""
    return plan.get(Clip).mode in ("global_norm", "per_param_norm")


def is_adam(step: Step) -> bool:
    """Whether the optimizer is Adam, with coupled or decoupled decay."""
    return step.optimizer in ("adam", "adamw")


def uncorrected_adam(plan: Plan) -> bool:
    """Whether the optimizer is an Adam without bias correction."""
    step = plan.get(Step)
    return is_adam(step) and not step.bias_correction


def uncorrected(plan: Plan) -> bool:
    """Whether the moments are those of Adam, and their bias is not corrected."""
    step = plan.get(Step)
    return step.optimizer in ("adam", "adamw", "lamb") and not step.bias_correction


def raw_epsilon(plan: Plan) -> bool:
    """Whether epsilon is added before the bias correction."""
    step = plan.get(Step)
    raw = is_adam(step) and step.eps_placement == "before_correction"
    return raw and not uncorrected_adam(plan)


def rate_in_momentum(plan: Plan) -> bool:
    """Whether gradients are multiplied by the rate before they enter the momentum."""
    return plan.get(Step).rate_in_momentum


def adafactor(plan: Plan) -> bool:
    """Whether the optimizer is Adafactor."""
    return plan.get(Step).optimizer == "adafactor"


def grouped(plan: Plan) -> bool:
    """Whether there are parameter groups with their own decay or rate."""
    return bool(plan.get(Step).groups)


def averages(plan: Plan) -> bool:
    """Whether the weights are averaged."""
    return plan.find(Ema) is not None


def bfloat16(plan: Plan) -> bool:
    """Whether the half type is bfloat16."""
    return half_type(plan) == "bfloat16"


def half(plan: Plan) -> bool:
    """Whether anything is computed in half precision."""
    return bool(half_type(plan))


def decays(step: Step) -> bool:
    """Whether any weight decays."""
    return step.weight_decay > 0 or any(group.weight_decay for group in step.groups)


def decoupled_decay(plan: Plan) -> bool:
    """Whether weights shrink by a factor of their own, beside the step of the gradients."""
    step = plan.get(Step)
    return step.optimizer in ("adamw", "lion", "adafactor") and decays(step)


def coupled_decay(plan: Plan) -> bool:
    """Whether weight decay is part of the gradients."""
    step = plan.get(Step)
    return step.optimizer in ("sgd", "adam") and decays(step)
