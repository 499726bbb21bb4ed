"""Dropout on: three frameworks train with the same masks, and what is wrong with dropout shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.masks import compare_masks
from crosscast_parity.levels.model import compare_models
from crosscast_parity.recordings.observations import read_observation
from frameworks.emitted_script import TINY, emit, tiny_recipe, write_rows
from frameworks.masked_runs import asked, given, masked
from frameworks.script_runs import Run
from tiers import Lazy

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

FRAMEWORKS = ("torch", "tensorflow", "paddle")
OTHERS = FRAMEWORKS[1:]
RATE = 0.1
ROWS = 42
"""Windows of 16, 16 and 10 rows; the last micro-batch of the third has 2."""
WINDOWS = 4
KERAS_SUM = "self.attention_norm(x + y)"
PLANTED: dict[str, dict[str, list[tuple[str, str]]]] = {
    "torch": {
        "rate": [("DROPOUT = 0.1", "DROPOUT = 0.2")],
        "before tanh": [
            ("torch.tanh(self.pooler", "torch.tanh(F.dropout(self.pooler"),
            ("(x[:, 0]).float())", "(x[:, 0]).float(), DROPOUT, self.training))"),
            ("        x = F.dropout(x, DROPOUT, self.training)\n        return self.class", ""),
        ],
        "other masks again": [("reentrant=False", "reentrant=False, preserve_rng_state=False")],
    },
    "tensorflow": {
        "rate": [("DROPOUT = 0.1", "DROPOUT = 0.2")],
        "not scaled": [("x / (1.0 - DROPOUT)", "x")],
        "one mask twice": [("seed, self.first_mask + 1)", "seed, self.first_mask)")],
    },
    "paddle": {
        "not scaled": [
            ("training=self.training)", 'training=self.training, mode="downscale_in_infer")')
        ],
        "other masks again": [("reentrant=False", "reentrant=False, preserve_rng_state=False")],
        "of the sum": [
            ("return self.LayerNorm(residual + x)", "return self.LayerNorm(x)"),
            (
                "x = F.dropout(x, DROPOUT, training=self.training)\n        return self.LayerNorm",
                "x = F.dropout(residual + x, DROPOUT, training=self.training)\n        return self.LayerNorm",
            ),
        ],
        "none in attention": [
            ("weights = F.dropout(weights, DROPOUT, training=self.training)", "pass")
        ],
    },
}
"""Edits of the emitted model, by what is wrong then."""
