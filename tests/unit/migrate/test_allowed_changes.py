"""Changes of meaning that are allowed by name: the registry and the option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.targets.source_support import migration_apis
from crosscast_migrate.allowed_changes import all_changes, allowed, or_allow
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import all_codemods
from migration_sources import with_experimental

ADAM = """\
import torch
from apex.optimizers import FusedAdam

optimizer = FusedAdam(weights, lr=1e-3, bias_correction=False)
"""


def run(*words: object) -> Any:
    return CliRunner().invoke(app, with_experimental(("migrate", *words)))


def test_every_change_has_an_api_and_two_sides() -> None:
    for name, change in all_changes().items():
        assert change.name == name
        assert change.api in migration_apis()
        assert change.before
        assert change.after
        assert or_allow(name, "decide").endswith(f"--allow {name}")


def test_names_are_checked() -> None:
    assert allowed(["adam-bias-correction"], "torch.amp") == {"adam-bias-correction"}
    with pytest.raises(DiagnosticError, match="unknown change"):
        allowed(["adam-bias"], "torch.amp")
    with pytest.raises(DiagnosticError, match="applies to --to"):
        allowed(["adam-bias-correction"], "keras3")


def test_bias_correction_is_added_only_if_allowed() -> None:
    sources, codemods = [Source("train.py", ADAM)], [all_codemods()["CM103"]]
    held = migrate_in_place(sources, codemods)
    assert not held.texts
    assert held.refusals[0].hint.endswith("--allow adam-bias-correction")
    found = migrate_in_place(sources, codemods, allowed=frozenset({"adam-bias-correction"}))
    assert found.texts["train.py"] == (
        "import torch\n\noptimizer = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.0)\n"
    )


def test_the_command_lists_changes_without_files() -> None:
    found = run("--list-changes")
    assert found.exit_code == 0
    assert all(name in found.stdout for name in all_changes())


def test_the_command_needs_files_and_an_api_otherwise() -> None:
    assert run("--to", "torch.amp").exit_code == 2
    assert run("train.py").exit_code == 2


def test_the_command_passes_what_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(ADAM)
    assert run(path, "--to", "torch.amp", "--check").exit_code == 1
    found = run(path, "--to", "torch.amp", "--write", "--no-run", "--allow", "adam-bias-correction")
    assert found.exit_code == 0
    assert "AdamW" in path.read_text()


def test_an_unknown_name_and_another_framework_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(ADAM)
    found = run(path, "--to", "torch.amp", "--allow", "adam-bias-corection")
    assert found.exit_code == 2
    assert "did you mean adam-bias-correction?" in found.stderr
    name = "adam-bias-correction"
    assert run(path, "--to", "paddle", "-o", tmp_path, "--allow", name).exit_code == 2
