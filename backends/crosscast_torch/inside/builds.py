"""Watch the modules and optimizers that a program makes, see `crosscast_parity.inside.build`.

PyTorch has no symbolic calls of programs as they are written: loops run as far as their data goes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from crosscast_parity.inside.build import Build
from crosscast_parity.inside.watched_modules import watch_modules
from crosscast_torch.inside.without_gpu import stay_on_cpu

PACKAGES = ("torch",)
BLAMED = ("torch/nn/modules", "torch/nn/functional.py", "torch/optim", "torch/amp")
EXCUSED = ("torch/distributed", "torch/nn/parallel", "torch/cuda", "torch/serialization.py")
KEEPING = (
    *("parameters", "named_parameters", "modules", "state_dict", "zero_grad", "step", "train"),
    *("eval", "to", "cuda", "cpu", "backward", "scale", "update", "load_state_dict"),
)
MISSING = r"(?i)cuda|\bgpu|nvidia|half|bfloat16|dtype"
"""Types, too: what autocast has agree on a GPU differs where it is off."""


def base() -> Any:
    """Return the class of all modules."""
    return torch.nn.Module


def refuses(error: Exception) -> bool:
    """Whether an error counts wherever it comes from: no operation's does."""
    return False


def install(build: Build, name: str) -> None:
    """Watch this process."""
    if not torch.cuda.is_available():
        stay_on_cpu()
    watch_modules(build, torch.nn.Module, "_modules")
    register_optimizer_step_post_hook(lambda optimizer, *_: _note(build, optimizer))


def _note(build: Build, optimizer: Any) -> None:
    weights = (weight for group in optimizer.param_groups for weight in group["params"])
    build.step(gradients=any(weight.grad is not None for weight in weights))
