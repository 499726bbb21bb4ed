"""Why the script sums gradients by itself (CC326)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_keras_drops_the_overflowed_micro_batch(facts: dict[str, Any]) -> None:
    # The window of three ends with the fourth micro-batch: the second one did not count.
    found = facts["accumulated"]
    assert found["weights"] == [0.0, 0.0, 0.0, pytest.approx(-(1 + 2 * (3 + 4)) / 3)]
    assert found["scale"] == 0.5
