"""Lets Paddle's GradScaler work on CPU: all it lacks there is a GPU under the tracer."""

from __future__ import annotations

from types import SimpleNamespace

from paddle.amp import grad_scaler

GPU = SimpleNamespace(
    is_gpu_place=lambda: True, is_xpu_place=lambda: False, is_custom_place=lambda: False
)


def enable_scaler() -> None:
    """Answer the constructor's only question; the kernels for float32 gradients exist."""
    grad_scaler._dygraph_tracer = lambda: SimpleNamespace(_expected_place=GPU)
