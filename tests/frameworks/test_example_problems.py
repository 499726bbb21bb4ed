"""The example problems: three models as one function, and scripts that train them alike."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast_parity.levels.masks import compare_masks
from frameworks.emitted_script import emit
from frameworks.example_weights import Arrays, canonical, converted
from frameworks.masked_runs import asked, given, masked
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import start
from tiers import Lazy, cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

EXAMPLES = Path(__file__).parents[2] / "examples"
FRAMEWORKS = ("torch", "tensorflow", "paddle")
OTHERS = FRAMEWORKS[1:]
WINDOWS = 40
MASKED = 6
"""Windows that are trained with given dropout masks."""
ROWS = 256
DROPOUT = ("DROPOUT, STD = 64, 64, 0.1,", "DROPOUT, STD = 64, 64, 0.0,")


@dataclass(frozen=True)
class Problem:
    """An example problem, and how its tiny model learns in WINDOWS windows."""

    name: str
    target: str
    learning_rate: float
    falls_to: float
    """Share of the first loss that the last ones stay below."""
    apart: float
    """Share of a loss by which those of two frameworks may differ."""
    dropout: bool = False

    @property
    def folder(self) -> Path:
        return EXAMPLES / self.name

    def data(self) -> Any:
        """Import its data.py."""
        spec = importlib.util.spec_from_file_location("data", self.folder / "data.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def rows(self, count: int) -> Arrays:
        """Return the first rows of its training data."""
        rows: Arrays = self.data().train_rows().rows(range(count))
        return rows

    def recipe(self, *, half: bool) -> Recipe:
        """Return its recipe for the tiny model."""
        text = (self.folder / "recipe.yaml").read_text()
        recipe = json.loads(json.dumps(parse(text, "recipe").data))
        factory = recipe["model"]["factory"]
        for framework, function in factory.items():
            factory[framework] = function.replace("build_model", "build_tiny")
        recipe["batch"] = {"micro_batch_size": 8, "global_batch_size": 16}
        recipe["optimizer"]["learning_rate"] = self.learning_rate
        recipe["schedule"] = {"name": "cosine", "warmup_steps": 4, "total_steps": WINDOWS}
        if not half:
            recipe.pop("precision", None)
            recipe.pop("loss_scaling", None)
        return build_recipe(parse(json.dumps(recipe), "test"))


PROBLEMS = {
    problem.name: problem
    for problem in (
        # With 8 rows a micro-batch, ReLU and batch normalization make much of rounding.
        Problem("resnet-cifar", "label", 0.1, 0.7, apart=0.02),
        Problem("gpt", "labels", 1e-2, 0.8, apart=1e-5, dropout=True),
        Problem("lstm-forecast", "future", 1e-2, 0.5, apart=1e-5),
    )
}


def of_tier() -> list[Any]:
    """Return the names of the problems, each in its tier."""
    return cases(PROBLEMS, quick=["lstm-forecast"], reason="the function of every example")


class Lab:
    """What the three models of a problem compute with the same weights."""

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem, self.folder = problem, folder
        self.rows = problem.rows(6)
        del self.rows[problem.target]
        rng = np.random.default_rng(1)
        first = self._run("torch", np.zeros(1, np.float32))
        self.initial: Arrays = first["initial"]
        self.weights = {name: moved(rng, name, a) for name, a in self.initial.items()}
        outputs = first["evaluated"]
        direction = rng.normal(size=outputs.shape).astype(outputs.dtype)
        self.found = {name: self._run(name, direction, self.weights) for name in FRAMEWORKS}

    def canonical(self, framework: str, kind: str) -> Arrays:
        """Return weights or gradients by PyTorch's names."""
        arrays = self.found[framework][kind]
        return canonical(self.problem.name, framework, self.weights, arrays)

    def _run(
        self, framework: str, direction: np.ndarray, weights: Arrays | None = None
    ) -> dict[str, Any]:
        folder = self.folder / f"{framework}-{weights is not None}"
        folder.mkdir()
        rows = self.rows | {"direction": direction}
        np.savez(folder / "rows.npz", **rows)  # type: ignore[arg-type]
        if weights is not None:
            theirs = converted(self.problem.name, framework, weights)
            np.savez(folder / "weights.npz", **theirs)  # type: ignore[arg-type]
        if not self.problem.dropout:
            (folder / "training").touch()
        program = Path(__file__).with_name(f"run_example_{framework}.py")
        done = start(program, framework, self.problem.folder, folder)
        assert done.returncode == 0, done.stderr[-4000:]
        found: dict[str, Any] = {}
        for name, array in np.load(folder / f"{framework}.npz").items():
            kind, _, weight = name.partition("/")
            if weight:
                found.setdefault(kind, {})[weight] = array
            else:
                found[kind] = array
        return found


