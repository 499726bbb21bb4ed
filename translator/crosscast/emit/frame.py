"""The Frame: what a script needs besides the training step, which is the Plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crosscast.recipe.document import (
    BertModel,
    CrossEntropy,
    CustomModel,
    Data,
    Launch,
    Loss,
    Metrics,
    OpTypes,
    Recipe,
    Tracking,
)
from crosscast.recipe.versions import POLICY_OF_1, as_written

Tail = Literal["step", "drop", "carry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Model, data, batches and processes of a run; nothing of its training step.

    Scripts are printed from a Plan and a Frame alone.
    """

    name: str
    fingerprint: str
    """See `recipe_hash`."""
    seed: int
    model: BertModel | CustomModel
    op_types: OpTypes
    """Which operations of the shipped model run in the compute type of the Plan."""
    recomputes: bool
    """Whether the backward pass recomputes the activations of the encoder layers."""
    tf32: bool
    """Whether float32 products on GPUs may round to TensorFloat-32."""
    data: Data
    loss: Loss
    metrics: Metrics
    micro_batch_size: int
    global_batch_size: int
    tail: Tail
    """What becomes of the rows at the end of an epoch that do not fill a window."""
    nodes: int
    processes_per_node: int
    launch: Launch
    tracking: Tracking
    overrides: Mapping[str, Mapping[str, Any]]
    """Settings of the backends, by the backend's name."""

    @property
    def processes(self) -> int:
        """Number of processes to start."""
        return self.nodes * self.processes_per_node

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a full window, for each process."""
        return self.global_batch_size // (self.micro_batch_size * self.processes)


def frame_of(recipe: Recipe) -> Frame:
    """Return the frame of a recipe."""
    tail = recipe.accumulation.tail
    return Frame(
        name=recipe.name,
        fingerprint=recipe_hash(recipe),
        seed=recipe.seed,
        model=recipe.model,
        op_types=recipe.precision.ops,
        recomputes=recipe.activation_checkpointing,
        tf32=recipe.precision.tf32,
        data=recipe.data,
        loss=recipe.loss,
        metrics=recipe.metrics,
        micro_batch_size=recipe.batch.micro_batch_size,
        global_batch_size=recipe.batch.global_batch_size,
        tail=tail if tail in ("drop", "carry") else "step",
        nodes=recipe.distributed.nodes,
        processes_per_node=recipe.distributed.processes_per_node,
        launch=recipe.launch,
        tracking=recipe.tracking,
        overrides=recipe.overrides,
    )


def recipe_hash(recipe: Recipe) -> str:
    """Return a short fingerprint of all recipe fields that affect the training.

    Checkpoints can be resumed if it matches; metrics, tracking, the launch of the processes, the
    number of machines and of workers that read rows are not included. It does not depend on the
    version in which a recipe is written.
    """
    data = recipe.model_dump(mode="json")
    data["precision"]["policy"] = POLICY_OF_1  # it says nothing that the classes do not say
    data = as_written(data)
    del data["launch"], data["metrics"], data["tracking"]
    del data["distributed"]["nodes"], data["data"]["workers"]
    if recipe.loss == CrossEntropy():
        del data["loss"]  # as in recipes from before there was a section about it
    if not recipe.schedule.warmup_start_lr:
        del data["schedule"]["warmup_start_lr"]  # likewise
    data["distributed"]["processes_per_node"] = recipe.processes
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
