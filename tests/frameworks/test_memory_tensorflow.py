"""Predicted against measured peak memory of emitted TensorFlow scripts, on a CPU."""

from __future__ import annotations

import pytest

from crosscast.memory.estimate import estimate
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure
from frameworks.subprocesses import warm
from recipe_texts import FLOAT16, recipe_of
from tiers import cases

pytestmark = pytest.mark.tensorflow

WORST, RECOMPUTED = 0.1, 0.25
"""The executor may run parts of a layer again while another one still lives (memory.md)."""
SMALL_TABLE = "{kind: bert, preset: tiny, vocab_size: 1000, labels: 3, dropout: 0.1}"
BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
STORED = {
    "version": "2",
    "model": SMALL_TABLE,
    "batch": "{micro_batch_size: 32}",
    "precision": BFLOAT16,
}
LONG = {"data": "{source: synthetic, sequence_length: 256}", "batch": "{micro_batch_size: 8}"}
"""Most of its memory is for weights of attention: a float32 copy of them would be seen."""


FIELDS = [
    ({"model": SMALL_TABLE, "batch": "{micro_batch_size: 32}"}, "backward"),
    (
        {
            "model": SMALL_TABLE,
            "batch": "{micro_batch_size: 32}",
            "precision": BFLOAT16,
            "activation_checkpointing": "true",
        },
        "backward",
    ),
    ({"model": SMALL_TABLE, "batch": "{micro_batch_size: 32}", "precision": FLOAT16}, "backward"),
    ({"batch": "{micro_batch_size: 2}"}, "step"),
    (STORED, "backward"),
    (STORED | LONG, "backward"),
    (STORED | {"activation_checkpointing": "true", "precision": FLOAT16}, "backward"),
]


@pytest.mark.parametrize(
    ("fields", "phase"),
    cases(FIELDS, quick=FIELDS[:1], reason="peaks of more recipes"),
    ids=[
        "activations",
        "checkpointing",
        "float16",
        "table",
        "stored",
        "stored long",
        "stored checkpointing",
    ],
)
def test_peaks_are_predicted(fields: dict[str, str], phase: str) -> None:
    usual = {
        "data": "{source: synthetic, sequence_length: 64}",
        "clipping": "{kind: global_norm, max_norm: 1.0}",
    }
    recipe = recipe_of(**usual | fields)
    predicted = estimate(recipe, find_target("tensorflow"), device="cpu")
    measured = measure(recipe, "tensorflow", warm("tensorflow")).peak_bytes
    assert predicted.peak_phase == phase
    bound = RECOMPUTED if recipe.activation_checkpointing else WORST
    assert abs(predicted.peak_bytes / measured - 1) <= bound
    assert predicted.total >= measured
