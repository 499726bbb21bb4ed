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
LAYERS = 4
"""Of BERT-small, which the pace of a framework was measured with."""
TOKENS = 32
"""Of a row whose length is not known."""
SECONDS_OF_A_TOY_WINDOW = 0.002
FORWARD = 1 / 3
"""Share of an evaluated row in a row that is trained on."""


def pace_of(framework: str) -> Pace:
    """Return the pace of a framework; of one that is not known, that of PyTorch."""
    harness = harness_of(framework)
    return harness.pace if harness else Pace()


def cost(spec: RunSpec, weights: int, framework: str) -> float:
    """Return about how many seconds of a CPU core a run takes, its process apart."""
    pace, recipe = pace_of(framework), spec.recipe
    start = pace.start * getattr(recipe.model, "layers", LAYERS) / LAYERS
    if spec.toy:
        return start + pace.factor * spec.windows * SECONDS_OF_A_TOY_WINDOW
    micro_batches = spec.windows * recipe.accumulation.steps
    rows: float = micro_batches * recipe.batch.micro_batch_size
    if spec.name == "main" and isinstance(recipe.data, SyntheticData):
        rows += FORWARD * recipe.data.eval_rows
    tokens = rows * getattr(recipe.data, "sequence_length", TOKENS)
    sweeps = micro_batches + spec.windows
    training = tokens * SECONDS_OF_A_TOKEN * weights + sweeps * SECONDS_OF_A_SWEEP * weights
    training += micro_batches * SECONDS_OF_A_MICRO_BATCH
    training *= pace.factor
    records = len(spec.record) * SECONDS_OF_A_RECORD * weights
    return start * (2 if spec.resume else 1) + training + records
