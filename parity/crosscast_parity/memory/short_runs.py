"""Memory of a model that is neither simulated nor traced: short runs with ever more rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crosscast.memory.records import MeasuredModel
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure
from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.memory.processes import Measured, measure
from crosscast_parity.memory.rows import Rows, sample_rows
from crosscast_parity.scaling_law.shapes import Shape

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
"""Rows of the micro-batches; not 1, for which kernels have ways of their own."""
STEPS = 2
"""Micro-batches of a window: gradients exist when the second one begins."""
TOLERANCE = 0.05
Peaks = tuple[tuple[int, int], ...]


def measure_model(
    recipe: Recipe, target: str, python: str, *, folder: Path, timeout: float
) -> MeasuredModel:
    """Train a model on a CPU, in processes of their own, and watch the allocator.

    This imports and calls what the recipe names for the framework, which may be the user's code.
    The number of rows doubles until memory grows linearly with them, or a micro-batch is as large
    as a window.

    Args:
        recipe: Its precision matters, its batch sizes hardly.
        target: Whose framework can watch its allocator.
        python: The interpreter that has the framework and what the model needs.
        folder: Where the modules of the user lie; it is the working folder of the processes.
        timeout: Seconds for each process.

    Raises:
        DiagnosticError: CC401 if the interpreter or a package of the emitted script is missing,
            CC451 for several processes, CC452 if a run fails or its memory does not grow linearly,
            CC601 or CC602 if the rows cannot be read.
    """
    if recipe.processes > 1:
        message = f"{target}: memory is measured for one process only"
        raise failure("CC451", message)
    most = recipe.batch.global_batch_size
    # The rows of the shipped BERT are made up where it runs.
    rows = None if isinstance(recipe.model, BertModel) else sample_rows(recipe, folder)
    runs: list[tuple[int, Measured]] = []
    for size in SIZES:
        shaped = Shape(1, STEPS, size).applied(recipe)
        run = measure(shaped, target, python, timeout=timeout, folder=folder, rows=rows)
        runs.append((size, run))
        peaks = tuple((count, measured.peak_bytes) for count, measured in runs)
        sizes = run.sizes
        if size >= most or grows_linearly(peaks, 4 * sizes["trained"]):
            return MeasuredModel(
                peaks=peaks,
                parameters=sizes["parameters"],
                trained=sizes["trained"],
                optimizer=sizes["optimizer"],
                ema=sizes["ema"],
                held_row=_bytes_of_row(recipe, rows) if run.holds_window else 0,
                widened=run.widened,
                planned=run.planned,
            )
    raise _unlike(target, peaks)


def _bytes_of_row(recipe: Recipe, rows: Rows | None) -> int:
    if rows is None:  # ids, types of tokens and mask, and a label
        return 8 * (3 * recipe.data.sequence_length + 1)
    return sum(array[0].nbytes for array in rows.values())


def grows_linearly(peaks: Peaks, gradients: int) -> bool:
    """Whether the last three runs lie on a line that goes on beyond them.

    For few rows the highest point may be one that hardly depends on them, such as the update. One
    that grows faster overtakes it only later. What differs between moments other than activations
    is at most a copy of the gradients, so activations must be more than that.

    Args:
        peaks: Rows and bytes of each run, in ascending order.
        gradients: Bytes of a copy of all gradients.
    """
    if len(peaks) < 3:
        return False
    (a, low), (b, middle), (c, high) = peaks[-3:]
    expected = middle + (middle - low) * (c - b) / (b - a)
    activations = c * (high - middle) / (c - b)
    return abs(high - expected) <= TOLERANCE * high and activations >= gradients


def _unlike(target: str, peaks: Sequence[tuple[int, int]]) -> DiagnosticError:
    sizes = ", ".join(f"{size} bytes for {rows} rows" for rows, size in peaks[-3:])
    message = f"{target}: memory does not grow linearly with the rows of a micro-batch: {sizes}"
    return DiagnosticError(Diagnostic(code="CC452", path="model", message=message))
