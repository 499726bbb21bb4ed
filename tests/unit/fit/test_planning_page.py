"""The page about planning: every command on it prints what stands there, and its tables agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.fit.devices import DEVICES
from page_sessions import check_page

PAGE = Path(__file__).parents[3] / "docs" / "planning.md"


def test_every_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_page(PAGE, tmp_path, monkeypatch) == 3


def test_the_page_has_the_table_of_devices() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for one in DEVICES:
        usable = f"{one.usable_bytes / 2**30:.1f}"
        types = ", ".join(one.half_types)
        rates = f"{one.half_tflops:g} | {one.float32_tflops:g} | {one.bandwidth_gbs:g}"
        row = f"| {one.name} | {one.memory_gb} | {usable} | {types} | {rates} | {one.source} |"
        assert row in text
