"""The page about planning: every command on it prints what stands there, and its tables agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.fit.devices import DEVICES
from page_sessions import check_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "planning.md"


def test_every_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_page(PAGE, tmp_path, monkeypatch) == 3


def test_the_page_has_the_table_of_devices() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for device in DEVICES:
        usable = f"{device.usable_bytes / 2**30:.1f}"
        types = ", ".join(device.half_types)
        rates = f"{device.half_tflops:g} | {device.float32_tflops:g} | {device.bandwidth_gbs:g}"
        sizes = f"{device.memory_gb} | {usable}"
        assert f"| {device.name} | {sizes} | {types} | {rates} | {device.source} |" in text
