"""Accelerate: the YAML of `accelerate launch`, and the Python that says the rest."""

from __future__ import annotations

from dataclasses import dataclass

import crosscast_trainers.target.conditions as it
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Dialect, File
from crosscast.targets.capability import Evidence
from crosscast_trainers.target.backend import LayerBackend
from crosscast_trainers.target.rows import PROBES, Facts, clips_by_torch, common, torch_precision
from crosscast_trainers.target.torch_rows import torch_rows
from crosscast_trainers.target.training import training_view

FACTS = Facts(
    evidence=Evidence.MEASURED_CPU, probe=f"{PROBES}test_accelerate_reads_its_configuration"
)
_CONFORMANCE = "trainers/test_conformance.py::test_answers_are_those_of_the_page"

ROWS = (
    *torch_precision(FACTS),
    FACTS.exact("precision", "mixed_precision"),
    FACTS.exact("loss_scaling", "GradScalerKwargs"),
    FACTS.near(
        "accumulation.normalize_by",
        "means of micro-batches are averaged, whatever their size",
        "CC336",
        it.uneven_micro_batches,
        _CONFORMANCE,
    ),
    FACTS.near(
        "accumulation.tail",
        "a short window is divided by a full one, as with tail: flush",
        "CC337",
        it.leaves_out_or_renormalizes,
        _CONFORMANCE,
    ),
    FACTS.exact("accumulation", "GradientAccumulationPlugin"),
    *clips_by_torch(FACTS, values=True),
    FACTS.exact("clipping", "clip_grad_norm_ or clip_grad_value_ of the Accelerator"),
    FACTS.exact("distributed", "num_processes"),
    *torch_rows(FACTS),
    *common(FACTS),
)

_PRECISIONS = {"": "no", "float16": "fp16", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccelerateView:
    """What is Accelerate's own."""

    mixed_precision: str
    syncs: bool
    """Whether the end of an epoch ends a window."""
    waits: bool
    """Whether a skipped step does not move the schedule."""


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return the YAML and the Python beside it."""
    layer = AccelerateView(
        mixed_precision=_PRECISIONS[recipe.half],
        syncs=recipe.accumulation.tail != "carry",
        waits=it.counts_updates(recipe),
    )
    context = {"view": training_view(recipe, "Accelerate"), "layer": layer}
    return tuple(
        File(path=path, template=f"trainers/accelerate/{path}.j2", view=context)
        for path in ("accelerate.yaml", "training.py")
    )


BACKEND = LayerBackend(
    name="accelerate",
    title="Accelerate",
    distributions=("accelerate",),
    dialects=(
        Dialect(
            name="yaml",
            title="Accelerate 1.10 or newer",
            since="1.10",
            newest="1.15",
            emits="configuration",
        ),
    ),
    rows=ROWS,
    files=files,
)
"""Accelerate by its YAML."""
