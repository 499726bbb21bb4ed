"""DistributedDataParallel decides in its forward pass whether the backward pass reduces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch

REDUCED = [1.5, 1.5]
OWN = [1.0, 2.0]


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("reductions.py"), "torch")
    return found


def test_the_block_counts_in_the_forward_pass(facts: dict[str, Any]) -> None:
    assert facts["neither"] == REDUCED
    assert facts["both"] == OWN
    assert facts["forward"] == OWN
    assert facts["backward"] == REDUCED


def test_so_does_the_attribute(facts: dict[str, Any]) -> None:
    assert facts["attribute in forward"] == OWN
    assert facts["attribute in backward"] == REDUCED


def test_what_was_held_back_waits_for_a_forward_pass_outside(facts: dict[str, Any]) -> None:
    assert facts["window"] == [3.0, 3.0]
    assert facts["window, last forward held"] == [2.0, 4.0]
