"""What the rows of TensorFlow add to the emitted code."""

from __future__ import annotations

from enum import StrEnum


class TensorflowAdaptation(StrEnum):
    """Names of adaptations: a row that is picked has its name in `Plan.adapted`."""

    MIXED_POLICY = "tensorflow mixed policy"
    GRAPH_REWRITE = "tensorflow graph rewrite"
    OWN_TYPES = "tensorflow casts of the model"
    STORED_TYPES = "tensorflow types that are stored"
    EXPLICIT_ATTENTION = "tensorflow attention that keeps its weights"
    MASTER_WEIGHTS = "tensorflow master weights"
    LOSS_SCALE = "tensorflow LossScale"
    CONSTANT_SCALE = "tensorflow constant scale with a check"
    OWN_SUMS = "tensorflow sums of the script"
    OWN_CLIP = "tensorflow clip of the script"
    CLIPS_BY_NAME = "tensorflow clip by names of weights"
    OWN_AVERAGE = "tensorflow average of the script"
    RECOMPUTATION = "tensorflow recomputation"
    STOCK_OPTIMIZER = "tensorflow optimizer of Keras"
    EPSILON_AFTER = "tensorflow epsilon after the correction"
    EPSILON_FLOOR = "tensorflow epsilon as a floor"
    EXACT_BETAS = "tensorflow betas that are not rounded"
    WIDE_CORRECTIONS = "tensorflow corrections in float64"
    UNCORRECTED = "tensorflow Adam without correction"
    UNCORRECTED_LAMB = "tensorflow Lamb without correction"
    MOMENTUM_OUTSIDE = "tensorflow momentum without rates"
    COUPLED_DECAY = "tensorflow coupled decay"
    ADAPTED_DECAY = "tensorflow decay inside the adapted step"
    SPARES_BY_NAME = "tensorflow decay by names of weights"
    GROUPS = "tensorflow settings of every weight"
    OWN_REDUCTION = "tensorflow mean before the check"
    WORKERS_OF_NODES = "tensorflow addresses of all nodes"
