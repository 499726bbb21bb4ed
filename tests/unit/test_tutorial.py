"""The tutorial and the how-to pages: every command on them prints what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_sessions import check_page

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = {"tutorial/ten-minutes.md": 3, "how-to/fix-a-script.md": 1, "how-to/leave-apex.md": 1}
"""The pages, with the number of folders in which their commands run."""


@pytest.mark.parametrize("page", FOLDERS)
def test_every_command_prints_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_page(DOCS / page, tmp_path, monkeypatch) == FOLDERS[page]
