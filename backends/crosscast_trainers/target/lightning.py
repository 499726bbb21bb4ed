"""Lightning: arguments of its Trainer, and a module with optimizer and schedule."""

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

FACTS = Facts(evidence=Evidence.MEASURED_CPU, probe=f"{PROBES}test_lightning_makes_its_trainer")
_CONFORMANCE = "trainers/test_conformance.py::test_answers_are_those_of_the_page"
PRECISIONS = {"": "32-true", "float16": "16-mixed", "bfloat16": "bf16-mixed"}

ROWS = (
    *torch_precision(FACTS),
    FACTS.exact("precision", "precision of the Trainer"),
    FACTS.exact("loss_scaling", "MixedPrecision with a GradScaler of its own"),
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
        it.tail_is_not("flush"),
        _CONFORMANCE,
    ),
    FACTS.exact("accumulation", "accumulate_grad_batches"),
    *clips_by_torch(FACTS, values=True),
    FACTS.exact("clipping", "gradient_clip_val and gradient_clip_algorithm"),
    FACTS.near(
        "schedule.tick",
        "a skipped step advances the schedule",
        "CC366",
        it.counts_updates,
        _CONFORMANCE,
    ),
    FACTS.exact("distributed", "devices and strategy"),
    *torch_rows(FACTS),
    *common(FACTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightningView:
    """What is the Trainer's own."""

    precision: str
    plugin: bool
    """Whether a GradScaler of other numbers than the Trainer's is passed to it."""


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return the module that makes the Trainer."""
    layer = LightningView(
        precision=PRECISIONS[recipe.half],
        plugin=it.either(it.other_start, it.other_factors, it.other_interval)(recipe),
    )
    context = {"view": training_view(recipe, "Lightning"), "layer": layer}
    return (File(path="trainer.py", template="trainers/lightning/trainer.py.j2", view=context),)


BACKEND = LayerBackend(
    name="lightning",
    title="Lightning Trainer",
    distributions=("lightning",),
    dialects=(
        Dialect(
            name="trainer",
            title="Lightning 2.5 or newer",
            since="2.5",
            newest="2.6",
            emits="configuration",
        ),
    ),
    rows=ROWS,
    files=files,
)
"""Lightning by the arguments of its Trainer."""