def moved(rng: np.random.Generator, name: str, array: np.ndarray) -> np.ndarray:
    """Move a weight away from what models begin with: zeros and ones hide mistakes."""
    if array.dtype.kind != "f" or "bias_hh" in name:
        return array
    if "running_var" in name:
        return rng.uniform(0.5, 1.5, array.shape).astype(array.dtype)
    return (array + 0.1 * rng.normal(size=array.shape)).astype(array.dtype)


def difference(left: np.ndarray, right: np.ndarray) -> float:
    """Return the largest difference, as a share of the largest number."""
    return float(np.abs(left - right).max() / np.abs(left).max())


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Lazy[Lab]:
    return Lazy(lambda name: Lab(PROBLEMS[name], tmp_path_factory.mktemp(name)))


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("name", of_tier())
def test_the_models_are_one_function(labs: Lazy[Lab], name: str, framework: str) -> None:
    found, torch = labs[name].found[framework], labs[name].found["torch"]
    for kind in ("evaluated", "outputs"):
        assert difference(torch[kind], found[kind]) < 2e-6, kind
    gradients = labs[name].canonical(framework, "gradient")
    assert gradients.keys() == torch["gradient"].keys()
    for weight, gradient in gradients.items():
        # Normalized, the convolution that a gradient passes first gets sums that nearly cancel.
        assert difference(torch["gradient"][weight], gradient) < 3e-5, weight
    # A pass in training changes running means and variances.
    after = labs[name].canonical(framework, "after")
    for weight, array in after.items():
        if array.any() or torch["after"][weight].any():
            assert difference(torch["after"][weight], array) < 2e-6, weight
    if name == "resnet-cifar":
        changed = [w for w in after if difference(labs[name].weights[w], after[w]) > 1e-3]
        assert changed
        assert all("running" in weight for weight in changed)


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("name", of_tier())
def test_initial_weights_are_drawn_alike(labs: Lazy[Lab], name: str, framework: str) -> None:
    theirs = labs[name].canonical(framework, "initial")
    for weight, array in theirs.items():
        ours = labs[name].initial[weight]
        if array.std() == 0 or ours.std() == 0:
            assert np.array_equal(array, ours), weight
            continue
        # The standard deviation of n numbers is off by 1 / sqrt(2n) of it, in both samples.
        error = array.size**-0.5
        assert ours.std() / array.std() == pytest.approx(1, abs=5 * error), weight
        assert abs(array.mean()) < 5 * array.std() * error, weight
        bounded = np.abs(array).max() < 2 * array.std()  # uniform: sqrt(3)
        assert array.size < 100 or bounded == (np.abs(ours).max() < 2 * ours.std()), weight


def written(problem: Problem, folder: Path, framework: str, half: bool, dropout: bool) -> Path:
    """Write the script of the tiny model with its model file and rows; return the script."""
    emit(problem.recipe(half=half), framework, folder)
    model = (problem.folder / f"model_{framework}.py").read_text()
    if problem.dropout and not dropout:
        assert model.count(DROPOUT[0]) == 1
        model = model.replace(*DROPOUT)
    (folder / f"model_{framework}.py").write_text(model)
    shutil.copy(problem.folder / "data.py", folder)
    np.savez(folder / "rows.npz", **problem.rows(ROWS))  # type: ignore[arg-type]
    return folder / "train.py"


