"""The page about migrating: every command on it prints what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_sessions import check_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "migrating.md"


def test_every_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_page(PAGE, tmp_path, monkeypatch) == 14
