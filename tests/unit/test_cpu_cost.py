"""How the tests measure what something costs: what the process holds does not count."""

from __future__ import annotations

import gc
import time

import pytest

from cpu_cost import cpu_seconds


def test_objects_from_before_are_left_out_of_collections() -> None:
    held = [[number] for number in range(1000)]
    seen: list[bool] = []

    def look() -> None:
        own: list[object] = []
        present = {id(object_) for object_ in gc.get_objects()}
        seen.extend([id(own) in present, id(held[0]) in present])

    cpu_seconds(look)
    assert seen == [True, False]
    assert any(object_ is held[0] for object_ in gc.get_objects())


def test_work_is_counted() -> None:
    def spin() -> None:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    assert cpu_seconds(spin) >= 0.2


def test_the_process_is_as_before_when_the_work_fails() -> None:
    def fail() -> None:
        raise ValueError("no")

    frozen = gc.get_freeze_count()
    with pytest.raises(ValueError, match="no"):
        cpu_seconds(fail)
    assert gc.get_freeze_count() == frozen
