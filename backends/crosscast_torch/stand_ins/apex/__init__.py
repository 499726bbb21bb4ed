"""A stand-in for apex: what its amp, its optimizers and its data parallelism did, without kernels.

For observed runs of programs whose apex is not installed, and only there. The arithmetic is that of
apex 0.1 in plain PyTorch. Half precision is that of `torch.autocast`, on a GPU only: weights stay
float32 at every level, and which operations compute in half is PyTorch's choice.
"""

from __future__ import annotations

from apex import amp, normalization, optimizers, parallel  # type: ignore[import-not-found]

__all__ = ["amp", "normalization", "optimizers", "parallel"]
