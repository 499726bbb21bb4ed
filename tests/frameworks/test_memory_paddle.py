"""Predicted against measured peak memory of emitted Paddle scripts, on a CPU."""

from __future__ import annotations

import pytest

from crosscast.memory.estimate import estimate
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure
from frameworks.subprocesses import warm
from recipe_texts import recipe_of
from tiers import cases

pytestmark = pytest.mark.paddle

SMALL_TABLE = "{kind: bert, preset: tiny, vocab_size: 1000, labels: 3, dropout: 0.1}"


LONG = {
    "model": SMALL_TABLE,
    "batch": "{micro_batch_size: 8}",
    "data": "{source: synthetic, sequence_length: 256}",
}
BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
EXPLICIT_CASTS = "{mode: mixed, compute_dtype: bfloat16, ops: {residual: float32}}"
FIELDS = [
    {"model": SMALL_TABLE, "batch": "{micro_batch_size: 32}"},
    {"model": SMALL_TABLE, "batch": "{micro_batch_size: 32}", "activation_checkpointing": "true"},
    {"batch": "{micro_batch_size: 2}", "clipping": "{kind: global_norm, max_norm: 1.0}"},
    {"optimizer": "{name: sgd, learning_rate: 1e-3, momentum: 0.9}"},
    LONG | {"version": "2"},
    LONG | {"version": "2", "precision": BFLOAT16},
    LONG | {"version": "2", "precision": EXPLICIT_CASTS},
]


@pytest.mark.parametrize(
    "fields",
    cases(FIELDS, quick=FIELDS[:1], reason="peaks of more recipes"),
    ids=["activations", "checkpointing", "table", "sgd", "fused", "copies", "types"],
)
def test_peaks_are_predicted(fields: dict[str, str]) -> None:
    recipe = recipe_of(**{"data": "{source: synthetic, sequence_length: 64}"} | fields)
    predicted = estimate(recipe, find_target("paddle"), device="cpu").peak_bytes
    measured = measure(recipe, "paddle", warm("paddle")).peak_bytes
    assert abs(predicted / measured - 1) <= 0.05
