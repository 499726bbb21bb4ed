"""Options that make no sense are usage: exit code 2, one diagnostic, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from recipe_texts import text_of


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--python", "torch"], "CC707"),
        (["--half", "emulated", "--device", "gpu"], "CC707"),
        (["--reference", "paddle"], "CC707"),
        (["--fault", "x"], "CC705"),
    ],
)
def test_parity_options_that_make_no_sense(tmp_path: Path, options: list[str], code: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["parity", str(path), "--to", "torch", *options, "-o", str(out)]
    )
    assert (result.exit_code, f"error {code}" in result.stderr) == (2, True), result.output
    assert not out.exists()


def test_a_version_that_no_target_has(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    result = CliRunner().invoke(app, ["check", str(path), "--to", "torch@0.4"])
    assert (result.exit_code, "error CC108" in result.stderr) == (2, True), result.output
