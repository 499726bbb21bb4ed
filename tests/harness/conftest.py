"""What the tests of the harness share."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages get no figures of their stages, which take longer than a comparison of stand-ins."""
    monkeypatch.setattr("crosscast_parity.report.page.render.stage_plots", lambda *_: [])
