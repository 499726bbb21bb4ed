"""A stranger's backend, from its folder alone: compiled, run, compared, converted, read back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from frameworks.subprocesses import require
from package.plugin_lab import RECIPE, Lab
from tiers import cases, exhaustive

MOMENTS = ("exp_avg", "exp_avg_sq")


def test_compiles_beside_the_backends_of_the_house(lab: Lab) -> None:
    for name in ("train.py", "model.py", "launch.sh", "requirements.txt"):
        assert (lab.folder / "out" / "toy" / name).is_file()
    assert (lab.folder / "out" / "torch" / "train.py").is_file()
    style = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "88", "out/toy"],
        cwd=lab.folder,
        capture_output=True,
        text=True,
    )
    assert style.returncode == 0, style.stdout


def test_its_script_trains_and_goes_on(lab: Lab) -> None:
    whole = lab.train("toy", "whole")
    lab.train("toy", "parts", "--windows", "3")
    parts = lab.train("toy", "parts", "--resume")
    assert json.loads((whole / "status.json").read_text())["updates"] == 6
    rows = [(folder / "trace.jsonl").read_text() for folder in (whole, parts)]
    assert rows[0] == rows[1]
    losses = [json.loads(line)["loss"] for line in rows[0].splitlines()]
    assert np.isfinite(losses).all()


STEP = """
from crosscast.emit.compiler import compile_recipe
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.load import load
from crosscast_parity.toy.compare import compare
from crosscast_parity.toy.faults import Faults
from crosscast_parity.toy.model import make_toy
from crosscast_parity.toy.running import run_text
from crosscast_parity.toy.worker import Worker

recipe = load("recipe.yaml")
(compiled,) = compile_recipe(recipe, ["toy"], form="step")
toy, worker = make_toy(recipe, Faults(7, ((4, 4),) * 6, {}, ())), Worker("toy")
seen = run_text(worker, compiled.files["step.py"].text, toy)
worker.stop()
report = compare(canonical_plan(recipe), toy, seen, "toy")
print(report.reached, *report.problems)
"""


def test_its_step_does_what_the_plan_means(lab: Lab) -> None:
    done = lab.python("-c", STEP)
    assert (done.stdout, done.stderr) == ("5\n", "")


@exhaustive("a comparison of the plug-in with PyTorch")
@pytest.mark.torch
def test_is_compared_with_another_framework(lab: Lab) -> None:
    require("torch")
    flags = ("--windows", "24", "--jobs", "1", "--output", "parity")
    done = lab("parity", "recipe.yaml", "--to", "torch,toy", *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((lab.folder / "parity" / "report.json").read_text())
    (pair,) = report["pairs"]
    assert pair["verdict"] == "EQUIVALENT"
    # Traces, gradients and updates among them: what the harness sees inside of the framework.
    assert {"L0b", "L1a", "L1b", "L2"} <= {check["level"] for check in pair["checks"]}
    watched = {entrant["name"] for entrant in report["entrants"] if entrant["framework"] == "toy"}
    assert watched == {"toy"}


@exhaustive("a training state of the plug-in")
@pytest.mark.torch
def test_a_training_state_goes_on_in_another_framework(lab: Lab) -> None:
    require("torch")
    for source, other in (("toy", "torch"), ("torch", "toy")):
        first = lab.train(source, f"first-{source}", "--windows", "3")
        place = lab.folder / f"then-{other}" / "checkpoint.safetensors"
        place.parent.mkdir()
        done = lab(
            *("state", "convert", str(first), "--from", source, "--to", other),
            *("--recipe", "recipe.yaml", "-o", str(place)),
        )
        assert done.returncode == 0, done.stderr
        with safe_open(place, framework="np") as file:
            names = {key.partition("/")[0] for key in sorted(file.keys())}
        assert names == {"model", "optimizer"}
        then = lab.train(other, f"then-{other}", "--resume")
        whole = lab.train(source, f"all-{source}")
        pairs = zip(rows_of(whole)[3:], rows_of(then), strict=True)
        for mine, theirs in pairs:
            assert mine["window"] == theirs["window"]
            np.testing.assert_allclose(mine["loss"], theirs["loss"], rtol=1e-5)
            assert mine["lr"] == theirs["lr"]


def rows_of(output: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (output / "trace.jsonl").read_text().splitlines()]


LACKING = [
    ("mode: none", "mode: mixed, compute_dtype: bfloat16", "TOY1"),
    ("name: adamw", "name: adam", "TOY2"),
    ("kind: global_norm, max_norm: 0.5", "kind: value, max_value: 0.5", "TOY3"),
    ("dropout: 0.0", "dropout: 0.1", "TOY4"),
    ("batch: ", "distributed: {strategy: data_parallel, processes_per_node: 2}\nbatch: ", "TOY5"),
    ("{steps: 2}", "{steps: 2, normalize_by: token}", "TOY6"),
    ("sequence_length: 16}", "sequence_length: 16, workers: 2}", "TOY7"),
    ("seed: 7", "seed: 7\nema: {decay: 0.9}", "CC300"),
]


def test_is_read_back_as_the_recipe_it_came_from(lab: Lab) -> None:
    done = lab("lift", "out/toy", "-o", "lifted.yaml", "--json")
    assert (lab.folder / "lifted.yaml").is_file(), done.stdout + done.stderr
    same = lab("diff", "recipe.yaml", "lifted.yaml")
    assert same.returncode == 0, same.stdout + same.stderr
    assert lab("compile", "lifted.yaml", "--to", "toy", "-o", "again").returncode == 0
    for name in ("train.py", "model.py"):
        texts = [(lab.folder / folder / "toy" / name).read_text() for folder in ("out", "again")]
        # A recipe that names every size of the model has another fingerprint than a preset.
        first, again = (re.sub(r"\b[0-9a-f]{16}\b", "FINGERPRINT", text) for text in texts)
        assert first == again


@pytest.mark.parametrize(
    ("old", "new", "code"),
    cases(LACKING, quick=[LACKING[0], LACKING[-1]], reason="more of what the plug-in lacks"),
)
def test_what_toygrad_lacks_is_refused(lab: Lab, old: str, new: str, code: str) -> None:
    other = lab.folder / f"{code}.yaml"
    other.write_text(RECIPE.replace(old, new))
    done = lab("compile", str(other), "--to", "toy", "-o", code)
    assert done.returncode == 1
    assert code in done.stderr
    assert not (lab.folder / code).exists()


def test_what_it_lacks_fails_no_question_about_the_others(lab: Lab) -> None:
    recipe = lab.folder / "dropout.yaml"
    recipe.write_text(RECIPE.replace("dropout: 0.0", "dropout: 0.1"))
    done = lab("explain", str(recipe))
    assert done.returncode == 0
    assert "not possible on toy" in done.stdout
    assert lab("explain", str(recipe), "--to", "toy").returncode == 1


def test_its_overrides_and_rows_count(lab: Lab) -> None:
    recipe = lab.folder / "strict.yaml"
    recipe.write_text(RECIPE + "overrides: {toy: {strict: true}}\n")
    assert lab("compile", str(recipe), "--to", "toy", "-o", "strict").returncode == 0
    assert 'np.seterr(over="raise"' in (lab.folder / "strict/toy/train.py").read_text()
    recipe.write_text(RECIPE + "overrides: {toy: {whisper: true}}\n")
    assert "CC208" in lab("check", str(recipe)).stderr
    rows = json.loads(lab("matrix", "--json").stdout)
    assert "toy" in {row["target"] for row in rows}


@exhaustive("`crosscast doctor` starts every framework")
def test_its_machine_counts(lab: Lab) -> None:
    machines = {
        machine["target"]: machine for machine in json.loads(lab("doctor", "--json").stdout)
    }
    assert machines["toy"]["native"]["float32"]


def test_without_the_plugin_its_name_is_unknown(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE + "overrides: {toy: {strict: true}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", "check", str(recipe)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "CC106" in done.stderr


PROGRAM = """\
import toygrad

