"""Table of GPUs: memory, supported dtypes and rates from data sheets.

A process can use less than the nominal memory. The driver reports less: on boards with GDDR memory
ECC, on by default, takes a sixteenth (NVIDIA's CUDA C++ best practices guide), and the 141 GB of an
H200 are not 141 x 2**30 bytes. The context of a process takes more.
`usable_bytes` is the size that drivers report (from a published list of data-center boards, or the
nominal size for V100 and GeForce) minus `RESERVED`, an assumption. `--memory` is more accurate.

Data sheets since Ampere list rates of tensor cores with sparsity; this table has half of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from crosscast.memory.records import Device
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

MIB, GIB = 2**20, 2**30
RESERVED = GIB
"""Assumed for driver and context of one process."""
HALVES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """One GPU. Rates are peaks for dense matrices, without sparsity."""

    name: str
    memory_gb: int
    """Nominal size."""
    reported_mib: int
    """Size that the driver (`nvidia-smi`) reports with default ECC, in units of 2**20 bytes."""
    half_types: tuple[str, ...]
    """Half types supported by its matrix units."""
    half_tflops: float
    """Matrix products in half with float32 accumulation, 10**12 operations per second."""
    float32_tflops: float
    """Without TensorFloat-32."""
    bandwidth_gbs: float
    """Memory bandwidth, 10**9 bytes per second."""
    source: str
    """Source of the rates."""
    memory_model: Device = "cuda"
    """What estimates of memory call it."""

    @property
    def usable_bytes(self) -> int:
        """Bytes assumed to be available to a process."""
        return self.reported_mib * MIB - RESERVED

    def tflops(self, dtype: str) -> float:
        """Peak rate of matrix products in a type."""
        return self.half_tflops if dtype in HALVES else self.float32_tflops


def _gpu(
    name: str,
    memory_gb: int,
    reported_mib: int,
    half_tflops: float,
    float32_tflops: float,
    bandwidth_gbs: float,
    source: str,
    *,
    bfloat16: bool = True,
    hopper: bool = False,
) -> GpuModel:
    return GpuModel(
        name=name,
        memory_gb=memory_gb,
        reported_mib=reported_mib,
        half_types=HALVES if bfloat16 else ("float16",),
        half_tflops=half_tflops,
        float32_tflops=float32_tflops,
        bandwidth_gbs=bandwidth_gbs,
        source=source,
        memory_model="hopper" if hopper else "cuda",
    )


_BFLOAT16 = "bfloat16 came with compute capability 8.0"
_T4 = f"NVIDIA T4 product brief and data sheet; {_BFLOAT16}"
_V100 = f"NVIDIA V100 Tensor Core GPU data sheet (SXM2); {_BFLOAT16}"
_A100 = "NVIDIA A100 Tensor Core GPU data sheet (SXM)"
_H100 = "NVIDIA H100 Tensor Core GPU white paper (SXM5)"
_H200 = "NVIDIA H200 Tensor Core GPU data sheet (SXM)"

DEVICES: Sequence[GpuModel] = (
    _gpu("T4", 16, 15360, 65, 8.1, 320, _T4, bfloat16=False),
    _gpu("V100", 16, 16384, 125, 15.7, 900, _V100, bfloat16=False),
    _gpu("V100-32", 32, 32768, 125, 15.7, 900, _V100, bfloat16=False),
    _gpu("A10", 24, 23028, 125, 31.2, 600, "NVIDIA A10 Tensor Core GPU data sheet"),
    _gpu("L4", 24, 23034, 121, 30.3, 300, "NVIDIA L4 Tensor Core GPU data sheet"),
    _gpu("RTX3090", 24, 24576, 71, 35.6, 936, "NVIDIA Ampere GA102 GPU architecture white paper"),
    _gpu("RTX4090", 24, 24576, 165.2, 82.6, 1008, "NVIDIA Ada GPU architecture white paper"),
    _gpu("A100-40", 40, 40960, 312, 19.5, 1555, _A100),
    _gpu("L40S", 48, 46068, 362.05, 91.6, 864, "NVIDIA L40S data sheet"),
    _gpu("A100-80", 80, 81920, 312, 19.5, 2039, _A100),
    _gpu("H100", 80, 81559, 989.4, 66.9, 3350, _H100, hopper=True),
    _gpu("H200", 141, 143771, 989.5, 67, 4800, _H200, hopper=True),
)
ASSUMED = "A100-40"
"""Its rates rank answers if no device is given."""


def find_device(name: str) -> GpuModel:
    """Return a device by its case-insensitive name.

    Raises:
        DiagnosticError: CC462 for a name that is not in the table.
    """
    for device in DEVICES:
        if device.name.lower() == name.strip().lower():
            return device
    names = {device.name.lower(): device.name for device in DEVICES}
    near = difflib.get_close_matches(name.strip().lower(), names, n=1)
    hint = f"did you mean {names[near[0]]}? " if near else ""
    raise DiagnosticError(
        Diagnostic(
            code="CC462",
            message=f"no device {name[:40]!r} in the table",
            hint=f"{hint}known devices: {', '.join(names.values())}; --memory accepts any amount",
        )
    )
