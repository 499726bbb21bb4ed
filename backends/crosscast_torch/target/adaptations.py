"""What the rows of PyTorch add to the emitted code."""

from __future__ import annotations

from enum import StrEnum


class TorchAdaptation(StrEnum):
    """Names of adaptations: a row that is picked has its name in `Plan.adapted`."""

    AUTOCAST = "torch autocast"
    EXPLICIT_CASTS = "torch explicit casts"
    HALF_COPIES = "torch half copies of weights"
    FUSED_ATTENTION = "torch fused attention"
    COMPOSED_ATTENTION = "torch attention of products"
    MASTER_WEIGHTS = "torch master weights"
    FLOAT32_SUMS = "torch float32 sums of half gradients"
    GPU_ONLY = "torch half precision on GPUs only"
    CONSTANT_SCALE = "torch constant scale"
    SCALE_BOUNDS = "torch bounds of the scale"
    FINITE_GROWTH = "torch finite growth of the scale"
    LOSS_SCALE = "torch LossScale"
    OWN_CLIP = "torch clip with an epsilon of its own"
    EACH_NORM = "torch clip by each norm"
    OWN_OPTIMIZER = "torch optimizer of the script"
    OWN_MOMENTUM = "torch momentum with the rate inside"
    RAW_EPSILON = "torch epsilon before the correction"
    UNCORRECTED = "torch Adam without correction"
    UNFUSED_MOMENTUM = "torch momentum without fused kernels"
    UNFUSED_BETAS = "torch betas without fused kernels"
    OWN_AVERAGE = "torch average of the script"
