"""Predicates on Plans: what printing and the conditions of rows ask about a training step."""

from __future__ import annotations

from typing import Literal

from crosscast.plan.operations import (
    Accumulate,
    AllReduce,
    Autocast,
    Clip,
    Plan,
    Scale,
    Schedule,
    Step,
    UpdateScale,
)


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


def processes(plan: Plan) -> int:
    """Return the number of data-parallel processes."""
    reduction = plan.find(AllReduce)
    return 1 if reduction is None else reduction.processes


def clips_norm(plan: Plan) -> bool:
    """Whether gradients are clipped by a norm."""
    return plan.get(Clip).mode in ("global_norm", "per_param_norm")


def moving_rate(plan: Plan) -> bool:
    """Whether the learning rate changes."""
    schedule = plan.get(Schedule)
    return schedule.name != "constant" or schedule.warmup_steps > 0


def is_adam(step: Step) -> bool:
    """Whether the optimizer is Adam, with coupled or decoupled decay."""
    return step.optimizer in ("adam", "adamw")


def uncorrected_adam(plan: Plan) -> bool:
    """Whether the optimizer is an Adam without bias correction."""
    step = plan.get(Step)
    return is_adam(step) and not step.bias_correction


def raw_epsilon(plan: Plan) -> bool:
    """Whether epsilon is added before the bias correction."""
    step = plan.get(Step)
    raw = is_adam(step) and step.eps_placement == "before_correction"
    return raw and not uncorrected_adam(plan)


def decays(step: Step) -> bool:
    """Whether any weight decays."""
    return step.weight_decay > 0 or any(group.weight_decay for group in step.groups)


def coupled_decay(step: Step) -> bool:
    """Whether weight decay is part of the gradients."""
    return step.optimizer in ("sgd", "adam") and decays(step)
