"""Numbers are shown as a person would write them, and left alone where a source writes them."""

from __future__ import annotations

import math
import struct

import pytest

from crosscast.messages.numbers import nearby, shortest
from reading_helpers.torch_loops import lifted


@pytest.mark.parametrize("written", [0.01, 6e-4, 0.1, 1e-8, 0.999, 65536.0, 3.0, 1e-38, 0.0, -0.3])
def test_a_float32_is_shown_as_it_was_written(written: float) -> None:
    recorded = struct.unpack("f", struct.pack("f", written))[0]
    assert shortest(recorded) == written


@pytest.mark.parametrize("value", [0.1 + 0.2, 3 * 2e-4, 0.7 / 7, 0.0005999999999999998])
def test_a_product_is_shown_without_its_rounding(value: float) -> None:
    assert len(repr(nearby(value))) < 10
    assert math.isclose(nearby(value), value, rel_tol=1e-15)
    assert shortest(value) == nearby(value)


@pytest.mark.parametrize("value", [1 / 3, math.pi, 0.30000000000001, math.inf, 5e-324])
def test_other_numbers_are_left_alone(value: float) -> None:
    assert nearby(value) == value


def test_what_a_source_writes_is_not_rounded() -> None:
    made = "torch.optim.AdamW(model.parameters(), lr={}, weight_decay=0.30000000000000004)"
    computed = lifted(before="rate = 2e-4", optimizer=made.format("2e-4 * 3"))
    assert computed.fields["optimizer.learning_rate"].value == 6e-4
    assert computed.fields["optimizer.weight_decay"].value == 0.30000000000000004
    named = lifted(imports="rate = 2e-4", optimizer=made.format("rate * 3"))
    assert named.fields["optimizer.learning_rate"].value == 6e-4
