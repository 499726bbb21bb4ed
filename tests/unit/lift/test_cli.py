"""`crosscast lift`, `diff` and `explain` of programs: output, exit codes, and no traceback ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.recipe.load import load
from crosscast_reading.lift.batch import lift_groups, read_sources
from crosscast_reading.lift.schema import lift_schema
from migration_sources import TORCH

SCRIPT = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-4)
parser.add_argument("--accumulate", type=int, default=4)
args = parser.parse_args()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step, (x, y) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(x), y) / args.accumulate
    loss.backward()
    if (step + 1) % args.accumulate == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
LAUNCH = "#!/bin/bash\npython train.py --lr 1e-3 \\\n  --accumulate 8\n"


def crosscast(*arguments: str, stdin: str = "") -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text(LAUNCH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_says_where_every_field_is_from(folder: Path) -> None:
    result = crosscast("lift", "train.py", "--all")
    assert result.exit_code == 0
    rows = {line.partition(" ")[0]: line for line in result.stdout.splitlines()}
    assert rows["accumulation.steps"].split()[1:3] == ["4", "train.py:14"]
    assert "FILL IN" in rows["schedule.total_steps"]


def test_what_needs_a_look_comes_first_and_the_rest_on_demand(folder: Path) -> None:
    every = {*crosscast("lift", "train.py", "--all").stdout.splitlines()[5:]}
    lines = crosscast("lift", "train.py").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["Looked at", "Verdict", "Next"]
    *shown, _, hidden = lines[5:]
    assert all(" FILL IN" in line or line.endswith(" likely") for line in shown)
    left = [line for line in every if " FILL IN" not in line and not line.endswith(" likely")]
    assert hidden == f"{len(left)} more values with their places: --all shows them."


def test_the_recipe_goes_to_a_file_and_is_valid(folder: Path) -> None:
    assert crosscast("lift", "train.py", "-o", "recipe.yaml").exit_code == 0
    recipe = load("recipe.yaml")
    assert (recipe.accumulation.steps, recipe.optimizer.name) == (4, "sgd")
    (folder / "recipe.yaml").write_text("mine\n")
    again = crosscast("lift", "train.py", "-o", "recipe.yaml")
    assert (again.exit_code, "CC5" in again.stderr) == (2, True)
    assert crosscast("lift", "train.py", "-o", "recipe.yaml", "--force").exit_code == 0


def test_the_launch_wins_over_the_defaults_of_the_program(folder: Path) -> None:
    result = crosscast("lift", "run.sh", "-o", "-")
    assert "steps: 8                          # run.sh:3, train.py:14 (args.accumulate)" in (
        result.stdout
    )
    assert "learning_rate: 0.001              # run.sh:2, train.py:10 (args.lr)" in result.stdout


def test_json_is_what_the_schema_says(folder: Path) -> None:
    result = crosscast("lift", ".", "--json")
    data: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(data, lift_schema())
    (group,) = data["groups"]
    assert set(group["sources"]) == {"train.py", "run.sh"}
    assert group["profile"]["accumulation"]["steps"]["layer"] == "launcher"
    assert group["recipe"]["accumulation"]["steps"] == 8


def test_stdin_is_a_program(folder: Path) -> None:
    result = crosscast("lift", "-", "-o", "-", stdin=SCRIPT)
    assert result.exit_code == 0
    assert "<stdin>:14" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("lift", "nothing.py"), "CC001"),
        (("lift", "train.py", "--version", "torch"), "CC919"),
        (("lift", "train.py", "--version", "=2"), "CC919"),
        (("lift", "train.py", "other.py", "-o", "x.yaml"), "CC919"),
        (("diff", "train.py", "nothing.py"), "CC001"),
        (("explain", "nothing.py"), "CC001"),
    ],
)
def test_wrong_use_is_exit_code_2(folder: Path, arguments: tuple[str, ...], code: str) -> None:
    (folder / "other.py").write_text(SCRIPT)
    result = crosscast(*arguments)
    assert (result.exit_code, code in result.stderr) == (2, True), result.stderr


STRANGE = {
    "empty.py": b"",
    "nulls.py": b"import torch\x00loss.backward()",
    "python2.py": b"import torch\nprint 'x'\nloss.backward()\n",
    "deep.py": b"import torch\nx = " + b"(" * 5000 + b")" * 5000,
    "bytes.py": bytes(range(256)) * 10,
    "broken.sh": b'python train.py --lr $((\n"',
    "broken.json": b'{"fp16": {',
    "broken.yaml": b"fp16: [\n\t:",
    "big.json": b'{"fp16": ' + b"[" * 3000 + b"]" * 3000 + b"}",
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_files_are_a_diagnostic_and_never_a_crash(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(STRANGE[name])
    result = crosscast("lift", str(path))
    assert result.exit_code in (0, 1, 2)
    assert "CC950" not in result.stderr
    assert "Traceback" not in result.output


def test_many_files_are_read_in_processes_and_in_order(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"t{number:02}.py").write_text(SCRIPT.replace("default=4", f"default={number}"))
    sources, problems = read_sources([str(tmp_path)])
    seen: list[int] = []
    groups = [(source,) for source in sources]
    reports = lift_groups(groups, {}, jobs=2, progress=lambda done, total: seen.append(done))
    assert not problems
    assert seen == list(range(1, 13))
    assert [r.data["profile"]["accumulation"]["steps"]["value"] for r in reports] == list(range(12))


def test_versions_choose_the_defaults(folder: Path) -> None:
    result = crosscast("lift", "train.py", "-o", "-", "--version", "torch=1.8")
    assert "default of torch 1.8" in result.stdout


def test_diff_of_a_program_with_itself_and_with_its_launch(folder: Path) -> None:
    same = crosscast("diff", "train.py", "train.py")
    assert (same.exit_code, same.stdout.splitlines()[0]) == (
        0,
        "Looked at: train.py against train.py",
    )
    assert "No differences in the fields that both sides specify" in same.stdout.splitlines()[1]
    launched = crosscast("diff", "train.py", "run.sh", "--json")
    assert launched.exit_code == 1
    found = {entry["field"]: entry for entry in json.loads(launched.stdout)["differences"]}
    steps = found["accumulation.steps"]
    assert (steps["left"], steps["right"], steps["state"]) == (4, 8, "different")
    assert steps["right_places"][0] == {"file": "run.sh", "line": 3, "column": 3}
    assert found["schedule.total_steps"]["state"] == "unknown"


def test_diff_with_a_recipe_names_places_on_both_sides(folder: Path) -> None:
    crosscast("lift", "train.py", "-o", "recipe.yaml")
    path = folder / "recipe.yaml"
    path.write_text(path.read_text().replace("steps: 4 ", "steps: 2 "))
    result = crosscast("diff", "recipe.yaml", "train.py")
    assert result.exit_code == 1
    row = next(line for line in result.stdout.splitlines() if line.startswith("accumulation.steps"))
    assert row.split()[1:3] == ["2", "4"]
    assert "recipe.yaml:" in row
    assert "train.py:14" in row


def test_explain_of_a_step_that_unscales_by_itself(folder: Path) -> None:
    unscaled = TORCH.replace("            scaler.unscale_(optimizer)\n", "")
    assert unscaled != TORCH
    (folder / "step.py").write_text(unscaled, encoding="utf-8")
    rows = [line.split("  ") for line in crosscast("explain", "step.py").stdout.splitlines()]
    (row,) = [[cell.strip() for cell in row if cell] for row in rows if "unscale" in row]
    assert row == ["window", "unscale", "within the step", "-"]


def test_explain_sets_a_step_beside_the_plan(folder: Path) -> None:
    result = crosscast("explain", "train.py")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["window", "clip", "clip", "train.py:15"] in [row[:4] for row in rows]
    assert ["window", "step", "step", "train.py:16"] in [row[:4] for row in rows]
    data = json.loads(crosscast("explain", "train.py", "--json").stdout)
    assert {"micro", "window"} == set(data["plan"])


def test_explain_of_a_program_without_a_loop_says_so(folder: Path) -> None:
    (folder / "other.py").write_text("print('hello')\n")
    result = crosscast("explain", "other.py")
    assert (result.exit_code, "CC915" in result.stderr) == (1, True)


def test_a_launch_without_its_program_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("deepspeed somewhere/finetune.py --bf16\n")
    assert "CC918" in crosscast("lift", str(path)).stderr


@pytest.mark.parametrize("text", ["for x in y\n    loss.backward()\n", "print 'loss'\n"])
def test_a_named_program_that_does_not_parse_is_no_success(tmp_path: Path, text: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    result = crosscast("lift", str(path))
    assert (result.exit_code, "nothing here trains" in result.stderr) == (1, False)
    assert result.stderr.count("train.py") == 1
    explained = crosscast("explain", str(path))
    assert (explained.exit_code, "library" in explained.stderr) == (1, False)


def test_explain_tells_a_configuration_from_a_recipe(tmp_path: Path) -> None:
    foreign = tmp_path / "ds_config.json"
    foreign.write_text(json.dumps({"train_micro_batch_size_per_gpu": 8, "fp16": {"enabled": True}}))
    result = crosscast("explain", str(foreign))
    assert (result.exit_code, "CC915" in result.stderr, "CC10" in result.stderr) == (1, True, False)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("version: 1\nfp16: true\n")
    assert "CC101" in crosscast("explain", str(recipe)).stderr


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    result = crosscast("lift", str(tmp_path))
    assert (result.exit_code, str(tmp_path.name) in result.stderr.replace("\n", "")) == (1, True)


def test_the_summary_counts_the_four_kinds(folder: Path) -> None:
    last = crosscast("lift", "train.py").stdout.splitlines()[1].partition(": ")[2].strip()
    data = json.loads(crosscast("lift", "train.py", "--json").stdout)["groups"][0]
    counts = data["counts"]
    assert list(counts) == ["read", "derived", "default", "assumed"]
    kinds = [filled["how"] for path, filled in data["fields"].items()]
    assert {kind: kinds.count(kind) for kind in ("default", "assumed")} == {
        kind: counts[kind] for kind in ("default", "assumed")
    }
    assert last == (
        f"{sum(counts.values())} values: {counts['read']} read, {counts['derived']} derived, "
        f"{counts['default']} defaults of libraries, {counts['assumed']} assumed (FILL IN)."
    )
    assert all(counts.values()) or not counts["derived"]
    written = crosscast("lift", "train.py", "-o", "recipe.yaml")
    assert written.stdout.splitlines()[-1] == f"recipe.yaml: {last}"
    shown = crosscast("lift", "train.py", "-o", "-")
    assert (last in shown.stderr, last in shown.stdout) == (True, False)
    folder_of_recipes = crosscast("lift", "train.py", "train.py", "-o", "./").stdout
    assert folder_of_recipes.splitlines()[-1] == f"train.recipe.yaml: {last}"


def test_what_lift_leaves_open_is_what_check_refuses(folder: Path) -> None:
    assert crosscast("lift", "train.py", "-o", "recipe.yaml").exit_code == 0
    refused = crosscast("check", "recipe.yaml", "--json")
    assert refused.exit_code == 1
    found = json.loads(refused.stdout)["diagnostics"]
    data = json.loads(crosscast("lift", "train.py", "--json").stdout)["groups"][0]
    assert {each["path"] for each in found} == set(data["not_said"])
    assert crosscast("check", "recipe.yaml", "--allow-fill-in").exit_code == 0


def test_many_runs_are_a_table_and_each_on_demand(folder: Path) -> None:
    program = Path("train.py").read_text()
    for name in "abcde":
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(program)
    paths = [f"{name}/train.py" for name in "abcde"]
    lines = crosscast("lift", *paths).stdout.splitlines()
    assert lines[1].startswith("Verdict:   5 runs: ")
    assert [line.split()[-1] for line in lines[-5:]] == paths
    every = crosscast("lift", *paths, "--all").stdout
    assert every.count("\noptimizer.learning_rate ") == 5
    counts = json.loads(crosscast("lift", *paths, "--json").stdout)["groups"][0]["counts"]
    assert [int(word) for word in lines[-1].split()[:-1]] == [*counts.values()]
