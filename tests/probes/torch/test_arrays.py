"""PyTorch still takes no array of another byte order: emitted scripts read rows as int64."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


def test_arrays_of_another_byte_order_are_not_taken() -> None:
    facts = run_python(Path(__file__).with_name("facts.py"), "torch", "arrays")
    unsigned = {name: f"torch.{name}" for name in ("uint16", "uint32", "uint64")}
    assert facts == unsigned | dict.fromkeys((">i4", ">f4", "longdouble"))
