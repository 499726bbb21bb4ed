"""Migrations that few programs came out right of change nothing unless they are asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.targets.source_support import Era, installed_support
from crosscast_migrate.registry import all_codemods

ROOT = Path(__file__).parents[3]
TABLES = {
    "paddle": ("paddle1", "paddle2"),
    "tensorflow1": ("tensorflow1", "tensorflow1_keras"),
}
"""Eras whose programs are in tables of other names."""
ERAS = {
    era.name: era
    for name, support in installed_support().items()
    if name in ("torch", "tensorflow", "paddle")
    for era in support.eras
}
APEX = """\
import torch
from apex import amp

model = torch.nn.Linear(8, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
"""
CUDA_AMP = """\
import torch

scaler = torch.cuda.amp.GradScaler()
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast():
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def migrate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["migrate", *arguments], prog_name="crosscast")


@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
def test_the_numbers_are_those_of_the_unseen_programs_at_first_sight(era: Era) -> None:
    folder = ROOT / "benchmarks/migrate_programs"
    tables = TABLES.get(era.name, (era.name,))
    entries = [
        entry
        for name in tables
        for entry in json.loads((folder / f"{name}.json").read_text())["programs"]
        if entry["half"].startswith("unseen")
    ]
    results = [entry["first"] for entry in entries]
    assert (len(results), results.count("right"), results.count("wrong")) == (
        *(era.programs, era.right, era.wrong),
    )


@pytest.mark.parametrize(
    ("programs", "right", "wrong", "experimental"),
    [
        (0, 0, 0, True),
        (10, 5, 1, False),
        (10, 4, 0, True),
        (10, 8, 2, True),
        (7, 6, 0, False),
        (7, 6, 1, True),
    ],
)
def test_the_rule(programs: int, right: int, wrong: int, experimental: bool) -> None:
    era = Era(name="a", title="A", codemods="a", programs=programs, right=right, wrong=wrong)
    assert era.is_experimental is experimental


def test_what_is_experimental_stands_in_a_folder_of_that_name() -> None:
    for era in ERAS.values():
        assert era.is_experimental == (".experimental." in era.codemods), era.name
    # Help and pages say that all of them are.
    assert all(era.is_experimental for era in ERAS.values())


def test_every_codemod_has_its_era() -> None:
    for codemod in all_codemods().values():
        assert codemod.era is not None, codemod.code
        assert codemod.run.__module__.startswith(codemod.era.codemods), codemod.code


def test_an_experimental_migration_is_named_and_changes_nothing(folder: Path) -> None:
    (folder / "train.py").write_text(APEX)
    found = migrate("train.py", "--to", "torch.amp", "--write")
    assert found.exit_code == 1
    assert (folder / "train.py").read_text() == APEX
    assert found.stderr.startswith("Done: open: nothing was changed; ")
    assert "train.py:6:1: warning CC981: 1 place is left unchanged" in found.stderr
    assert "of 17 programs that had no part in writing it, 4 came out right and 5 wrong" in (
        found.stderr
    )
    assert "--experimental shows what it would change" in found.stderr


def test_asked_for_it_is_applied_and_called_what_it_is(folder: Path) -> None:
    (folder / "train.py").write_text(APEX)
    found = migrate("train.py", "--to", "torch.amp", "--write", "--experimental", "--no-run")
    assert found.exit_code == 0, found.output
    assert "apex" not in (folder / "train.py").read_text()
    risk = found.stderr.splitlines()[2]
    assert risk.startswith("Risk: the migration of apex and half precision by hand is experimental")
    assert "CC981" not in found.output


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs of torch.cuda.amp have come out right."""
    good = replace(ERAS["cuda_amp"], right=11, wrong=0)
    for code, codemod in all_codemods().items():
        if codemod.era == ERAS["cuda_amp"]:
            monkeypatch.setitem(all_codemods(), code, replace(codemod, era=good))


@pytest.mark.usefixtures("proven")
def test_another_migration_is_not_held_back(folder: Path) -> None:
    (folder / "train.py").write_text(CUDA_AMP)
    found = migrate("train.py", "--write", "--no-run")
    assert found.exit_code == 0, found.output
    assert "torch.cuda" not in (folder / "train.py").read_text()
    assert "experimental" not in found.output


@pytest.mark.usefixtures("proven")
def test_of_two_migrations_one_is_applied(folder: Path) -> None:
    (folder / "a.py").write_text(APEX)
    (folder / "b.py").write_text(CUDA_AMP)
    found = migrate("a.py", "b.py", "--to", "torch.amp", "--write")
    assert found.exit_code == 1
    assert (folder / "a.py").read_text() == APEX
    assert "torch.cuda" not in (folder / "b.py").read_text()
    assert "CC981" in found.stderr
    data = json.loads(migrate("a.py", "b.py", "--to", "torch.amp", "--json").stdout)
    assert [problem["code"] for problem in data["problems"]] == ["CC981"]


def test_it_says_nothing_of_migrations_to_targets(folder: Path) -> None:
    (folder / "train.py").write_text(APEX)
    found = migrate("train.py", "--to", "paddle", "-o", "out", "--experimental")
    assert found.exit_code == 2
    assert "--experimental apply only to a migration in place" in found.stderr
