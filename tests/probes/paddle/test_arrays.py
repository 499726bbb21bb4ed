"""Paddle still takes uint16 for bfloat16, and no other byte order: scripts read rows as int64."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_uint16_is_taken_for_bfloat16() -> None:
    facts = run_python(Path(__file__).with_name("facts.py"), "paddle", "arrays")
    refused = dict.fromkeys(("uint32", "uint64", ">i4", ">f4"))
    assert facts["types"] == {"uint16": "paddle.bfloat16"} | refused
    assert facts["labels"] == [1]
