"""What autocast computes in float32 whatever it gets: the lists of a CPU and of CUDA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_reading.pysource.libraries.precision_tables import Lookup
from crosscast_torch.inside.autocast_lists import CUDA
from crosscast_torch.words.mixed_precision import MIXED_PRECISION
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


def test_the_tables_of_lint_have_the_same_list() -> None:
    """They have other names, and are read where there is no PyTorch."""
    lookup = Lookup(MIXED_PRECISION)
    rows = {name: lookup.named(f"torch.nn.functional.{name}") for name in sorted(CUDA)}
    told = {name for name, row in rows.items() if row and row.stores == "float32"}
    assert told == {name for name, row in rows.items() if row}
    assert {"layer_norm", "group_norm", "rms_norm", "softmax", "log_softmax"} <= told
