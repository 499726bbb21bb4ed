"""The plot of `crosscast plan`: PNG and self-contained HTML, whole or not at all."""

from __future__ import annotations

import builtins
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app

RECIPE = """version: 1
name: planned
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic}
batch: {micro_batch_size: 8, global_batch_size: 16}
optimizer: {name: adamw, learning_rate: 1e-3}
schedule: {name: linear, total_steps: 10}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return path


def plan(recipe: Path, plot: Path, *words: str, to: str = "torch") -> Result:
    given = ["plan", str(recipe), "--to", to, "--memory", "1GiB", "--plot", str(plot)]
    return CliRunner().invoke(app, [*given, *words])


class Page(HTMLParser):
    """What a page would load, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [tag] * (tag in ("script", "link", "img", "iframe"))
        links = (value for name, value in attrs if name in ("src", "href", "xlink:href"))
        self.loads += [value for value in links if value and not value.startswith("#")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_png(recipe: Path, tmp_path: Path) -> None:
    plot = tmp_path / "new" / "plot.PNG"
    found = plan(recipe, plot)
    assert found.exit_code == 0, found.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in plot.parent.iterdir()] == ["plot.PNG"]


def test_a_page_that_loads_nothing(recipe: Path, tmp_path: Path) -> None:
    recipe.write_text(RECIPE.replace("planned", "a.b-c"))
    plot = tmp_path / "plot.html"
    assert plan(recipe, plot, to="torch,torch@2.1").exit_code == 0
    page = Page()
    page.feed(plot.read_text())
    assert page.loads == []
    for word in ("a.b-c", "1.00 GiB", "parameters", "gradients", "margin", "limit", "torch@2.1"):
        assert word in page.text, word
    assert page.text.count("now: 8 x 2, float32") == 2


def test_what_is_there_is_not_replaced_unasked(recipe: Path, tmp_path: Path) -> None:
    plot = tmp_path / "plot.html"
    plot.write_text("mine")
    found = plan(recipe, plot)
    assert found.exit_code == 2
    assert "CC501" in found.output
    assert plot.read_text() == "mine"
    assert plan(recipe, plot, "--force").exit_code == 0
    assert plot.read_text() != "mine"


def test_a_place_that_cannot_be_written(recipe: Path, tmp_path: Path) -> None:
    found = plan(recipe, recipe / "plot.png")
    assert found.exit_code == 2
    assert "CC50" in found.output
    folder = tmp_path / "folder.png"
    folder.mkdir()
    assert "CC50" in plan(recipe, folder, "--force").output
    assert list(folder.iterdir()) == []


def test_without_matplotlib(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "crosscast_parity.memory.plot":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    found = plan(recipe, tmp_path / "plot.png")
    assert found.exit_code == 3
    assert "error CC401: --plot needs matplotlib" in found.output
    assert 'pip install "crosscast[parity]"' in found.output
