"""What autocast computes in float32 whatever it gets: the lists of a CPU and of CUDA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("autocast_types.py"), "torch")
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_lists_are_those_of_the_framework(
    device: str, dtype: str, facts: dict[str, Any]
) -> None:
    assert facts["found"][device][dtype] == facts["lists"][device]
    assert len(facts["lists"]["cuda"]) > len(facts["lists"]["cpu"]) >= 3


def test_everything_on_the_lists_was_tried(facts: dict[str, Any]) -> None:
    assert facts["not tried"] == ["cross_entropy_with_softmax"]
