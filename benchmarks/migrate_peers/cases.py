"""The inputs, with handwritten facts about their training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

INPUTS = Path(__file__).parent / "inputs"
ROUNDED = 0.03
"""Bound where one side computes in float16 and the other does not, or not in the same places."""
Source = Literal[
    "torch", "torch with the stand-in for apex", "TensorFlow 2.5", "TensorFlow 2.5, v1", "paddle"
]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One training script."""

    name: str
    """Of the file."""
    title: str
    runs_in: Source
    """Where the source still runs; its losses there are the curve that others must follow."""
    facts: Mapping[str, object]
    """Fields of a recipe that the source says, by hand; also defaults that matter."""
    fill_in: Mapping[str, str] = field(default_factory=dict)
    """What no reader can know and a person fills in for another framework, besides the data."""
    bound: float = 1e-5
    """Up to which largest relative deviation a curve is the same."""
    half_when_run: bool = False
    """Whether half precision must be seen in a run of the output on a CPU; Keras can there."""
    beyond: tuple[str, str] | None = None
    """What no recipe says of it, and the words that a warning about it must have."""
    note: str = ""
    """What a reader of its rows must know."""
    windows_a_loss: int = 1
    """How many windows a printed loss is the mean of: all of an epoch, if Keras fits."""

    @property
    def computes_half(self) -> bool:
        """Whether the source itself computes in float16 on a CPU; its bound is one of rounding."""
        return self.bound == ROUNDED

    @property
    def path(self) -> Path:
        return INPUTS / f"{self.name}.py"

    @property
    def framework(self) -> str:
        return self.runs_in.split()[0].lower()

    @property
    def api(self) -> str:
        """What it is brought to in place."""
        return {"torch": "torch.amp", "tensorflow": "keras3", "paddle": "paddle3"}[self.framework]

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")


HALF = {"precision.mode": "mixed", "precision.compute_dtype": "float16"}

