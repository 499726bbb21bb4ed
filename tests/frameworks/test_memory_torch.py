"""Predicted against measured peak memory of emitted PyTorch scripts, on a CPU."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import numpy as np
import pytest

from crosscast.diagnostics import DiagnosticError
from crosscast.memory.estimate import estimate
from crosscast.recipe import Recipe
from crosscast.target import find_target
from crosscast_parity.memory_worker import measure, trace_model
from recipe_texts import FLOAT16, recipe_of

pytestmark = [pytest.mark.torch, pytest.mark.slow]

BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
FLOAT32 = "{mode: none, compute_dtype: float32}"
FULL = "{mode: full, compute_dtype: bfloat16}"
OPS = "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute, losses: compute}}"
MEDIAN, WORST = 0.05, 0.15
NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(64, 3)
        self.frozen = nn.Linear(10, 10).requires_grad_(False)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.encoder(self.embed(input_ids)).mean(1))


build_model = Net
"""


def recipe(
    preset: str,
    rows: int,
    length: int,
    precision: str = FLOAT32,
    *,
    again: bool = False,
    **more: str,
) -> Recipe:
    return recipe_of(
        **{
            "model": f"{{kind: bert, preset: {preset}, vocab_size: 3000, labels: 3, dropout: 0.1}}",
            "data": f"{{source: synthetic, sequence_length: {length}}}",
            "batch": f"{{micro_batch_size: {rows}}}",
            "precision": precision,
            "clipping": "{kind: global_norm, max_norm: 1.0}",
            "activation_checkpointing": str(again).lower(),
        }
        | more
    )


def error(of: Recipe) -> float:
    """Return predicted over measured peak, minus one."""
    predicted = estimate(of, find_target("torch"), device="cpu").peak_bytes
    return predicted / measure(of, "torch", sys.executable).peak_bytes - 1


def test_peaks_of_bert_are_predicted() -> None:
    grid = [
        recipe("tiny", 32, 64),
        recipe("tiny", 32, 64, BFLOAT16),
        recipe("tiny", 16, 128, FLOAT16, again=True),
        recipe("mini", 8, 64, again=True),
        recipe("mini", 8, 64, BFLOAT16),
        recipe("small", 4, 32),
    ]
    errors = [abs(error(one)) for one in grid]
    assert statistics.median(errors) <= MEDIAN, errors
    assert max(errors) <= WORST, errors


@pytest.mark.parametrize(
    "of",
    [
        recipe("tiny", 32, 64, FULL),
        recipe("tiny", 16, 64, OPS, again=True),
        recipe("tiny", 2, 32, optimizer="{name: lamb, learning_rate: 1e-3}"),
        recipe("tiny", 2, 32, optimizer="{name: adafactor, learning_rate: 1e-3}"),
        recipe("tiny", 1, 128, accumulation="{steps: 1}", ema="{decay: 0.9}"),
        recipe("tiny", 2, 32, overrides="{torch: {fused_optimizer: false}}"),
    ],
    ids=["full", "ops", "lamb", "adafactor", "one-row", "unfused"],
)
def test_peaks_of_other_recipes_are_predicted(of: Recipe) -> None:
    assert abs(error(of)) <= MEDIAN


OWN = {
    "model": "{kind: custom, factory: {torch: 'net:build_model'}}",
    "data": "{source: npz, train: train.npz, eval: eval.npz, sequence_length: 32}",
    "batch": "{micro_batch_size: 16}",
    "optimizer": "{name: adamw, learning_rate: 1e-3, no_decay: []}",
}


def test_a_model_of_ones_own_is_traced(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    ids = np.ones((4, 32), np.int32)
    np.savez(
        tmp_path / "train.npz",
        input_ids=ids,
        attention_mask=ids,
        token_type_ids=ids,
        labels=ids[:, 0],
    )
    traced = trace_model(recipe_of(**OWN), sys.executable, folder=tmp_path)
    assert sum(weight.count for weight in traced.weights) == 500 * 64 + 2 * 49_984 + 3 * 65
    assert traced.frozen_bytes == 4 * 110
    assert traced.sequence_length == 32
    peaks = [
        estimate(
            recipe_of(**OWN | {"batch": f"{{micro_batch_size: {rows}}}"}),
            find_target("torch"),
            device="cpu",
            traced=traced,
        ).peak_bytes
        for rows in (16, 32, 64)
    ]
    assert peaks[0] < peaks[1] < peaks[2] < 2 * peaks[1]


def test_a_model_that_does_not_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("def build_model():\n    raise ValueError('no weights')\n")
    ids = np.ones((4, 32), np.int32)
    np.savez(tmp_path / "train.npz", labels=ids[:, 0], input_ids=ids)
    with pytest.raises(DiagnosticError) as caught:
        trace_model(recipe_of(**OWN), sys.executable, folder=tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, "no weights" in diagnostic.message) == ("CC452", True)
