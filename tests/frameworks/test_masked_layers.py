"""What docs/reference/parity.md says is reached by given masks, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import start

PROGRAM = Path(__file__).with_name("run_masked_layers.py")
WHOLE = {"shape": [2, 3, 4, 4], "same": True}
CHANNELS = {"shape": [2, 3, 1, 1], "same": True}
LOST = ["lstm", "gru", "alpha"]
EXPECTED: dict[str, dict[str, Any]] = {
    "torch": {
        "reached": {
            "F.dropout": WHOLE,
            "nn.Dropout": WHOLE,
            "nn.Dropout, in place": WHOLE,
            "nn.Dropout2d": CHANNELS,
            "attention": {"shape": [2, 3, 4, 4], "same": False},
        },
        "out_of_reach": LOST,
    },
    "paddle": {
        "reached": {"F.dropout": WHOLE, "nn.Dropout": WHOLE, "nn.Dropout2D": CHANNELS},
        "out_of_reach": LOST,
    },
    "tensorflow": {
        "reached": {
            "tf.nn.dropout": WHOLE,
            "stateless": WHOLE,
            "Dropout": WHOLE,
            "SpatialDropout2D": {"shape": [2, 1, 1, 4], "same": True},
            "uniform": WHOLE,
        },
        "out_of_reach": [],
    },
}


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in EXPECTED]
)
def test_every_documented_way_to_drop_gets_its_masks(framework: str) -> None:
    done = start(PROGRAM, framework, framework)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == EXPECTED[framework]
