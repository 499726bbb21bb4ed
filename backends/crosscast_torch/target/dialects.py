"""API generations of PyTorch that can be emitted.

Features:
    device_amp: torch.amp.GradScaler and torch.autocast for any device, half precision on CPU too.
    fused: fused optimizers on any device.
    compile: nn.Module.compile.
    rms_norm: nn.RMSNorm.
    unflatten: Tensor.unflatten on tensors without names.
    vector_norm: torch.linalg.vector_norm.
    matmul_precision: torch.set_float32_matmul_precision.
    matmul_tf32: torch.backends.cuda.matmul.allow_tf32.
    run: torch.distributed.run.
    dashes: its options have dashes.
    zero_to_none: zero_grad() removes gradients.
    step_tensors: the state of an optimizer counts its updates in tensors.
"""

from __future__ import annotations

from crosscast.targets.backend import Dialect

_OLD_REQUIREMENTS = ("numpy>=1.21,<2", "safetensors>=0.4")

DIALECTS = (
    Dialect(
        name="torch.amp",
        title="PyTorch 2.4 or newer",
        since="2.4",
        newest="2.13",
        requirements=("torch>=2.4", "numpy>=1.26", "safetensors>=0.6"),
        features=frozenset(
            {
                "device_amp",
                "fused",
                "compile",
                "label_smoothing",
                "rms_norm",
                "unflatten",
                "vector_norm",
                "matmul_precision",
                "run",
                "dashes",
                "zero_to_none",
                "step_tensors",
            }
        ),
    ),
    Dialect(
        name="torch.cuda.amp",
        title="PyTorch 1.11 to 2.3",
        since="1.11",
        until="2.4",
        requirements=("torch>=1.11,<2.4", *_OLD_REQUIREMENTS),
        features=frozenset({"label_smoothing", "matmul_tf32", "run"}),
    ),
    Dialect(
        name="torch.cuda.amp-1.6",
        title="PyTorch 1.6 to 1.10",
        since="1.6",
        until="1.11",
        requirements=("torch>=1.6,<1.11", *_OLD_REQUIREMENTS),
    ),
)
