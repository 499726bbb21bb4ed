"""How an API generation of PyTorch spells what the templates print: features in, code out."""

from __future__ import annotations

from typing import Any

from crosscast.targets.backend import Dialect


def spelling(dialect: Dialect, half: str) -> dict[str, Any]:
    """Return the part of the view that depends on the dialect alone.

    Args:
        dialect: The API generation.
        half: The type of autocast, empty for none.
    """
    has = dialect.features.__contains__
    namespace = "torch.amp" if has("device_amp") else "torch.cuda.amp"
    return {
        "requirements": dialect.requirements,
        "half": half,
        "autocast": _autocast(dialect, half),
        "device_amp": has("device_amp"),
        "grad_scaler": f"{namespace}.GradScaler",
        "scaler_device": has("device_amp"),
        "total_norm": (
            "torch.linalg.vector_norm(torch.stack(norms))"
            if has("vector_norm")
            else "torch.stack(norms).norm()"
        ),
        "heads": (
            "unflatten(-1, (ATTENTION_HEADS, HEAD_SIZE))"
            if has("unflatten")
            else "view(*x.shape[:2], ATTENTION_HEADS, HEAD_SIZE)"
        ),
        "tf32_switch": _tf32(dialect),
        "zero_to_none": has("zero_to_none"),
        "rms_norm": has("rms_norm"),
        "step_tensors": has("step_tensors"),
    }


def _autocast(dialect: Dialect, half: str) -> str:
    """Return the context of the forward pass."""
    if not half:
        return ""
    if "device_amp" in dialect.features:
        return f"torch.autocast(device.type, dtype=torch.{half})"
    dtype = "" if half == "float16" else f"dtype=torch.{half}"
    return f"torch.cuda.amp.autocast({dtype})"


def _tf32(dialect: Dialect) -> tuple[str, ...]:
    if "matmul_precision" in dialect.features:
        return ('torch.set_float32_matmul_precision("high" if settings.tf32 else "highest")',)
    switch = "torch.backends.cuda.matmul.allow_tf32 = settings.tf32"
    if "matmul_tf32" in dialect.features:
        return (switch,)
    return ('if hasattr(torch.backends.cuda, "matmul"):  # since PyTorch 1.7', f"    {switch}")
