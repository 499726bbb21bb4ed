"""Lets emitted scripts with AMP, and Paddle's GradScaler, work on CPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from paddle.amp import grad_scaler

from crosscast_parity.inside.emitted import part_of

GPU = SimpleNamespace(
    is_gpu_place=lambda: True, is_xpu_place=lambda: False, is_custom_place=lambda: False
)


def enable_scaler() -> None:
    """Let GradScaler see a GPU under the tracer; its kernels for float32 exist on CPU."""
    grad_scaler._dygraph_tracer = lambda: SimpleNamespace(_expected_place=GPU)


def allow_cpu(script: Any) -> None:
    """Let an emitted script train with AMP on CPU, which it refuses."""
    device = part_of(script, "device")
    if device is not None:
        device.__dict__["require_amp"] = lambda *asked: None
