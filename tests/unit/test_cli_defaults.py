"""What commands do when less is said."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from crosscast.cli import app
from recipe_strategies import TARGETS
from recipe_texts import text_of


def test_all_targets_are_the_default(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    result = CliRunner().invoke(app, ["explain", str(path), "--json"])
    assert result.exit_code == 0
    assert {row["target"] for row in json.loads(result.stdout)} >= set(TARGETS)


def test_a_step_alone_on_stdout_is_only_the_script(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    arguments = ["compile", str(path), "--to", "torch", "-o", "-", "--form", "step"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    compile(result.stdout, "step.py", "exec")