def trained(script: Path, framework: str, *flags: object) -> Run:
    """Run a script on the rows beside it."""
    rows = script.with_name("rows.npz")
    files = ("--train", rows, "--eval", rows, "--device", "cpu")
    (run,) = calls(script, framework, [(script.parent / "out", (*files, *flags))])
    return run


def check_falling(problem: Problem, run: Run) -> None:
    losses = [row["loss"] for row in run.trace]
    assert len(losses) == WINDOWS
    assert np.mean(losses[-5:]) < problem.falls_to * losses[0], losses


@pytest.mark.parametrize(
    "name", cases(PROBLEMS, quick=["lstm-forecast"], reason="every example problem, trained")
)
def test_the_scripts_train_alike(labs: Lazy[Lab], tmp_path: Path, name: str) -> None:
    problem, runs = PROBLEMS[name], {}
    for framework in FRAMEWORKS:
        script = written(problem, tmp_path / framework, framework, half=False, dropout=False)
        weights = script.with_name("initial.safetensors")
        save_file(converted(name, framework, labs[name].initial), weights)
        runs[framework] = trained(script, framework, "--weights", weights)
        assert runs[framework].code == 0, runs[framework].stderr
        check_falling(problem, runs[framework])
    torch = runs["torch"]
    for framework in OTHERS:
        pairs = zip(torch.trace, runs[framework].trace, strict=True)
        for window, (ours, theirs) in enumerate(pairs):
            bound = 2e-6 if window < 5 else problem.apart
            assert theirs["loss"] == pytest.approx(ours["loss"], rel=bound), (framework, window)
        # It reads the running statistics.
        loss = runs[framework].status["eval"]["loss"]
        assert loss == pytest.approx(torch.status["eval"]["loss"], rel=problem.apart), framework


@exhaustive("the GPT in three frameworks; `make test` has masks in test_masks")
def test_the_gpt_trains_alike_with_given_masks(labs: Lazy[Lab], tmp_path: Path) -> None:
    """With dropout, as it is trained; Keras' layers are not where those of PyTorch are."""
    problem = PROBLEMS["gpt"]
    runs: dict[str, Run] = {}
    for framework in FRAMEWORKS:
        folder = tmp_path / framework
        script = written(problem, folder, framework, half=False, dropout=True)
        save_file(converted("gpt", framework, labs["gpt"].initial), folder / "initial.safetensors")
        files = ("--train", folder / "rows.npz", "--eval", folder / "rows.npz")
        flags = (*files, "--weights", folder / "initial.safetensors", "--windows", MASKED)
        runs |= masked(framework, folder, [asked(script, folder / f"{framework} out", flags)])
    ours, *others = runs.values()
    assert len(given(ours).calls) == 1 + 2 * 3
    for other in others:
        check = compare_masks(given(other), given(ours))
        assert check.result == "pass", check.wording
        for window, (row, theirs) in enumerate(zip(ours.trace, other.trace, strict=True)):
            assert theirs["loss"] == pytest.approx(row["loss"], rel=2e-6), window
            assert theirs["grad_norm"] == pytest.approx(row["grad_norm"], rel=2e-5), window
        loss = other.status["eval"]["loss"]
        assert loss == pytest.approx(ours.status["eval"]["loss"], rel=1e-5)


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["paddle"], reason="half precision of PyTorch and Keras")
)
def test_the_gpt_trains_in_half(tmp_path: Path, framework: str) -> None:
    """With dropout, in the half precision that this framework has on a CPU."""
    problem = PROBLEMS["gpt"]
    script = written(problem, tmp_path, framework, half=True, dropout=True)
    run = trained(script, framework)
    if framework == "paddle":  # it has none
        assert run.code == 3, run.stderr
        return
    assert run.code == 0, run.stderr
    check_falling(problem, run)
    assert not any(row["skipped"] for row in run.trace)
