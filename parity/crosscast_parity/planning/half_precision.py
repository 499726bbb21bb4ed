"""Choose native or emulated half precision for a run, with the diagnostics about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.targets.backend import harness_of
from crosscast_parity.planning.options import Half

Execution = Literal["native", "emulated"]


def choose_execution(half: bool, framework: str, wanted: Half, device: str) -> Execution:
    """Return how the half precision of a program is computed.

    Native kernels of CPUs differ: TensorFlow's sum in half, Paddle has none, PyTorch's are 20 times
    slower than the emulation. So `auto` emulates on CPU wherever it can be done.

    Args:
        half: whether there is any.
        framework: of the program.
        wanted: what the user asked for.
        device: `cpu` or `gpu`.

    Raises:
        DiagnosticError: CC713 if emulation is asked for where there is none.
    """
    harness = harness_of(framework)
    known = harness is not None and harness.has("emulate")
    if not half or wanted == "native" or device != "cpu" or (wanted == "auto" and not known):
        return "native"
    if not known:
        raise DiagnosticError(
            Diagnostic(
                code="CC713",
                message=f"half precision cannot be emulated for {framework}",
                hint="leave out --half emulated",
            )
        )
    return "emulated"


def in_words(execution: Mapping[str, Execution]) -> str:
    """Return `torch native, paddle emulated`."""
    return ", ".join(f"{target} {how}" for target, how in execution.items())
