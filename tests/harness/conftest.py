"""What the tests of the harness share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parity_lab import Lab

DRAWINGS = ("bisection_plot", "curve_plot", "heatmap_plot", "timeline_plot", "trajectory_plot")


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


@pytest.fixture(scope="session")
def drawn() -> dict[str, Any]:
    return {}


@pytest.fixture
def figures_once(drawn: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports alike in their numbers share their figures; each takes half a second to draw."""
    from crosscast_parity.report.page import figures  # matplotlib is for those who ask

    def once(name: str, draw: Any, *given: Any, **named: Any) -> Any:
        key = repr((name, given, named))
        if key not in drawn:
            drawn[key] = draw(*given, **named)
        return drawn[key]

    for name in DRAWINGS:
        monkeypatch.setattr(figures, name, partial(once, name, getattr(figures, name)))


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages get no figures of their stages, which take longer than a comparison of stand-ins."""
    monkeypatch.setattr("crosscast_parity.report.page.render.stage_plots", lambda *_: [])
