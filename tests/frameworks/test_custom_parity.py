"""Custom models are trained and compared: the three problems of `examples`, small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from crosscast import compile, load, trace_export
from frameworks.example_problems import problem
from frameworks.subprocesses import python_options, require
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

PARITY = (
    *(sys.executable, "-m", "crosscast", "parity", "recipe.yaml"),
    *("-o", "out", "--jobs", "2"),
)
ALL = "torch,tensorflow,paddle"


def compared(folder: Path, targets: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """Compare the models of a recipe; return the exit code, the report, and what was printed."""
    for target in targets.split(","):
        require(target)
    command = [*PARITY, "--to", targets]
    done = subprocess.run(
        [*command, *python_options(*targets.split(",")), *options],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    report, said = folder / "out" / "report.json", done.stdout + done.stderr
    assert report.exists(), said
    return done.returncode, json.loads(report.read_text()), said


LEVELS = {"gate", "L0a", "L0b", "L0c", "L0d", "L1a", "L1b", "L1d", "L2"}
Judged = tuple[Path, dict[str, Any], str]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Compare compiled scripts with two of PyTorch's: one as compiled, one that clips at less."""
    folder = problem("lstm-forecast", tmp_path_factory.mktemp("judged"))
    scripts = {name: folder / name / "torch" / "train.py" for name in ("mine", "edited")}
    for name in scripts:
        compile(load(folder / "recipe.yaml"), "torch").write(folder / name)
    text = scripts["edited"].read_text()
    assert "MAX_VALUE = 0.1" in text
    scripts["edited"].write_text(text.replace("MAX_VALUE = 0.1", "MAX_VALUE = 0.02"))
    add = [f"--add={name}=torch,script={script}" for name, script in scripts.items()]
    code, report, said = compared(folder, "torch,paddle", *add, "--windows", "24")
    assert code == 1, said
    return folder, {pair["contestant"]: pair for pair in report["pairs"]}, said


def levels(pair: dict[str, Any], result: str) -> set[str]:
    return {check["level"] for check in pair["checks"] if check["result"] == result}


def test_a_model_is_trained_alike_by_two_scripts(judged: Judged) -> None:
    folder, pairs, said = judged
    pair = pairs["paddle"]
    assert pair["verdict"] == "EQUIVALENT", said
    assert levels(pair, "pass") == LEVELS
    assert levels(pair, "not tested") == set()
    evaluated = [check for check in pair["checks"] if check["name"] == "evaluation loss"]
    runs = [(check["level"], check["run"]) for check in evaluated]
    assert runs == [("L1d", "main"), ("L1d", "float32-stress")]
    check_other_files(folder, pair)


