"""The examples of the page about continuous integration are valid, and their commands run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from crosscast.cli import app
from parity_reports import equivalent
from recipe_texts import text_of
from source_trees import ROOT

PAGE = ROOT / "docs" / "how-to" / "in-ci.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.S)
CONFIGURATIONS = [YAML(typ="safe").load(text) for language, text in BLOCKS if language == "yaml"]
TRAIN = """\
import torch

for x in rows:
    with torch.cuda.amp.autocast():
        loss = model(x).mean()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


def strings(data: Any) -> list[str]:
    """Return all texts in a configuration."""
    if isinstance(data, str):
        return [data]
    values = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [text for value in values for text in strings(value)]


COMMANDS = [
    line
    for text in (
        *(text for data in CONFIGURATIONS for text in strings(data)),
        *(line for language, text in BLOCKS if language == "bash" for line in text.splitlines()),
    )
    for line in [text]
    if line.startswith("crosscast ")
]


def test_the_page_has_all_services() -> None:
    assert len(CONFIGURATIONS) == 5
    assert len(COMMANDS) == 7


def test_the_comparison_leaves_what_its_job_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = (data["parity"] for data in CONFIGURATIONS if "parity" in data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("crosscast_parity.report.page.render.stage_plots", lambda *_: [])
    monkeypatch.setattr(
        "crosscast_parity.compare.harness.compare", lambda programs, **settings: equivalent()
    )
    Path("recipe.yaml").write_text(text_of())
    result = CliRunner().invoke(app, shlex.split(job["script"][-1])[1:])
    assert result.exit_code == 0, result.output
    kept = [job["artifacts"]["reports"]["junit"], *job["artifacts"]["paths"]]
    assert all(Path(path).is_file() for path in kept), kept


@pytest.mark.parametrize("command", [line for line in COMMANDS if " parity " not in line])
def test_commands_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAIN)
    Path("recipe.yaml").write_text(text_of())
    if "--baseline" in command and "--write" not in command:
        CliRunner().invoke(app, [*shlex.split(command)[1:], "--write-baseline"])
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    finds = "lint" in command and "baseline" not in command
    assert result.exit_code == int(finds), result.output
    if "gitlab" in command:
        assert json.loads(Path("crosscast.json").read_text())
    if "sarif" in command:
        assert json.loads(Path("crosscast.sarif").read_text())["runs"][0]["results"]
    if "github" in command:
        assert result.stdout.startswith("::")


def test_the_hook_of_the_page_exists() -> None:
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (used,) = CONFIGURATIONS[0]["repos"][0]["hooks"]
    assert used["id"] in {hook["id"] for hook in hooks}
    assert {"uses", "run"} >= {key for step in CONFIGURATIONS[1]["jobs"]["lint"]["steps"]
                               for key in step} - {"with"}  # fmt: skip
