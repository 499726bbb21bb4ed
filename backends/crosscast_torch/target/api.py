"""How an API generation of PyTorch spells what the templates print: features in, code out."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.targets.backend import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchSpelling:
    """What depends on the dialect alone, as code."""

    device_amp: bool
    """Whether `torch.amp` works on any device, and GradScaler is told which."""
    zero_to_none: bool
    """Whether `zero_grad()` removes gradients."""
    rms_norm: bool
    """Whether there is `nn.RMSNorm`."""
    label_smoothing: bool
    """Whether `cross_entropy` smooths labels."""
    total_norm: str
    """The norm of the list `norms`."""
    heads: str
    """The method that splits the last dimension into attention heads."""
    step_count: str
    """The number of updates in the state of an optimizer."""
    tf32_switch: tuple[str, ...]
    """Lines that allow TensorFloat-32 or forbid it."""

    @property
    def grad_scaler(self) -> str:
        """The class that scales losses."""
        return "torch.amp.GradScaler" if self.device_amp else "torch.cuda.amp.GradScaler"

    def autocast(self, half: str) -> str:
        """Return the context of a forward pass in a half type."""
        if self.device_amp:
            return f"torch.autocast(device.type, dtype=torch.{half})"
        dtype = "" if half == "float16" else f"dtype=torch.{half}"
        return f"torch.cuda.amp.autocast({dtype})"


def spelling(dialect: Dialect) -> TorchSpelling:
    """Return the spelling of an API generation."""
    has = dialect.features.__contains__
    return TorchSpelling(
        device_amp=has("device_amp"),
        zero_to_none=has("zero_to_none"),
        rms_norm=has("rms_norm"),
        label_smoothing=has("label_smoothing"),
        total_norm=(
            "torch.linalg.vector_norm(torch.stack(norms))"
            if has("vector_norm")
            else "torch.stack(norms).norm()"
        ),
        heads=(
            "unflatten(-1, (ATTENTION_HEADS, HEAD_SIZE))"
            if has("unflatten")
            else "view(*x.shape[:2], ATTENTION_HEADS, HEAD_SIZE)"
        ),
        step_count=(
            "torch.tensor(float(state.updates))" if has("step_tensors") else "state.updates"
        ),
        tf32_switch=_tf32(dialect),
    )


def _tf32(dialect: Dialect) -> tuple[str, ...]:
    if "matmul_precision" in dialect.features:
        return ('torch.set_float32_matmul_precision("high" if settings.tf32 else "highest")',)
    switch = "torch.backends.cuda.matmul.allow_tf32 = settings.tf32"
    if "matmul_tf32" in dialect.features:
        return (switch,)
    return ('if hasattr(torch.backends.cuda, "matmul"):  # since PyTorch 1.7', f"    {switch}")
