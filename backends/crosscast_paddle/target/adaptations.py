"""What the rows of Paddle add to the emitted code, of dynamic and of static graphs."""

from __future__ import annotations

from enum import StrEnum


class PaddleAdaptation(StrEnum):
    """Names of adaptations: a row that is picked has its name in `Plan.adapted`."""

    AUTO_CAST = "paddle auto_cast"
    EXPLICIT_CASTS = "paddle explicit casts"
    AMP = "paddle AMP of static graphs"
    REQUIRED_AMP = "paddle half precision on GPUs only"
    HALF_COPY = "paddle half copy of the model"
    HALF_COPIES = "paddle half copies of layers"
    FUSED_ATTENTION = "paddle fused attention"
    EXPLICIT_ATTENTION = "paddle explicit attention for fused"
    LATE_SUMS = "paddle half sums cast after the window"
    LOSS_SCALE = "paddle LossScale"
    CONSTANT_SCALE = "paddle constant scale"
    SCALE_WHEN_OFF = "paddle scale of a scaler that is off"
    MERGE = "paddle merged gradients"
    OWN_CLIP = "paddle clip of the script"
    EACH_NORM = "paddle clip by each norm"
    EXEMPT = "paddle clip of some parameters"
    OWN_OPTIMIZER = "paddle optimizer of the script"
    OWN_MOMENTUM = "paddle momentum with the rate inside"
    UNCORRECTED = "paddle optimizer without correction"
    EXACT_BETAS = "paddle betas that are not rounded"
    RAW_EPSILON = "paddle epsilon before the correction"
    GPU_RECOMPUTATION = "paddle recomputation on GPUs only"
    EVENT_FILES = "paddle event files of tensorboardX"