CASES = (
    Case(
        name="cuda_amp",
        title="torch.cuda.amp, 4 micro-batches, clipping, AdamW with its default decay",
        runs_in="torch",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 4096.0,
            "loss_scaling.growth_interval": 500,
            "accumulation.steps": 4,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 1.0,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 0.003,
            "optimizer.weight_decay": 0.01,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "8"},
    ),
    Case(
        name="apex_o1",
        title="apex O1, dynamic loss scale, Adam with betas and epsilon, clipping",
        runs_in="torch with the stand-in for apex",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "accumulation.steps": 2,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 0.5,
            "optimizer.name": "adam",
            "optimizer.learning_rate": 0.005,
            "optimizer.betas": [0.9, 0.98],
            "optimizer.eps": 1e-6,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "8"},
    ),
    Case(
        name="apex_o2_fused_adam",
        title="apex O2, constant loss scale, FusedAdam with decay, warm-up by LambdaLR",
        runs_in="torch with the stand-in for apex",
        facts={
            "precision.compute_dtype": "float16",
            "loss_scaling.mode": "static",
            "loss_scaling.scale": 128.0,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 1.0,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 0.01,
            "optimizer.weight_decay": 0.05,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "16"},
    ),
    Case(
        name="manual_fp16",
        title="half model, float32 masters, constant loss scale, all by hand",
        runs_in="torch",
        facts={
            "precision.compute_dtype": "float16",
            "loss_scaling.mode": "static",
            "loss_scaling.scale": 128.0,
            "optimizer.name": "sgd",
            "optimizer.learning_rate": 0.05,
            "optimizer.momentum": 0.9,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "16"},
        bound=ROUNDED,
    ),
    Case(
        name="adamw_float32",
        title="float32, AdamW with its default decay, 4 micro-batches, clipping",
        runs_in="torch",
        facts={
            "precision.mode": "none",
            "accumulation.steps": 4,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 1.0,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 0.01,
            "optimizer.weight_decay": 0.01,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "8"},
    ),
    Case(
        name="adam_warmup",
        title="torch.amp of today, Adam with betas and epsilon, warm-up and decay by LambdaLR",
        runs_in="torch",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 1024.0,
            "optimizer.name": "adam",
            "optimizer.learning_rate": 0.01,
            "optimizer.betas": [0.85, 0.98],
            "optimizer.eps": 1e-4,
        },
        fill_in={
            "schedule.total_steps": "64",
            "schedule.warmup_steps": "8",
            "batch.micro_batch_size": "16",
        },
    ),
    Case(
        name="sgd_momentum",
        title="float32, SGD with Nesterov momentum and decay, clipping by value",
        runs_in="torch",
        facts={
            "precision.mode": "none",
            "clipping.kind": "value",
            "clipping.max_value": 0.05,
            "optimizer.name": "sgd",
            "optimizer.learning_rate": 0.1,
            "optimizer.momentum": 0.9,
            "optimizer.nesterov": True,
            "optimizer.weight_decay": 0.001,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "16"},
    ),
    Case(
        name="keras_experimental",
        title="experimental Keras policy with a constant loss scale, SGD with clipnorm, fit",
        runs_in="TensorFlow 2.5",
        facts=HALF
        | {
            "loss_scaling.mode": "static",
            "loss_scaling.scale": 1024.0,
            "clipping.kind": "per_param_norm",
            "clipping.max_norm": 0.5,
            "optimizer.name": "sgd",
            "optimizer.learning_rate": 0.05,
            "optimizer.momentum": 0.9,
        },
        fill_in={"schedule.total_steps": "400", "batch.micro_batch_size": "32"},
        bound=ROUNDED,
        half_when_run=True,
        windows_a_loss=8,
    ),
    Case(
        name="keras_loss_scale_loop",
        title="experimental LossScaleOptimizer in a loop by hand, Adam with epsilon, clipping",
        runs_in="TensorFlow 2.5",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "clipping.kind": "global_norm",
            "clipping.max_norm": 1.0,
            "optimizer.name": "adam",
            "optimizer.learning_rate": 0.01,
            "optimizer.eps": 1e-5,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "16"},
        bound=ROUNDED,
        half_when_run=True,
    ),
    Case(
        name="tf_graph_rewrite_keras",
        title="graph rewrite of a Keras optimizer, Adam with beta_2, fit",
        runs_in="TensorFlow 2.5",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "optimizer.name": "adam",
            "optimizer.learning_rate": 0.01,
            "optimizer.betas": [0.9, 0.98],
        },
        fill_in={"schedule.total_steps": "400", "batch.micro_batch_size": "32"},
        bound=ROUNDED,
        half_when_run=True,
        windows_a_loss=8,
    ),
    Case(
        name="tf_env_variable",
        title="graph rewrite by environment variable, RMSprop, fit",
        runs_in="TensorFlow 2.5",
        facts=HALF | {"optimizer.learning_rate": 0.002},
        beyond=("RMSprop", "the optimizer is rmsprop"),
        note="""\
A recipe knows no RMSprop: for another framework AdamW stands in until a person says otherwise, and
crosscast says so (CC911, CC972). The curve is that of another optimizer. TensorFlow as it was
published does not read the variable; the source trained in float32.""",
        fill_in={"schedule.total_steps": "400", "batch.micro_batch_size": "32"},
        bound=ROUNDED,
        half_when_run=True,
        windows_a_loss=8,
    ),
    Case(
        name="tf_graph_rewrite_v1",
        title="TensorFlow 1: graph, session, Momentum optimizer, graph rewrite",
        runs_in="TensorFlow 2.5, v1",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "optimizer.name": "sgd",
            "optimizer.learning_rate": 0.05,
            "optimizer.momentum": 0.9,
            "optimizer.nesterov": True,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "16"},
        bound=ROUNDED,
        half_when_run=True,
    ),
    Case(
        name="paddle_amp",
        title="paddle.amp, 2 micro-batches, AdamW with its default decay, clipping",
        runs_in="paddle",
        facts=HALF
        | {
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 2048.0,
            "loss_scaling.growth_interval": 300,
            "accumulation.steps": 2,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 0.5,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 0.004,
            "optimizer.betas": [0.9, 0.98],
            "optimizer.eps": 1e-6,
            "optimizer.weight_decay": 0.01,
        },
        fill_in={"schedule.total_steps": "64", "batch.micro_batch_size": "8"},
    ),
)
