"""Compare the measured peak of a run with its estimate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.fit.memory_sizes import show_bytes
from crosscast.fit.outcome_tables import estimate_json
from crosscast.memory.records import Estimate
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, failure
from crosscast.messages.source import STDIN
from crosscast.recipe.document import Recipe


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    """Memory values of a trace."""

    file: str
    rows: int
    peak_bytes: int
    """Peak bytes of tensors on the GPU of the process that wrote the trace."""
    warnings: tuple[Diagnostic, ...]

    def error_of(self, estimated: int) -> float:
        """Return the relative error of an estimate; positive if it is too high."""
        return estimated / self.peak_bytes - 1


def read_measured(path: str, recipe: Recipe) -> MeasuredPeak:
    """Return the memory values of a trace.

    Raises:
        DiagnosticError: CC464 if it has no peak, CC001-CC003 and CC701 if it is not a trace.
    """
    from crosscast_parity.recordings.trace import read_trace

    file = Path(path)
    if path == STDIN:
        raise failure("CC463", "--measured needs a file; - is only for recipes")
    try:
        if not file.exists():
            raise failure("CC001", f"{path}: no such file")
        if not file.is_file():
            raise failure("CC002", f"{path}: not a regular file")
    except (OSError, ValueError) as error:
        raise failure("CC003", f"{path}: {getattr(error, 'strerror', None) or error}") from None
    rows = read_trace(file, partial=True)
    peaks = [row.peak_memory for row in rows if row.peak_memory]
    if not peaks:
        raise DiagnosticError(
            Diagnostic(
                code="CC464",
                message=f"{path}: none of the {len(rows)} rows has peak_memory",
                hint="scripts write it only on GPUs; compile the recipe again if the script is "
                "older",
            )
        )
    full = (recipe.batch.global_batch_size, recipe.accumulation.steps * recipe.processes)
    warnings: tuple[Diagnostic, ...] = ()
    if all((row.rows, row.n_micro) != full for row in rows):
        warnings = (_other_recipe(path, full, (rows[0].rows, rows[0].n_micro)),)
    return MeasuredPeak(path, len(rows), max(peaks), warnings)


def _other_recipe(path: str, full: tuple[int, int], measured: tuple[int, int]) -> Diagnostic:
    return Diagnostic(
        code="CC470",
        severity=Severity.WARNING,
        message=(
            f"{path} is from a run with {measured[0]} rows in {measured[1]} micro-batches per "
            f"window, but the recipe has {full[0]} in {full[1]}"
        ),
        hint="pass the recipe of that run",
    )


def measured_rows(measured: MeasuredPeak, estimate: Estimate) -> list[list[str]]:
    """Return the cells of the comparison."""
    cells = [["measured", show_bytes(measured.peak_bytes), ""]]
    sizes = {"estimated": estimate.peak_bytes, "with margin": estimate.total}
    if estimate.simple_formula_bytes is not None:
        sizes["simple formula"] = estimate.simple_formula_bytes
    for name, size in sizes.items():
        cells.append([name, show_bytes(size), f"{100 * measured.error_of(size):+.1f} %"])
    return cells


def measured_json(measured: MeasuredPeak, estimate: Estimate) -> dict[str, Any]:
    """Return the comparison as plain data, with relative errors."""
    simple = estimate.simple_formula_bytes
    return {
        "file": measured.file,
        "rows": measured.rows,
        "measured_peak_bytes": measured.peak_bytes,
        "relative_error": measured.error_of(estimate.peak_bytes),
        "simple_formula_relative_error": None if simple is None else measured.error_of(simple),
        "estimate": estimate_json(estimate),
    }
