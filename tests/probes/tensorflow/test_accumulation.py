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


def test_the_schedule_is_asked_for_micro_batches(facts: dict[str, Any]) -> None:
    # Not 0, 1 and 2, in any release from 3.1 on, although optimizer.iterations counts updates now.
    assert facts["counted"] == [3.0, 7.0, 11.0]
    assert facts["iterations"] == 2
