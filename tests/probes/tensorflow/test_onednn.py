"""oneDNN decides how products in bfloat16 round, and the processor decides about oneDNN."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frameworks.subprocesses import run_python
from tiers import cases

pytestmark = pytest.mark.tensorflow


def flags() -> set[str]:
    """What the processor has, in the words of Linux."""
    information = Path("/proc/cpuinfo")
    return set(information.read_text().split()) if information.exists() else set()


@pytest.mark.parametrize(
    "setting", cases(["0", "1", "default"], quick=["default"], reason="oneDNN as it is told")
)
def test_what_depends_on_onednn(setting: str) -> None:
    between = {"avx_vnni", "amx_tile"} & flags() and "avx512_vnni" not in flags()
    if setting == "default" and (between or "avx2" not in flags()):
        pytest.skip("not a processor whose default was measured")
    program = Path(__file__).with_name("facts_onednn.py")
    usual = setting == "default" and "TF_ENABLE_ONEDNN_OPTS" not in os.environ
    found: dict[str, bool] = run_python(program, "tensorflow", setting, fork=usual)
    on = setting == "1" or (setting == "default" and "avx512_vnni" in flags())
    assert found["counts"] == on
    if "avx512_vnni" in flags():  # others were not measured
        assert found["rounds"] == on
