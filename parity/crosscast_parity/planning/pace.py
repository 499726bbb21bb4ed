"""About how long a run takes: for the order of runs, for packing, and for the time left."""

from __future__ import annotations

from crosscast.recipe.document import SyntheticData
from crosscast.targets.backend import harness_of
from crosscast.targets.harness import Pace
from crosscast_parity.planning.runs import RunSpec

SECONDS_OF_A_TOKEN = 4e-11
"""Forward and backward, for each weight."""
SECONDS_OF_A_SWEEP = 2e-9
"""One pass over a weight: a micro-batch adds a gradient, a window clips and steps."""
SECONDS_OF_A_MICRO_BATCH = 0.004
SECONDS_OF_A_RECORD = 4e-8
"""A window that is recorded, for each weight."""
FORWARD = 1 / 3
"""Share of an evaluated row in a row that is trained on."""


def cost(spec: RunSpec, weights: int, framework: str) -> float:
    """Return about how many seconds of a CPU core a run takes, its process apart."""
    harness, recipe = harness_of(framework), spec.recipe
    pace = harness.pace if harness else Pace()
    micro_batches = spec.windows * recipe.accumulation.steps
    rows: float = micro_batches * recipe.batch.micro_batch_size
    if spec.name == "main" and isinstance(recipe.data, SyntheticData):
        rows += FORWARD * recipe.data.eval_rows
    tokens = rows * recipe.data.sequence_length
    sweeps = micro_batches + spec.windows
    training = tokens * SECONDS_OF_A_TOKEN * weights + sweeps * SECONDS_OF_A_SWEEP * weights
    training += micro_batches * SECONDS_OF_A_MICRO_BATCH
    return pace.start + pace.factor * training + len(spec.record) * SECONDS_OF_A_RECORD * weights
