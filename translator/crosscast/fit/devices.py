"""GPUs as data: memory, number formats, and the figures of their data sheets.

What a process can use is not what is sold. On boards with GDDR memory the error-correcting code
takes a sixteenth of it where it is on by default; the driver and the context of a process take
more. `usable_bytes` takes off the first as NVIDIA documents it and `RESERVED` for the second, which
is an assumption: `--memory` says better.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from crosscast.diagnostics import Diagnostic, DiagnosticError

GIB = 2**30
RESERVED = GIB
"""Assumed for driver and context of one process."""
HALVES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """One GPU. Rates are peaks for dense matrices, without sparsity."""

    name: str
    memory_gib: int
    """As sold. The `GB` of data sheets are 2**30 bytes of memory chips."""
    half_types: tuple[str, ...]
    """Half types that its matrix units have."""
    half_tflops: float
    """Matrix products of half numbers summed in float32, 10**12 operations a second."""
    float32_tflops: float
    """Without TensorFloat-32."""
    bandwidth_gbs: float
    """Memory bandwidth, 10**9 bytes a second."""
    source: str
    inline_ecc: bool = False
    """The error-correcting code is on by default and takes 1/16 of the memory."""

    @property
    def usable_bytes(self) -> int:
        """Bytes that a process is assumed to get."""
        sold = self.memory_gib * GIB
        return sold - (sold // 16 if self.inline_ecc else 0) - RESERVED

    def tflops(self, dtype: str) -> float:
        """Peak rate of matrix products in a type."""
        return self.half_tflops if dtype in HALVES else self.float32_tflops


def _gpu(
    name: str,
    memory_gib: int,
    half_tflops: float,
    float32_tflops: float,
    bandwidth_gbs: float,
    source: str,
    *,
    bfloat16: bool = True,
    inline_ecc: bool = False,
) -> GpuModel:
    return GpuModel(
        name=name,
        memory_gib=memory_gib,
        half_types=HALVES if bfloat16 else ("float16",),
        half_tflops=half_tflops,
        float32_tflops=float32_tflops,
        bandwidth_gbs=bandwidth_gbs,
        source=source,
        inline_ecc=inline_ecc,
    )


_T4 = "NVIDIA T4 data sheet; bfloat16 came with compute capability 8.0"
_V100 = "NVIDIA V100 data sheet (SXM2); bfloat16 came with compute capability 8.0"
_A100 = "NVIDIA A100 data sheet (SXM4)"

DEVICES: Sequence[GpuModel] = (
    _gpu("T4", 16, 65, 8.1, 320, _T4, bfloat16=False, inline_ecc=True),
    _gpu("V100", 16, 125, 15.7, 900, _V100, bfloat16=False),
    _gpu("V100-32", 32, 125, 15.7, 900, _V100, bfloat16=False),
    _gpu("A10", 24, 125, 31.2, 600, "NVIDIA A10 data sheet", inline_ecc=True),
    _gpu("L4", 24, 121, 30.3, 300, "NVIDIA L4 data sheet", inline_ecc=True),
    _gpu("RTX3090", 24, 71, 35.6, 936, "NVIDIA GA102 architecture white paper"),
    _gpu("RTX4090", 24, 165.2, 82.6, 1008, "NVIDIA Ada GPU architecture white paper"),
    _gpu("A100-40", 40, 312, 19.5, 1555, _A100),
    _gpu("L40S", 48, 362, 91.6, 864, "NVIDIA L40S data sheet", inline_ecc=True),
    _gpu("A100-80", 80, 312, 19.5, 2039, _A100),
    _gpu("H100", 80, 989, 67, 3350, "NVIDIA H100 data sheet (SXM5)"),
    _gpu("H200", 141, 989, 67, 4800, "NVIDIA H200 data sheet (SXM)"),
)
ASSUMED = "A100-40"
"""Whose rates rank answers where no device is named."""


def find_device(name: str) -> GpuModel:
    """Return a device by name, whatever the case of its letters.

    Raises:
        DiagnosticError: CC462 for a name that is not in the table.
    """
    for one in DEVICES:
        if one.name.lower() == name.strip().lower():
            return one
    names = {one.name.lower(): one.name for one in DEVICES}
    near = difflib.get_close_matches(name.strip().lower(), names, n=1)
    hint = f"did you mean {names[near[0]]}? " if near else ""
    raise DiagnosticError(
        Diagnostic(
            code="CC462",
            message=f"no device {name[:40]!r} in the table",
            hint=f"{hint}known are {', '.join(names.values())}; --memory takes any amount",
        )
    )
