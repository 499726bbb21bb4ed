"""Levels, and what there is to say about a check beside its result: the row of a kind of check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crosscast.plan.operations import Dtype

Level = Literal[
    "gate", "L0a", "L0b", "L0c", "L0d", "L1a", "L1b", "L1c", "L1d", "L2", "L3", "result"
]

LEVELS: dict[Level, str] = {
    "gate": "the same program twice",
    "L0b": "trace against the neutral state machine",
    "L0a": "trace against the reference",
    "L0d": "types of operations, gradients and weights",
    "L1b": "replay: recorded gradients to weights, recomputed in float64",
    "L1a": "model in float32: loss and gradients",
    "L1c": "model in half precision: gradients",
    "L1d": "files that a run leaves: weights, averages, checkpoint, evaluation",
    "L0c": "gradient norm",
    "L2": "loss trajectory up to the horizon",
    "L3": "results over paired seeds",
    "result": "evaluation at the end (reported, not judged)",
}
"""In the order in which they explain each other: the first that fails says most about the cause."""

On = Literal[
    "every run",
    "recorded",
    "types",
    "late",
    "float32",
    "half",
    "autocast off",
    "checkpoint",
    "repeated",
    "resumed",
    "traced",
    "compared",
    "ends",
    "main",
    "faults",
    "toy",
    "seeds",
    "recipes",
]
ON: Mapping[On, str] = {
    "every run": "every run that trains the recipe's model",
    "recorded": "runs whose windows are recorded",
    "types": "of the recorded ones, the short ones with the script's own autocast",
    "late": "of the recorded ones, the long ones",
    "float32": "of the short ones, those whose products are in float32",
    "half": "of the short ones, those whose products are in half precision",
    "autocast off": "of the short ones, those of a half-precision script without its autocast",
    "checkpoint": "runs whose last checkpoint is kept",
    "repeated": "the second of two equal runs; of an emitted script it is resumed",
    "resumed": "runs that end early and are resumed: that one, and the run with overflows",
    "traced": "every run that the reference makes as well",
    "compared": "the same, but for paired seeds",
    "ends": "the long runs",
    "main": "the long runs, but for paired seeds",
    "faults": "runs with injected overflows",
    "toy": "runs on the toy",
    "seeds": "all pairs of one seed together",
    "recipes": "no run: the recipes of both programs",
}
"""Which runs a check looks at."""

Needs = Literal["trace", "files", "functions", "evaluate", "compiled", "emitted"]
NEEDS: Mapping[Needs, str] = {
    "trace": "every program, by its trace alone",
    "files": "every program, by the files that it leaves",
    "functions": "emitted scripts; your own with the named functions",
    "evaluate": "emitted scripts; your own with a function `evaluate`",
    "compiled": "scripts that were compiled here, and edited ones on their own recipe",
    "emitted": "scripts that were compiled here",
}
"""What a check needs of a program; see docs/reference/parity-contract.md."""


INIT = "initial or stress"
"""In the name of a check that is made once for each kind of initial weights."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of check, of which a comparison makes one a run.

    `compares`: what with what. `on`: which runs. `needs`: which programs. `limit`: the largest
    value that passes, 0 for equality and None where the result is no number; `by_type`: limits that
    depend on the type of the matmuls. `unit`: of the limit. `basis`: where the limit comes from.
    `untested`: when the check says NOT TESTED, beside a program that lacks what it needs.
    """

    level: Level
    name: str
    compares: str
    on: On
    needs: Needs = "functions"
    limit: float | None = 0.0
    by_type: Mapping[Dtype, float] = field(default_factory=dict)
    unit: str = ""
    basis: str = ""
    untested: str = ""
