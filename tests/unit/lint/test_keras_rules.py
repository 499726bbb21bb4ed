"""Versions of Keras that count micro-batches themselves (CL701)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options

FIT = """\
import keras

model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(2)])
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(inputs, targets, batch_size=8)
"""


def accumulating(more: str, before: str = "") -> str:
    return before + FIT.replace("AdamW(1e-3)", f"AdamW({more})")


SCHEDULE = "rate = keras.optimizers.schedules.CosineDecay(1e-3, 100)\n"
IMPORT = "import keras\n"


@pytest.mark.parametrize("version", ["3.1.1", "3.4.1", "3.5.0", "3.15.1"])
def test_every_keras_3_counts_micro_batches(version: str) -> None:
    text = accumulating("rate, gradient_accumulation_steps=4", IMPORT + SCHEDULE)
    options = Options(versions={"keras": version})
    found = lint_sources([Source("train.py", text)], options)
    assert "CL701" in {diagnostic.code for diagnostic in found}