def check_other_files(folder: Path, pair: dict[str, Any]) -> None:
    """Check what a comparison leaves for other programs: JUnit, a badge, the runs to export."""
    root = ElementTree.parse(folder / "out" / "junit.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    suite = suites["paddle against torch"]
    assert len(suite) == len(pair["checks"]) + 1
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert suites["edited against torch"].get("failures") != "0"
    badge = json.loads((folder / "out" / "badge.json").read_text())
    assert badge["message"] == "DIFFERENT"
    assert badge["message"] in (folder / "out" / "badge.svg").read_text()
    found = trace_export(folder / "out", "csv", out=folder / "runs.csv")
    names = {run.name for run in found.runs}
    assert {"torch/model/main", "paddle/model/main"} <= names, names
    assert all(run.windows == len(run.points) - bool(run.facts) for run in found.runs)


PROBLEMS = [
    (example, dtype)
    for example in ("gpt", "lstm-forecast", "resnet-cifar")
    for dtype in ("float32", "float16", "bfloat16")
]


@exhaustive("the examples in all frameworks and types")
@pytest.mark.parametrize(("example", "dtype"), PROBLEMS)
def test_the_examples_are_equivalent(example: str, dtype: str, tmp_path: Path) -> None:
    code, report, said = compared(problem(example, tmp_path, dtype), ALL)
    assert {pair["verdict"] for pair in report["pairs"]} == {"EQUIVALENT"}, said
    assert code == 0


RESULT = "        return paddle.matmul(self.norm(x)"
PLANTS = {
    "a factor": ("        x = x * 1.01 if self.training else x\n", "DIFFERENT", "L1a"),
    "no gradient": ("        x = x.detach() if self.training else x\n", "DIFFERENT", "L1a"),
    "dropout": (
        "        x = nn.functional.dropout(x, 0.1, training=self.training)\n",
        "INCONCLUSIVE",
        "L0a",
    ),
}
"""What a model does in training alone, which a comparison of modules cannot see."""


@pytest.mark.parametrize("plant", cases(PLANTS, quick=[], reason="models that differ in training"))
def test_a_difference_in_training_alone_is_seen(plant: str, tmp_path: Path) -> None:
    more, verdict, level = PLANTS[plant]
    folder = problem("gpt", tmp_path)
    model = folder / "model_paddle.py"
    text = model.read_text()
    assert RESULT in text
    model.write_text(text.replace(RESULT, more + RESULT))
    code, report, said = compared(folder, "torch,paddle")
    (pair,) = report["pairs"]
    assert pair["verdict"] == verdict, said
    wrong = {c["level"] for c in pair["checks"] if c["result"] in ("fail", "unclear")}
    assert level in wrong
    assert code == 1


def test_a_compiled_script_is_compared_as_it_is_and_after_an_edit(judged: Judged) -> None:
    _, pairs, said = judged
    assert pairs["mine"]["verdict"] == "EQUIVALENT", said
    assert levels(pairs["mine"], "pass") == LEVELS
    assert pairs["edited"]["verdict"] == "DIFFERENT", said
    assert "L1b" in levels(pairs["edited"], "fail"), said


@exhaustive("a search for the fields that explain a difference of custom models")
def test_another_recipe_of_the_same_models_is_told_by_its_field(tmp_path: Path) -> None:
    folder = problem("gpt", tmp_path)
    text = (folder / "recipe.yaml").read_text()
    assert "weight_decay: 0.1" in text
    (folder / "other.yaml").write_text(text.replace("weight_decay: 0.1", "weight_decay: 0.3"))
    add = ("--add", "other=torch,recipe=other.yaml", "--bisect")
    _, report, said = compared(folder, "torch,paddle", *add)
    pairs = {pair["contestant"]: pair for pair in report["pairs"]}
    assert pairs["paddle"]["verdict"] == "EQUIVALENT", said
    assert pairs["other"]["verdict"] == "DIFFERENT", said
    (found,) = report["bisections"]
    assert found["fields"] == ["optimizer.weight_decay"], found


@exhaustive("planted bugs that every level must detect, in the scripts of custom models")
@pytest.mark.timeout(1800)  # twenty bugs on three frameworks
@pytest.mark.parametrize(
    ("example", "dtype"),
    [("lstm-forecast", "float32"), ("lstm-forecast", "float16"), ("gpt", "float16")],
)
def test_every_level_sees_its_canary(example: str, dtype: str, tmp_path: Path) -> None:
    folder = problem(example, tmp_path, dtype)
    require("torch")
    command = [*PARITY, "--to", "torch,paddle"]
    done = subprocess.run(
        [*command, "--self-test", *python_options("torch", "paddle")],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "L1a" in done.stdout
    assert ("L1c" in done.stdout) == (dtype != "float32")


@exhaustive("every type and paired seeds of a custom model")
def test_a_full_check_trains_seeds(tmp_path: Path) -> None:
    _, report, said = compared(problem("lstm-forecast", tmp_path), "torch,paddle", "--check=full")
    (pair,) = report["pairs"]
    checks = {check["name"]: check for check in pair["checks"] if check["level"] == "L3"}
    assert list(checks) == ["convergence", "training loss", "eval loss"]
    assert checks["convergence"]["result"] == "pass", said
    assert pair["verdict"] in ("EQUIVALENT", "INCONCLUSIVE"), said
    types = {run["stage"] for run in report["runs"]}
    assert {"model", "model-float16", "model-bfloat16"} <= types


UNBIASED = ("        if self.training:\n", "        if False:\n")
"""PyTorch's own running variance, which is unbiased, beside Paddle's."""
CALLS = (
    '        self.calls = getattr(self, "calls", 0) + self.training\n        if self.calls > 30:\n'
)
BEFORE = "        before = self.running_var.clone()\n"
TURNED = "        x = image.transpose([0, 3, 1, 2])\n"
LAYERS = """\
            for layer in self.sublayers():
                if isinstance(layer, nn.BatchNorm2D):
                    layer._momentum = 1.0
"""
STATISTICS = {
    "frozen in torch": (
        "model_torch.py",
        BEFORE,
        f"{CALLS}            self.momentum = 0.0\n{BEFORE}",
    ),
    "frozen in paddle": ("model_paddle.py", TURNED, f"{CALLS}{LAYERS}{TURNED}"),
    "unbiased in torch": ("model_torch.py", *UNBIASED),
}


@exhaustive("running statistics at the end of the longest run")
@pytest.mark.parametrize("case", STATISTICS)
def test_running_statistics_are_judged_at_the_end(case: str, tmp_path: Path) -> None:
    """Those that stop after 30 calls pass all short runs; an unbiased variance is no mistake."""
    folder = problem("resnet-cifar", tmp_path)
    file, old, new = STATISTICS[case]
    model = folder / file
    text = model.read_text()
    assert old in text
    model.write_text(text.replace(old, new))
    _, report, said = compared(folder, "torch,paddle")
    (pair,) = report["pairs"]
    found = {c["name"]: c for c in pair["checks"] if c["level"] == "L2"}
    wrong = {c["name"] for c in pair["checks"] if c["result"] in ("fail", "unclear")}
    results = [found[name]["result"] for name in ("final evaluation", "running statistics")]
    if case == "unbiased in torch":
        assert (pair["verdict"], wrong) == ("EQUIVALENT", set()), said
        assert results == ["not tested", "pass"]
        return
    assert (pair["verdict"], results) == ("DIFFERENT", ["fail", "fail"]), said
    assert wrong == {"final evaluation", "running statistics"}
    assert "norm.running_mean: off by" in found["running statistics"]["wording"]
