"""Names of the parts of checkpoints in PyTorch training scripts, and of their contents.

From the tutorials of PyTorch, apex, timm, Lightning and the scripts of the corpus that this project
was developed with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.targets.parameter_words import optimizer_words

MODEL = ("model", "model_state_dict", "state_dict", "model_state", "net", "network", "module")
OPTIMIZER = ("optimizer", "optimizer_state_dict", "optimizer_states", "optim", "optimizer_state")
SCALER = (
    "scaler",
    "scaler_state_dict",
    "grad_scaler",
    "amp_scaler",
    "amp",
    "amp_state_dict",
    "MixedPrecision",
    "native_amp_scaling_state",
)
SCHEDULER = (
    "scheduler",
    "scheduler_state_dict",
    "lr_scheduler",
    "lr_scheduler_state_dict",
    "lr_schedulers",
    "sched",
)
AVERAGE = ("ema", "ema_state_dict", "model_ema", "state_dict_ema", "ema_model")
PARTS: Mapping[str, tuple[str, ...]] = {
    "weights": MODEL,
    "optimizer": OPTIMIZER,
    "loss scale": SCALER,
    "schedule": SCHEDULER,
    "averages": AVERAGE,
}
WITHIN_WINDOW = (
    "micro_step",
    "micro_steps",
    "accumulation_step",
    "accum_step",
    "accumulated_steps",
    "gradients",
    "grads",
    "grad_accumulator",
)
"""Entries of a script that saves between two micro-batches of one window."""

PREFIXES = ("module.", "_orig_mod.")
"""Prefixes added by DataParallel, DistributedDataParallel and torch.compile."""
SHIPPED_PREFIXES = (*PREFIXES, "model.")
OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
"""Names of LayerNorm weights in early BERT files."""
CONSTANTS = ("position_ids", "token_type_ids")
"""Buffers of Hugging Face models with constant values."""
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Suffixes of the running statistics of normalization layers."""
BUFFERS = (*STATISTICS, *CONSTANTS)
"""Suffixes of state_dict entries that are never optimized."""

SETTINGS: Mapping[str, str] = {
    word: path.removeprefix("optimizer.")
    for word, path in optimizer_words("torch").items()
    if word not in ("lr", "weight_decay")
}
"""Settings of a parameter group and the equivalent fields of a recipe's optimizer."""
FIXED: Mapping[str, Any] = {"dampening": 0, "amsgrad": False, "maximize": False}
"""Settings that change an optimizer, with the only value that a recipe can express."""
FREE = (
    *("foreach", "capturable", "differentiable", "fused", "params", "param_names"),
    *("lr", "initial_lr", "weight_decay", "decoupled_weight_decay"),
)
"""Other entries of a group: without numerical effect, or compared elsewhere."""
SCALER_SETTINGS = ("growth_factor", "backoff_factor", "growth_interval")
