"""A stranger's backend, from its folder alone: compiled, run, compared, converted, read back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from frameworks.subprocesses import require
from tiers import cases, exhaustive

TESTS = Path(__file__).resolve().parents[1]
RECIPE = """\
version: 1
name: toy
seed: 7
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic, train_rows: 64, eval_rows: 16, sequence_length: 16}
batch: {micro_batch_size: 4}
accumulation: {steps: 2}
precision: {mode: none}
clipping: {kind: global_norm, max_norm: 0.5}
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.1, no_decay: [bias, layer_norm]}
schedule: {name: linear, warmup_steps: 2, total_steps: 6}
"""
MOMENTS = ("exp_avg", "exp_avg_sq")


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plug-in into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugins")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(TESTS / "plugin")], check=True)
    return folder


@pytest.fixture(scope="module")
def lab(plugins: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Compile the recipe and make its data."""
    return Lab(plugins, tmp_path_factory.mktemp("lab"))


class Lab:
    """A folder with a recipe, its rows and what is compiled to toygrad and PyTorch."""

    def __init__(self, plugins: Path, folder: Path) -> None:
        self._plugins, self.folder = plugins, folder
        (folder / "recipe.yaml").write_text(RECIPE)
        rows = ("--train-rows", "64", "--eval-rows", "16", "--sequence-length", "16")
        made = self("data", "nli-synthetic", "-o", "data", *rows, "--vocab-size", "1024")
        assert made.returncode == 0, made.stderr
        done = self("compile", "recipe.yaml", "--to", "toy,torch", "-o", "out")
        assert done.returncode == 0, done.stderr

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "crosscast", *arguments)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the folder, with the plug-in."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self._plugins), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )

    def train(self, target: str, output: str, *flags: str) -> Path:
        """Run an emitted script to its end and return the folder of what it leaves."""
        given = ("--output", output, "--device", "cpu", "--threads", "1")
        done = self.python(f"out/{target}/train.py", *given, *flags)
        assert done.returncode == 0, done.stderr
        return self.folder / output


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


MODEL_OF_TORCH = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 3)
        nn.init.zeros_(self.last.bias)

    def forward(self, x):
        x = torch.tanh(self.norm(self.first(x)))
        return self.last(x) - 1.0


model = Net(8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
"""
MODEL_OF_TOYGRAD = """\
import toygrad
from toygrad import LayerNorm, Linear, Module


class Net(Module):
    def __init__(self, width):
        self.first = Linear(4, width)
        self.norm = LayerNorm(width, 1e-6)
        self.last = Linear(width, 3)

    def __call__(self, x):
        x = toygrad.gelu(self.norm(self.first(x))) * 0.5
        return self.last(x.reshape(-1, 8))


model = Net(8)
weights = list(model.parameters().values())
optimizer = toygrad.AdamW([(weights, 0.1)], (0.9, 0.999), 1e-7)
for x, labels in loader:
    loss = toygrad.cross_entropy(model(x), labels, "mean")
    loss.backward()
    optimizer.step()
"""
OUTPUTS = """
import json
import numpy as np

{model}

rows = np.random.default_rng(9).normal(size=(5, 4)).astype(np.float32)
for number, (_, weight) in enumerate(sorted(dict({named}).items())):
    weight.data[:] = {filled}(np.random.default_rng(number).normal(size=weight.data.shape))
outputs = model(x={given}(rows))
print(json.dumps(np.asarray(outputs.{array}).tolist()))
"""
PARTS = {
    "torch": {
        "named": "model.named_parameters()",
        "filled": "__import__('torch').as_tensor",
        "given": "__import__('torch').as_tensor",
        "array": "detach()",
    },
    "toy": {
        "named": "model.parameters()",
        "filled": "np.asarray",
        "given": "__import__('toygrad').tensor_of",
        "array": "data",
    },
}


def carried(lab: Lab, program: str, output: str) -> dict[str, Path]:
    """Migrate a program to both frameworks and return the folders of the models."""
    (lab.folder / "source.py").write_text(program)
    given = ("--set", "clipping.kind=global_norm", "--set", "clipping.max_norm=0.5")
    lab("migrate", "source.py", "--to", "torch,toy", *given, "-o", output)
    return {target: lab.folder / output / target for target in ("torch", "toy")}


def test_models_are_carried_into_it_and_out_of_it(lab: Lab) -> None:
    into = carried(lab, MODEL_OF_TORCH, "into")["toy"] / "own_model.py"
    assert "self.norm = toygrad.LayerNorm(8, 1e-05)" in into.read_text()
    assert "np.random.uniform(" in into.read_text()  # Linear of PyTorch does not start from zeros
    assert "return x * 1.0 + -1.0" in into.read_text()
    out = carried(lab, MODEL_OF_TOYGRAD, "out_of")["torch"] / "own_model.py"
    assert "self.norm = nn.LayerNorm(8, eps=1e-06)" in out.read_text()
    assert "nn.init.constant_(self.first.weight, 0.0)" in out.read_text()
    assert 'F.gelu(x, approximate="none")' in out.read_text()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nn.Linear(4, width, bias=False)", "toygrad has no layer without a bias"),
        ("nn.LayerNorm((2, 4))", "toygrad normalizes the last axis only"),
        ("nn.LayerNorm(width, bias=False)", "toygrad has no normalization without a bias"),
        ("nn.ReLU()", "relu has no counterpart"),
    ],
)
def test_a_model_that_it_has_no_rows_for_is_refused(
    lab: Lab, line: str, reason: str, tmp_path: Path
) -> None:
    text = MODEL_OF_TORCH.replace("nn.LayerNorm(width)", line)
    own = carried(lab, text, str(tmp_path / "refused"))["toy"] / "own_model.py"
    assert reason in own.read_text()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("program", "framework"), [(MODEL_OF_TORCH, "torch"), (MODEL_OF_TOYGRAD, "toy")]
)
def test_carried_models_compute_the_same(lab: Lab, program: str, framework: str) -> None:
    require("torch")
    folders = carried(lab, program, f"same_{framework}")
    found = []
    made = [(framework, program.partition("optimizer =")[0])]
    for target, folder in folders.items():
        own = f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
        made.append((target, f"{own}from own_model import build_model\nmodel = build_model()"))
    for target, model in made:
        done = lab.python("-c", OUTPUTS.format(model=model, **PARTS[target]))
        assert done.returncode == 0, done.stderr
        found.append(np.asarray(json.loads(done.stdout)))
    assert found[0].shape == (5, 3)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-5)


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
