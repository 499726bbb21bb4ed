"""The smallest part of a whole that still does what the whole does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crosscast_parity.bisect.delta_debugging import minimal


@pytest.mark.parametrize("needed", [(3,), (0, 7), (1, 4, 6), tuple(range(8)), (7,), (0,)])
def test_the_smallest_part_is_found(needed: Sequence[int]) -> None:
    tried = []

    def does(part: tuple[int, ...]) -> bool:
        tried.append(part)
        return set(needed) <= set(part)

    assert minimal(range(8), does) == tuple(needed)
    assert len(tried) == len(set(tried))


def test_parts_that_cannot_be_tried_stay_together() -> None:
    def does(part: tuple[int, ...]) -> bool:
        return {2, 5} <= set(part) and ({0, 1} <= set(part) or not {0, 1} & set(part))

    assert minimal(range(6), does) == (2, 5)


def test_one_item_is_its_own_smallest_part() -> None:
    assert minimal(["a"], lambda part: True) == ("a",)
