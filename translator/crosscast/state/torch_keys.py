"""What training scripts of PyTorch call the parts of the files they save, and what is in them.

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
"""What a script keeps that saves between two micro-batches of one window."""

PREFIXES = ("module.", "_orig_mod.")
"""What DataParallel, DistributedDataParallel and torch.compile put before every name."""
SHIPPED_PREFIXES = (*PREFIXES, "model.")
OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
"""LayerNorm in early BERT files."""
CONSTANTS = ("position_ids", "token_type_ids")
"""Buffers of Hugging Face models that are the same in every one of them."""
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Ends of the names of what normalization layers change with every forward pass."""
BUFFERS = (*STATISTICS, *CONSTANTS)
"""Ends of the names of what is in a state_dict and never optimized."""

SETTINGS: Mapping[str, str] = {
    word: path.removeprefix("optimizer.")
    for word, path in optimizer_words("torch").items()
    if word not in ("lr", "weight_decay")
}
"""Settings of a parameter group, and the fields of a recipe's optimizer that mean the same."""
FIXED: Mapping[str, Any] = {"dampening": 0, "amsgrad": False, "maximize": False}
"""Settings that change what an optimizer does and that a recipe cannot say otherwise."""
STOCK_FORM: Mapping[str, Any] = {
    "eps_placement": "after_correction",
    "bias_correction": True,
    "rate_in_momentum": False,
}
"""The form that optimizers of torch.optim have."""
FREE = (
    *("foreach", "capturable", "differentiable", "fused", "params", "param_names"),
    *("lr", "initial_lr", "weight_decay", "decoupled_weight_decay"),
)
"""What a group also holds and what says nothing about the numbers, or is compared elsewhere."""
SCALER_SETTINGS = ("growth_factor", "backoff_factor", "growth_interval")
