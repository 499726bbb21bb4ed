"""Lightning Fabric: its arguments, and the loop that it leaves to its users."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import Tail, frame_of
from crosscast.emit.loss import row_count
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Dialect, File
from crosscast.targets.capability import Evidence
from crosscast_trainers.target.backend import LayerBackend
from crosscast_trainers.target.lightning import PRECISIONS
from crosscast_trainers.target.rows import PROBES, Facts, clips_by_torch, common, torch_precision
from crosscast_trainers.target.torch_rows import torch_rows
from crosscast_trainers.target.training import training_view

FACTS = Facts(evidence=Evidence.MEASURED_CPU, probe=f"{PROBES}test_fabric_trains")

ROWS = (
    *torch_precision(FACTS),
    FACTS.exact("precision", "precision of Fabric"),
    FACTS.exact("loss_scaling", "MixedPrecision with a GradScaler of its own"),
    FACTS.exact("accumulation", "train_window, which windows gives its micro-batches"),
    *clips_by_torch(FACTS, values=True),
    FACTS.exact("clipping", "clip_gradients"),
    FACTS.exact("distributed", "devices and strategy"),
    *torch_rows(FACTS),
    *common(FACTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricView:
    """What the loop for Fabric has of its own."""

    precision: str
    tail: Tail
    """What becomes of the micro-batches at the end of an epoch that do not fill a window."""
    full_window: int
    """What the losses of every window are divided by; 0 for their own number."""
    unit: str
    """What that counts, in words."""
    divides: tuple[str, ...]
    """Lines that find the divisor."""
    target: str
    """Name of the array that they call TARGET; empty if they do not."""


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return the module that makes Fabric and trains."""
    rows = recipe.batch.micro_batch_size if recipe.accumulation.normalize_by == "sample" else 1
    full = recipe.accumulation.steps * rows if recipe.accumulation.tail == "flush" else 0
    lines = _divides(recipe, bool(full))
    counts_target = any("TARGET" in line for line in lines)
    layer = FabricView(
        precision=PRECISIONS[recipe.half],
        tail=frame_of(recipe).tail,
        full_window=full,
        unit="rows" if rows > 1 else "micro-batches",
        divides=lines,
        target=(recipe.loss.target or "") if counts_target else "",
    )
    context = {"view": training_view(recipe, "Fabric"), "layer": layer}
    return (File(path="training.py", template="trainers/fabric/training.py.j2", view=context),)


def _divides(recipe: Recipe, full: bool) -> tuple[str, ...]:
    """Return the lines that find what the losses of a window are divided by."""
    unit = recipe.accumulation.normalize_by
    if full:
        return ("divisor = FULL_WINDOW",)
    key = {None: "", "labels": '"labels"'}.get(recipe.loss.target, "TARGET")
    counts = {
        "sample": f"sum({row_count('batch', key)} for batch in micro_batches)",
        "microbatch": "len(micro_batches)",
        "token": f"sum(int((batch[{key}] != -100).sum()) for batch in micro_batches)",
    }
    count = f"count = {counts[unit]}"
    least = "max(1, count)" if unit == "token" else "count"
    if recipe.processes == 1:
        return (count, f"divisor = {least}")
    mean = 'fabric.all_reduce(torch.tensor(float(count)), reduce_op="mean")'
    divisor = "divisor = count.clamp(min=1 / PROCESSES)" if unit == "token" else "divisor = count"
    return (count, f"count = {mean}", divisor)


BACKEND = LayerBackend(
    name="fabric",
    title="Lightning Fabric",
    distributions=("lightning",),
    dialects=(
        Dialect(
            name="fabric",
            title="Lightning 2.5 or newer",
            since="2.5",
            newest="2.6",
            emits="configuration",
        ),
    ),
    rows=ROWS,
    files=files,
)
"""Fabric by its arguments, with its loop."""
