"""What the scripts for Keras 2 rest on (CC321 to CC324, CC370 to CC372)."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_a_skipped_step_counts(keras2: dict[str, Any]) -> None:
    found = keras2["dynamic"]
    assert found["scales"] == [4.0, 8.0, 4.0, 4.0]
    assert found["weights"] == [-0.25, -0.5, -0.5, -0.75]
    assert found["updates"] == [1, 2, 3, 4]  # three of them moved the weight


def test_the_loss_scale_stays_above_one(keras2: dict[str, Any]) -> None:
    assert keras2["floor"]["scales"] == [1.0, 1.0, 1.0]


def test_a_static_scale_applies_infinite_gradients(keras2: dict[str, Any]) -> None:
    assert keras2["static"]["weights"] == [-math.inf]


def test_optimizers_are_those_of_keras_3(keras2: dict[str, Any]) -> None:
    raw = -math.sqrt(0.001) * 1e-3 / (math.sqrt(0.001) * 1e-3 + 1e-3)
    assert keras2["adam"] == [pytest.approx(raw, rel=1e-4)]
    assert keras2["adam decay"] == [pytest.approx(0.95)]
    assert keras2["momentum"] == [-1.0, -1.5, -1.75]


def test_dropout_has_no_state_to_restore(keras2: dict[str, Any]) -> None:
    assert keras2["dropout variables"] == 0


def test_the_graph_rewrite_takes_old_optimizers_only(keras2: dict[str, Any]) -> None:
    assert keras2["rewrite"]["accepts"] == {"old": True, "keras": False}


def test_the_graph_rewrite_does_nothing_on_a_cpu(keras2: dict[str, Any]) -> None:
    assert keras2["rewrite"]["on"] is True
    assert keras2["rewrite"]["error"] < 1e-6  # in float16: 0.002


def test_statistics_are_averaged_at_every_read(keras2: dict[str, Any]) -> None:
    assert keras2["statistics"] == ["ON_READ", "MEAN"]


def test_a_frozen_model_trains_what_compile_saw(keras2: dict[str, Any]) -> None:
    assert keras2["frozen"] == {"weights": 0, "after compile": True, "after a batch": True}  # CL720
