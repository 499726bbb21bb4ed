"""`crosscast migrate` on the command line: whole or nothing, exit codes, the user's own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast_migrate.own_model import FILE
from migration_sources import with_experimental

RUNNER = CliRunner()
SAID = (
    *("--set", "schedule.total_steps=100", "--set", "batch.micro_batch_size=8"),
    *("--set", "accumulation.tail=drop"),
)


def run(*words: object) -> Any:
    return RUNNER.invoke(app, with_experimental(("migrate", *words)))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(migration_sources.APEX)
    return path


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_a_migration_writes_scripts_recipe_and_report(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = run(script, "--to", "paddle", "-o", out, *SAID)
    assert found.exit_code == 1
    assert found.stdout.startswith("Done: open: written for paddle: ")
    assert "Decide: 4 fields to fill in: data.source, " in found.stdout
    wanted = {"recipe.yaml", "report.md", "report.json", "paddle/train.py", "paddle/launch.sh"}
    assert wanted | {f"paddle/{FILE}"} <= files(out)
    assert str(out / "report.md") in found.stdout
    assert "exact" in found.stdout


def test_what_is_left_to_fill_in_is_a_finding(script: Path, tmp_path: Path) -> None:
    found = run(script, "--to", "paddle", "-o", tmp_path / "out")
    assert found.exit_code == 1
    assert "CC972: schedule.total_steps" in found.stderr


def test_json_is_the_report(script: Path, tmp_path: Path) -> None:
    found = run(script, "--to", "torch,paddle", "-o", tmp_path / "out", "--json", *SAID)
    data = json.loads(found.stdout)
    assert data == json.loads((tmp_path / "out" / "report.json").read_text())
    assert [entry["target"] for entry in data["targets"]] == ["torch", "paddle"]


def test_a_program_comes_with_its_launch_script(tmp_path: Path) -> None:
    program, launch = tmp_path / "run_task.py", tmp_path / "go.sh"
    program.write_text(
        "import argparse\n"
        + migration_sources.APEX.replace("lr=0.05", "lr=args.lr").replace(
            "model = ",
            'parser = argparse.ArgumentParser()\nparser.add_argument("--lr", type=float)\n'
            "args = parser.parse_args()\nmodel = ",
            1,
        )
    )
    launch.write_text("python run_task.py --lr 0.25\n")
    out = tmp_path / "out"
    run(launch, program, "--to", "torch", "-o", out)
    assert "learning_rate: 0.25" in (out / "recipe.yaml").read_text()


def test_a_model_that_was_filled_in_stays(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(script, "--to", "torch", "-o", out, *SAID)
    assert "is kept" not in run(script, "--to", "torch", "-o", out, *SAID).stderr
    own = out / "torch" / FILE
    own.write_text("def build_model():\n    return 1\n")
    for more in ((), ("--force",)):
        found = run(script, "--to", "torch", "-o", out, *SAID, *more)
        assert found.exit_code == 1
        assert f"note CC972: model: {own} exists and is kept" in found.stderr
        assert own.read_text() == "def build_model():\n    return 1\n"


def test_foreign_files_are_left_alone_and_nothing_else_is_written(
    script: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (out / "torch").mkdir(parents=True)
    (out / "torch" / "train.py").write_text("mine = 1\n")
    found = run(script, "--to", "torch", "-o", out, *SAID)
    assert found.exit_code == 2
    assert "CC501" in found.stderr
    assert files(out) == {"torch/train.py"}


def test_one_target_that_cannot_say_it_stops_all(script: Path, tmp_path: Path) -> None:
    found = run(script, "--to", "torch,paddle@fleet", "-o", tmp_path / "out", *SAID)
    assert found.exit_code == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--to", "torch"),
        ("--to", "nonsense"),
        ("--to", "torch.amp", "-o", "OUT"),
        ("--to", "torch.amp", "--keep-bugs"),
        ("--to", "torch.amp", "--set", "seed=1"),
        ("--to", "torch.amp", "--version", "torch=2.1"),
        ("--to", "torch.amp", "--verify", "--python", "python"),
        ("--to", "torch", "-o", "OUT", "--write"),
        ("--to", "torch", "-o", "OUT", "--set", "seed"),
        ("--to", "torch", "-o", "OUT", "--set", "seed=[1"),
        ("--to", "torch", "-o", "OUT", "--set", "a b=1"),
        ("--to", "torch", "-o", "OUT", "--set", "batch.micro_batch_size.x=1"),
        ("--to", "torch", "-o", "OUT", "--set", "batch=1"),
        ("--to", "torch,torch", "-o", "OUT"),
        ("--to", "unknown", "-o", "OUT"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    script: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    given = [str(tmp_path / "out") if word == "OUT" else word for word in words]
    found = run(script, *given)
    assert found.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_nothing_to_migrate_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text(migration_sources.NOTHING)
    found = run(path, "--to", "torch", "-o", tmp_path / "out")
    assert found.exit_code == 1
    assert "CC971" in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_several_runs_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / f"{name}.py").write_text(migration_sources.APEX)
    found = run(tmp_path / "all", "--to", "paddle", "-o", tmp_path / "out")
    assert found.exit_code == 1
    assert "2 runs were found" in found.stderr


def test_a_file_that_is_missing_is_a_matter_of_use(tmp_path: Path) -> None:
    found = run(tmp_path / "gone.py", "--to", "torch", "-o", tmp_path / "out")
    assert found.exit_code == 2
    assert "CC001" in found.stderr


def test_in_place_looks_at_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    old = migration_sources.TORCH.replace(
        'torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler("
    )
    path.write_text(old)
    found = run(path, "--to", "torch.amp", "--write", "--verify", "--no-run")
    assert found.exit_code == 0
    assert path.read_text() == migration_sources.TORCH
    assert "0 different" in found.stderr
    assert "nothing was executed" in found.stderr


def test_in_place_json_tells_every_field(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        migration_sources.TORCH.replace(
            'torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler("
        )
    )
    data = json.loads(run(path, "--to", "torch.amp", "--check", "--verify", "--json").stdout)
    found = {entry["field"]: entry["verdict"] for entry in data["verification"]}
    assert found["loss_scaling.init_scale"] == "same"
    assert found["step backward"] == "same"
    assert found["schedule.total_steps"] == "not comparable"
