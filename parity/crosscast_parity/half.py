"""Whether half precision is native or emulated in a run, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe import Recipe
from crosscast_parity.inside.emulate import MODULES
from crosscast_parity.options import Options

Execution = Literal["native", "emulated"]

WITHOUT_HALF_ON_CPU = ("paddle",)
"""Frameworks that have neither half kernels nor autocast on CPU."""


def choose_execution(recipe: Recipe, options: Options) -> dict[str, Execution]:
    """Return for every target how its half precision is computed; float32 is always native.

    Raises:
        DiagnosticError: CC713 if emulation is asked for where there is none.
    """
    half = recipe.precision.compute_dtype != "float32"
    execution: dict[str, Execution] = {}
    for target in options.targets:
        lacking = options.device == "cpu" and target in WITHOUT_HALF_ON_CPU
        wanted = options.half == "emulated" or (options.half == "auto" and lacking)
        execution[target] = "emulated" if half and wanted else "native"
        if execution[target] == "emulated" and target not in MODULES:
            raise DiagnosticError(
                Diagnostic(
                    code="CC713",
                    message=f"half precision cannot be emulated for {target}",
                    hint="leave out --half emulated",
                )
            )
    return execution


def in_words(execution: Mapping[str, Execution]) -> str:
    """Return `torch native, paddle emulated`."""
    return ", ".join(f"{target} {how}" for target, how in execution.items())
