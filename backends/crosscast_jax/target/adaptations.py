"""What the rows of JAX add to the emitted code."""

from __future__ import annotations

from enum import StrEnum


class JaxAdaptation(StrEnum):
    """Names of adaptations: a row that is picked has its name in `Plan.adapted`."""

    LAYER_TYPES = "jax types of layers"
    HALF_COPIES = "jax half copies of weights"
    RECOMPUTED_ATTENTION = "jax attention computed again"
    RECOMPUTATION = "jax layers computed again"
    LOSS_SCALE = "jax LossScale"
    CONSTANT_SCALE = "jax constant scale"
    OWN_CLIP = "jax clip with an epsilon of its own"
    EXACT_CORRECTIONS = "jax corrections that are not rounded"
    RAW_EPSILON = "jax epsilon before the correction"
    UNCORRECTED = "jax Adam without correction"
    OWN_ADAFACTOR = "jax Adafactor of the script"
    OWN_MOMENTUM = "jax momentum with the rate inside"
    COUPLED_DECAY = "jax decay of gradients"
    EVENT_FILES = "jax event files of tensorboardX"
