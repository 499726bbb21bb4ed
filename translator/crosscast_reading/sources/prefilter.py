"""A fast pre-filter that skips files unrelated to training."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.sources.files import DOCKERFILE, kind_of

_PYTHON = (
    *("backward(", "GradScaler", "autocast", "GradientTape", "apex", "amp.", "LossScale"),
    *("optimizer", "Optimizer", ".minimize(", "value_and_grad", "optax", "grad_norm"),
    *("jax.grad(", "nnx.grad(", "apply_gradients", "apply_updates"),
    *("TrainingArguments", "Trainer", "accelerat", "Accelerator", "deepspeed", "mixed_precision"),
    *("DistributedStrategy", "auto_cast", "train_batch", "lr_scheduler", "loss_scal", "fp16"),
    *("GradientMerge", "gradient_accumulation", "accumulate_grad", "OptimWrapper"),
    *("AmpScaler", "amp_guard", "amp_decorate"),
    *("AUTO_MIXED_PRECISION", "auto_mixed_precision", "train_on_batch", "dtype_policy", "keras"),
)
_SHELL = ("python", "torchrun", "deepspeed", "accelerate", "paddle", "horovodrun", "mpirun", "srun")
_CONFIG = (
    *("fp16", "bf16", "amp", "AMP", "optimizer", "precision", "gradient_accumulation"),
    *("zero_optimization", "loss_scale", "max_grad_norm", "accumulate", "trainer"),
    *("SOLVER", "_BASE_", "_base_"),
)
_WORDS = {"python": _PYTHON, "shell": _SHELL, "config": _CONFIG}
FLAGS = (
    *("argparse", "ArgumentParser", "add_argument", "absl", "DEFINE_", "click", "dataclass"),
    *("add_arg(", "fire", "ConfigDict"),
)
"""Words of modules that define flags or settings."""


def may_train(source: Source) -> bool:
    """Whether a file may be related to training; fast, with false positives."""
    commands = source.name.endswith(DOCKERFILE)
    return has_word(source.text, _SHELL if commands else _WORDS.get(kind_of(source), ()))


def has_word(text: str, words: tuple[str, ...]) -> bool:
    """Whether a text contains one of several words."""
    return any(map(text.__contains__, words))


_STEPS = (".step(", ".minimize(", "apply_gradients(", "train_batch(", "Trainer(", ".fit(")
_GRADIENTS = ("backward(", "GradientTape", "minimize(", "value_and_grad", "Trainer(", ".fit(")


_SURE = (
    *("GradScaler", "LossScaleOptimizer", "mixed_precision", "auto_cast(", "amp.initialize"),
    *("TrainingArguments(", "loss_scale"),
)


def trains_by_words(text: str) -> bool:
    """Whether a text that cannot be parsed has the words of a training loop."""
    return has_word(text, _SURE) or (has_word(text, _STEPS) and has_word(text, _GRADIENTS))
