"""Runs that go on from stored weights with a new optimizer and its schedule (CL725)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.schedule.keras_schedule_restarts import RULE


def found(text: str) -> bool:
    return "CL725" in {d.code for d in lint_sources([Source("train.py", text)])}


LOADED = 'model.load_weights("checkpoints/epoch_10.weights.h5")'


def test_other_ways_to_go_on() -> None:
    assert found(RULE.wrong)
    assert found(RULE.wrong.replace(LOADED, 'model.load_weights(f"epoch_{last}.h5")'))
    assert found(RULE.wrong.replace("epoch_10.weights.h5", "epoch_10.keras"))
    assert found(RULE.wrong.replace("initial_epoch=10", "initial_epoch=settings.first"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("initial_epoch=10", "initial_epoch=0"),
        ("initial_epoch=10, ", ""),
        ("initial_epoch=10", "initial_epoch=first.epoch[-1]"),
        (f"{LOADED}\n", ""),
        (LOADED, 'backbone.load_weights("backbone.h5")'),
        ("epoch_10.weights.h5", "epoch_10"),
        ("Adam(rate)", "Adam(1e-3)"),
        ("model = ", "model = tf.keras.models.load_model('whole.keras')\nother = "),
    ],
)
def test_runs_whose_schedule_is_right_or_unknown(old: str, new: str) -> None:
    text = RULE.wrong
    if "first.epoch" in new:
        text = text.replace("model.fit(", "first = model.fit(dataset, epochs=10)\nmodel.fit(")
    assert old in text
    assert not found(text.replace(old, new))