model = Net()
optimizer = toygrad.AdamW([(model.weights, 0.1)], (0.999, 0.9), 1e-7)
for rows, labels in loader:
    loss = toygrad.cross_entropy(model(rows), labels, "mean")
    loss.backward()
    toygrad.clip_norm(model.weights, 0.5)
    optimizer.step()
    for weight in model.weights:
        weight.grad = None
"""


@pytest.fixture(scope="module")
def program(lab: Lab) -> str:
    (lab.folder / "theirs.py").write_text(PROGRAM)
    return "theirs.py"


def test_its_reader_is_asked(lab: Lab, program: str) -> None:
    done = lab("lift", program, "--json")
    (group,) = json.loads(done.stdout)["groups"]
    read = group["profile"]
    (optimizer,) = read["optimizers"]
    assert read["framework"]["value"] == "toygrad"
    assert (optimizer["eps"]["value"], optimizer["eps"]["reader"]) == (1e-7, "toygrad")


def test_its_rule_is_applied_and_speaks_chinese(lab: Lab, program: str) -> None:
    done = lab("lint", program, "--format", "json")
    findings = json.loads(done.stdout)["findings"]
    assert [(f["code"], f["span"]["line"]) for f in findings] == [("CL980", 4)]
    said = lab("--lang", "zh", "lint", program)
    assert "请先给出梯度的 beta" in said.stdout + said.stderr
    page = lab("--lang", "zh", "lint", "--explain", "CL980")
    assert "toygrad 的 AdamW" in page.stdout


def test_its_codemod_migrates(lab: Lab, program: str) -> None:
    done = lab("migrate", program, "--diff", "--experimental")
    assert "+    toygrad.clip_grad_norm(model.weights, 0.5, 0.0)" in done.stdout, done.stderr
    assert "toygrad1" in lab("migrate", program, "--to", "toygrad2").stderr
    held = lab("migrate", program).stderr
    assert "the migration of toygrad 0 is experimental: it was not tried on programs" in held


def test_its_examples_hold(lab: Lab) -> None:
    """The tests of rules and codemods, for what the plug-in brings."""
    checked = lab.python("-c", EXAMPLES)
    assert (checked.stdout, checked.stderr) == ("CL980 [] CM901 same\n", "")


EXAMPLES = """
from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import find_rule

rule = find_rule("CL980")
wrong, right = (lint_sources([Source("a.py", text)]) for text in (rule.wrong, rule.right))
codemods = codemods_to("toygrad1")
for codemod in codemods:
    for example in codemod.examples:
        done = migrate_in_place([Source("a.py", example.before)], codemods)
        assert done.texts.get("a.py", example.before) == example.after, done
print(*(r.code for r in wrong), [r.code for r in right], codemods[0].code, "same")
"""
