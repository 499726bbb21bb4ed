"""`crosscast plan`: exit codes, tables, JSON, written answers, measured peaks, hostile input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.emit.compiler import compile_recipe
from crosscast.fit.devices import DEVICES
from crosscast.recipe.load import load

RECIPE = """# Mine.
version: 1
name: planned
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic}
batch: {micro_batch_size: 8, global_batch_size: 16}  # as on the old machine
optimizer: {name: adamw, learning_rate: 1e-3}
schedule: {name: linear, total_steps: 10}
"""
ROW = {
    "window": 0,
    "n_micro": 2,
    "rows": 16,
    "loss": 1.0,
    "lr": 0.1,
    "grad_norm": 1.0,
    "scale": 1.0,
    "skipped": False,
    "updates": 1,
}


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return str(path)


def plan(*words: object) -> Result:
    found = CliRunner().invoke(app, ["plan", *map(str, words)])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def plan_json(*words: object) -> Any:
    return json.loads(plan(*words, "--json").stdout)


def test_it_fits(recipe: str) -> None:
    found = plan(recipe, "--to", "torch", "--memory", "16GiB")
    assert found.exit_code == 0
    about, verdict, _, *lines = found.stdout.splitlines()
    assert about.endswith(" on torch, limit 16.0 GiB")
    assert verdict.startswith("Verdict:   the unchanged recipe fits on torch (")
    assert lines[1].startswith("torch: the unchanged recipe needs ")
    assert lines[1].endswith(" and fits into 16.0 GiB")
    assert max(map(len, lines)) <= 80
    assert found.stderr == ""


def test_the_limit_of_an_answer_itself_fits(recipe: str) -> None:
    (target,) = plan_json(recipe, "--to", "torch", "--memory", "16GiB")["targets"]
    need = target["now"]["total_bytes"]
    assert plan_json(recipe, "--to", "torch", "--memory", f"{need}B")["targets"][0]["now"]["fits"]
    less = plan_json(recipe, "--to", "torch", "--memory", f"{need - 1}B")["targets"][0]
    assert not less["now"]["fits"]
    assert all(entry["total_bytes"] < need for entry in less["answers"])


def test_it_cannot_fit(recipe: str, tmp_path: Path) -> None:
    out, plot = tmp_path / "out", tmp_path / "plot.png"
    words = (recipe, "--to", "torch", "--memory", "1MiB", "-o", out, "--plot", plot)
    found = plan(*words)
    assert found.exit_code == 1
    assert "error CC460: torch: cannot fit, because" in found.stderr
    assert "Hint: " in found.stderr
    assert not out.exists()
    assert not plot.exists()
    data = plan_json(recipe, "--to", "torch", "--memory", "1MiB")
    assert [entry["code"] for entry in data["diagnostics"]] == ["CC460"]
    assert data["targets"][0]["answers"] == []


def test_answers_are_recipes_that_compile(recipe: str, tmp_path: Path) -> None:
    words = (recipe, "--to", "torch", "--device", "T4", "--allow", "precision", "--answers", 100)
    data = plan_json(*words, "-o", tmp_path / "out")
    (target,) = data["targets"]
    assert data["device"] == "T4"
    assert data["limit_bytes"] == target["limit_bytes"] == 14 * 2**30
    # 5 divisors of 16, with and without checkpointing, in float32 and float16
    assert [entry["rank"] for entry in target["answers"]] == list(range(1, 21))
    for entry in target["answers"]:
        text = Path(entry["file"]).read_text()
        assert text.startswith("# Mine.\n")
        assert "# as on the old machine" in text
        answer = load(entry["file"])
        assert answer.batch.global_batch_size == 16
        assert answer.batch.micro_batch_size == entry["micro_batch_size"]
        assert answer.accumulation.steps == entry["steps"]
        assert answer.activation_checkpointing == entry["activation_checkpointing"]
        assert answer.precision.compute_dtype == entry["precision"]["compute_dtype"] != "bfloat16"
        assert entry["evidence"] == "estimated"
        assert entry["total_bytes"] == entry["peak_bytes"] + entry["margin_bytes"]
        assert sum(part["bytes"] for part in entry["components"]) == entry["peak_bytes"]
    compile_recipe(load(target["answers"][-1]["file"]), ["torch"])
    assert "CC469" in [entry["code"] for entry in data["diagnostics"]]
    again = plan(*words, "-o", tmp_path / "out")
    assert again.exit_code == 0
    Path(target["answers"][0]["file"]).write_text("mine now\n")
    refused = plan(*words, "-o", tmp_path / "out")
    assert refused.exit_code == 2
    assert "CC501" in refused.stderr
    assert plan(*words, "-o", tmp_path / "out", "--force").exit_code == 0


def test_answers_for_another_framework_are_recipes_of_it(recipe: str, tmp_path: Path) -> None:
    words = (recipe, "--to", "tensorflow", "--allow", "precision", "-o", tmp_path / "answers")
    (target,) = plan_json(*words, "--memory", "300MiB")["targets"]
    assert target["now"]["fits"]
    files = [entry["file"] for entry in target["answers"]]
    found = [load(file) for file in files]
    assert {recipe.activation_checkpointing for recipe in found} == {False, True}
    assert {recipe.batch.micro_batch_size * recipe.accumulation.steps for recipe in found} == {16}
    for answer in found:
        compile_recipe(answer, ["tensorflow"])
    assert plan(recipe, "--to", "tensorflow", "--memory", "1MiB").exit_code == 1


def test_a_step_that_is_not_modelled_has_no_estimate(recipe: str) -> None:
    Path(recipe).write_text(RECIPE.replace("adamw", "lamb"))
    found = plan(recipe, "--to", "tensorflow", "--memory", "16GiB")
    assert found.exit_code == 1
    assert "CC451" in found.stderr


def test_more_targets(recipe: str) -> None:
    found = plan_json(recipe, "--to", "torch,torch@2.1", "--memory", "16GiB")
    assert [entry["target"] for entry in found["targets"]] == ["torch", "torch@2.1"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "CC463"),
        (("--memory", "16G"), "CC461"),
        (("--memory", "0GiB"), "CC461"),
        (("--device", "T5"), "CC462"),
        (("--memory", "1GiB", "-o", ""), "CC463"),
        (("--memory", "1GiB", "--plot", "x.svg"), "CC463"),
        (("--memory", "1GiB", "--to", "nowhere"), "CC106"),
        (("--measured", "x.jsonl", "--plot", "x.png"), "CC463"),
        (("--measured", "x.jsonl"), "CC463"),  # of which target?
        (("--measured", "absent.jsonl", "--to", "torch"), "CC001"),
        (("--measured", "-", "--to", "torch"), "CC463"),
        (("--measured", ".", "--to", "torch"), "CC002"),
        (("--measured", "x\0y", "--to", "torch"), "CC504"),
        (("--measured", "a" * 5000, "--to", "torch"), "CC003"),
    ],
)
def test_usage(recipe: str, words: tuple[str, ...], code: str) -> None:
    found = plan(recipe, *words)
    assert found.exit_code == 2, found.output
    assert f"error {code}:" in found.stderr


def test_options_that_are_none(recipe: str) -> None:
    for words in (("--allow", "schedule"), ("--answers", "0"), ("--answers", "101")):
        assert plan(recipe, "--memory", "1GiB", *words).exit_code == 2


def test_a_recipe_that_is_none(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(RECIPE.replace("total_steps", "steps"))
    assert plan(bad, "--memory", "1GiB").exit_code == 1
    assert plan(tmp_path / "absent.yaml", "--memory", "1GiB").exit_code == 2


def test_a_type_that_the_device_lacks(recipe: str) -> None:
    text = f"{RECIPE}precision: {{mode: mixed, compute_dtype: bfloat16}}\n"
    Path(recipe).write_text(text)
    found = plan(recipe, "--to", "torch", "--device", "V100")
    assert found.exit_code == 1
    assert "error CC468: precision.compute_dtype: V100 does not support bfloat16" in found.stderr
    assert f"{recipe}:9:" in found.stderr
    allowed = plan(recipe, "--to", "torch", "--device", "V100", "--allow", "precision")
    assert allowed.exit_code == 0


def test_a_model_of_ones_own_has_no_estimate(recipe: str) -> None:
    own = "{kind: custom, factory: {torch: 'a:b'}}"
    text = RECIPE.replace("{kind: bert, preset: tiny, labels: 3, dropout: 0.0}", own)
    npz = "{source: npz, train: a.npz, eval: b.npz}"
    Path(recipe).write_text(text.replace("{source: synthetic}", npz))
    found = plan(recipe, "--to", "torch", "--memory", "1GiB")
    assert found.exit_code == 1
    assert "CC450" in found.stderr


# measured peaks


def trace(path: Path, *rows: object) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def test_a_measured_peak_beside_the_estimate(recipe: str, tmp_path: Path) -> None:
    first = ROW | {"peak_memory": 10**6}
    second = ROW | {"window": 1, "updates": 2, "peak_memory": 10**8}
    words = (recipe, "--to", "torch", "--measured", trace(tmp_path / "t.jsonl", first, second))
    found = plan(*words)
    assert (found.exit_code, found.stderr) == (0, "")
    assert "highest peak in 2 rows of" in found.stdout
    assert "95.4 MiB" in found.stdout
    data = plan_json(*words)["measured"]
    assert data["measured_peak_bytes"] == 10**8
    wanted = data["estimate"]["peak_bytes"] / 10**8 - 1
    assert data["relative_error"] == pytest.approx(wanted)
    simple = data["estimate"]["simple_formula_bytes"] / 10**8 - 1
    assert data["simple_formula_relative_error"] == pytest.approx(simple)
    both = plan_json(*words, "--memory", "1GiB")
    assert both["measured"] == data
    assert both["targets"][0]["answers"]


def test_a_trace_of_another_recipe(recipe: str, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", ROW | {"rows": 32, "peak_memory": 5})
    found = plan(recipe, "--to", "torch", "--measured", path)
    assert found.exit_code == 0
    assert "warning CC470" in found.stderr
    assert "32 rows in 2 micro-batches" in found.stderr


@pytest.mark.parametrize(
    ("rows", "code", "exit_code"),
    [
        ([ROW], "CC464", 2),
        ([], "CC464", 2),
        ([ROW | {"peak_memory": 0}], "CC464", 2),
        ([ROW | {"peak_memory": "1"}], "CC701", 1),
        ([ROW | {"peak_memory": 2**63}], "CC701", 1),
        (["[" * 4000], "CC701", 1),
        (["x" * 10**6], "CC464", 2),  # as if the run had been stopped while it wrote
        (["\x1b[2J"], "CC701", 1),
    ],
)
def test_traces_that_tell_nothing(
    recipe: str, tmp_path: Path, rows: list[object], code: str, exit_code: int
) -> None:
    path = trace(tmp_path / "t.jsonl", *rows)
    found = plan(recipe, "--to", "torch", "--measured", path)
    assert found.exit_code == exit_code
    assert f"error {code}:" in found.output
    assert "\x1b" not in found.output


def test_every_device_can_be_named(recipe: str) -> None:
    for device in DEVICES[:2]:
        found = plan_json(recipe, "--to", "torch", "--device", device.name, "--answers", "1")
        assert found["device"] == device.name
        assert found["limit_bytes"] == device.usable_bytes


def test_no_time_is_told(recipe: str) -> None:
    words = ("--to", "torch", "--device", "H100", "--allow", "precision")
    printed = plan(recipe, *words).stdout
    header = next(line for line in printed.splitlines() if line.startswith("answer "))
    assert header.split()[-1] == "simple"
    order = "(memory estimated; times are not estimated:\nanswers are ordered by the peak rates of"
    assert f"{order} H100)" in printed
    assumed = plan(recipe, "--to", "torch", "--memory", "16GiB").stdout
    assert f"{order} A100-40, since no --device is given)" in assumed
    (target,) = plan_json(recipe, *words)["targets"]
    assert {answer["precision"]["compute_dtype"] for answer in target["answers"]} > {"bfloat16"}
    for way in (target["now"], *target["answers"]):
        assert not [key for key in way if "cost" in key or "time" in key]
