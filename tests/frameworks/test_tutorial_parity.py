"""The comparison at the end of the tutorial comes to the verdict that the page prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from page_sessions import blocks
from tiers import exhaustive

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "ten-minutes.md"
NUMBER = re.compile(r"\d[\d.e-]*")


def plain(text: str) -> str:
    """Return a text without its numbers and line breaks."""
    return " ".join(NUMBER.sub("#", text).split())


@exhaustive("the comparison of the tutorial")
@pytest.mark.torch
@pytest.mark.paddle
def test_the_comparison_prints_its_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = {(kind, before): lines[first:last] for first, last, kind, before in blocks(lines)}
    recipe = next(text for (_, before), text in found.items() if "corrected" in before)
    command = next(text for text in found.values() if " parity " in text[0])
    wanted = next(text for (kind, _), text in found.items() if kind == "text")
    (tmp_path / "recipe.yaml").write_text("\n".join([*recipe, ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command[0])[1:])
    assert done.exit_code == 0, done.output
    assert plain("\n".join(wanted)) in plain(done.stdout)
    assert (tmp_path / "report" / "report.html").is_file()
