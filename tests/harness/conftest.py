"""What the tests of the harness share."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity_lab import Lab


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of comparisons that only ask for results: a stand-in is run once for all of them."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def lab(tmp_path: Path, made: Path) -> Lab:
    return Lab(tmp_path, made)


@pytest.fixture
def own_lab(tmp_path: Path) -> Lab:
    """A laboratory that makes all its runs itself."""
    return Lab(tmp_path)


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages get no figures of their stages, which take longer than a comparison of stand-ins."""
    monkeypatch.setattr("crosscast_parity.report.page.render.stage_plots", lambda *_: [])
