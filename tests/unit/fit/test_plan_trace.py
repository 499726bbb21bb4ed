"""`crosscast plan --trace`: user models run when the user says so, in processes of their own."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.memory.records import MeasuredModel, Moment, TracedModel, TracedWeight
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.memory import processes, short_runs

MIB = 2**20
RECIPE = """version: 1
name: own
model: {kind: custom, factory: {torch: "net:build_model"}}
data: {source: npz, train: train.npz, eval: eval.npz}
batch: {micro_batch_size: 8, global_batch_size: 16}
optimizer: {name: adamw, learning_rate: 1e-3, no_decay: []}
schedule: {name: linear, total_steps: 10}
"""
TRACED = TracedModel(
    weights=(TracedWeight(1000, "float32", 10),),
    frozen_bytes=0,
    first=(Moment("backward", 0, 0, MIB),),
    later=(Moment("backward", 4000, 0, MIB),),
    forward_end=Moment("forward", 0, 0, MIB),
    outputs_per_row=100,
    sequence_length=4,
)
MEASURED = MeasuredModel(
    peaks=((2, 3 * MIB), (4, 5 * MIB), (8, 9 * MIB)),
    parameters=4000,
    trained=1000,
    optimizer=8000,
    ema=0,
    held_row=0,
    widened=False,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder: a recipe, rows, and a module that must not be imported by anybody here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "net.py").write_text("raise AssertionError('imported')\n")
    ids = np.ones((4, 4), np.int32)
    for name in ("train", "eval"):
        np.savez(tmp_path / f"{name}.npz", input_ids=ids, labels=ids[:, 0])
    return tmp_path


def plan(*words: object) -> Result:
    found = CliRunner().invoke(app, ["plan", "recipe.yaml", *map(str, words)])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


class Tracer:
    """Stands in for `trace_model`."""

    def __init__(self, error: DiagnosticError | None = None) -> None:
        self.requests: list[tuple[str, str]] = []
        self.pythons: set[str] = set()
        self.error = error

    def __call__(self, recipe: Recipe, python: str, *, folder: Path, timeout: float) -> TracedModel:
        self.requests.append((recipe.precision.mode, recipe.precision.compute_dtype))
        self.pythons.add(python)
        assert (folder.absolute(), timeout) == (Path.cwd(), 600.0)
        if self.error:
            raise self.error
        return TRACED


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    found = Tracer()
    monkeypatch.setattr(processes, "trace_model", found)
    return found


class Runs:
    """Stands in for `measure_model`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.found = MEASURED
        self.error: DiagnosticError | None = None

    def __call__(
        self, recipe: Recipe, target: str, python: str, *, folder: Path, timeout: float
    ) -> MeasuredModel:
        self.requests.append((target, recipe.precision.compute_dtype, python))
        assert (folder.absolute(), timeout) == (Path.cwd(), 600.0)
        if self.error:
            raise self.error
        return self.found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    found = Runs()
    monkeypatch.setattr(short_runs, "measure_model", found)
    return found


def two_factories(**changes: str) -> None:
    """Let the recipe name a model for Paddle, too."""
    text = RECIPE.replace('{torch: "net:build_model"}', '{torch: "net:a", paddle: "net:b"}')
    Path("recipe.yaml").write_text(text + "".join(f"{k}: {v}\n" for k, v in changes.items()))


def test_nothing_of_the_users_runs_unasked(tracer: Tracer) -> None:
    found = plan("--to", "torch", "--memory", "1GiB")
    assert found.exit_code == 1
    assert "recipe.yaml:3:" in found.stderr
    assert "error CC450: model:" in found.stderr
    assert "plan --trace" in found.stderr
    assert tracer.requests == []


def test_one_trace_serves_all_splits(tracer: Tracer, folder: Path) -> None:
    found = plan("--to", "torch", "--memory", "30MiB", "--trace", "--json", "-o", "out")
    assert found.exit_code == 0, found.output
    (target,) = json.loads(found.stdout)["targets"]
    micro = [entry["micro_batch_size"] for entry in target["answers"]]
    assert micro == [8, 4, 2, 1]  # 16 rows keep 16 MiB, beside the workspace of cuBLAS
    assert all((folder / entry["file"]).is_file() for entry in target["answers"])
    assert tracer.requests == [("none", "float32")]
    assert tracer.pythons == {sys.executable}


def test_another_precision_is_another_trace(tracer: Tracer) -> None:
    words = ("--to", "torch", "--device", "A10", "--answers", "50", "--allow", "precision")
    found = plan(*words, "--trace", "--python", "torch=python-of-mine", "--json")
    assert found.exit_code == 0, found.output
    assert sorted(tracer.requests) == [
        ("mixed", "bfloat16"),
        ("mixed", "float16"),
        ("none", "float32"),
    ]
    assert tracer.pythons == {"python-of-mine"}


def test_a_model_that_cannot_be_traced(tracer: Tracer, folder: Path) -> None:
    tracer.error = DiagnosticError(
        Diagnostic(code="CC452", path="model.factory.torch", message="ValueError: no weights")
    )
    found = plan("--to", "torch", "--memory", "1GiB", "--trace", "-o", "out")
    assert found.exit_code == 1
    assert "error CC452: model.factory.torch: ValueError: no weights" in found.stderr
    assert "recipe.yaml:3:" in found.stderr
    assert len(tracer.requests) == 1
    assert not (folder / "out").exists()


def test_a_trace_is_for_the_peak_of_a_run_too(tracer: Tracer, folder: Path) -> None:
    row = {"window": 0, "n_micro": 2, "rows": 16, "loss": 1.0, "lr": 0.1, "grad_norm": 1.0}
    row |= {"scale": 1.0, "skipped": False, "updates": 1, "peak_memory": 25 * MIB}
    (folder / "trace.jsonl").write_text(json.dumps(row) + "\n")
    words = ("--to", "torch", "--measured", "trace.jsonl")
    assert "error CC450" in plan(*words).stderr
    found = plan(*words, "--trace", "--memory", "1GiB")
    assert found.exit_code == 0, found.output
    assert "25.0 MiB" in found.stdout
    assert len(tracer.requests) == 1


def test_other_frameworks_are_measured(tracer: Tracer, runs: Runs) -> None:
    two_factories()
    words = ("--to", "torch,paddle", "--memory", "30MiB", "--trace", "--python", "paddle=other")
    found = plan(*words)
    assert found.exit_code == 0, found.output
    assert "torch: the unchanged recipe needs" in found.stdout
    assert "(memory traced; times are not estimated" in found.stdout
    assert "(memory measured; times are not estimated" in found.stdout
    first, second = json.loads(plan(*words, "--json").stdout)["targets"]
    assert (first["now"]["evidence"], second["now"]["evidence"]) == ("traced", "measured")
    sizes = {part["name"]: part["bytes"] for part in second["now"]["components"]}
    rest = 9 * MIB - 16_000
    assert sizes == {"parameters": 4000, "gradients": 4000, "optimizer": 8000, "activations": rest}
    assert second["now"]["peak_bytes"] == 9 * MIB
    assert (second["now"]["simple_formula_bytes"], second["now"]["peak_phase"]) == (None, "unknown")
    assert [answer["micro_batch_size"] for answer in second["answers"]] == [16, 8, 4, 2, 1]
    assert runs.requests == [("paddle", "float32", "other")] * 2
    assert tracer.pythons == {sys.executable}


def test_nothing_is_measured_unasked(runs: Runs) -> None:
    two_factories()
    found = plan("--memory", "1GiB")
    assert (found.exit_code, found.stderr.count("error CC450")) == (1, 1)
    assert runs.requests == []


def test_half_precision_that_was_not_measured_is_an_upper_bound(runs: Runs) -> None:
    two_factories(precision="{mode: mixed, compute_dtype: bfloat16}")
    runs.found = replace(MEASURED, widened=True)
    found = plan("--to", "paddle", "--memory", "30MiB", "--trace", "--json")
    assert found.exit_code == 0, found.output
    (target,) = json.loads(found.stdout)["targets"]
    assert target["now"]["upper_bound"]
    sizes = {part["name"]: part["bytes"] for part in target["now"]["components"]}
    assert sizes["half_copies"] == 2000 + sizes["activations"] // 2
    assert "CC453" in [note["code"] for note in json.loads(found.stdout)["diagnostics"]]


def test_a_default_target_that_is_not_installed_is_left_out(tracer: Tracer, runs: Runs) -> None:
    two_factories()
    runs.error = DiagnosticError(Diagnostic(code="CC401", message="python has no package paddle"))
    unasked = plan("--memory", "1GiB", "--trace")
    assert unasked.exit_code == 0, unasked.output
    assert "note CC401: python has no package paddle" in unasked.stderr
    assert "note CC305" in unasked.stderr  # no factory for TensorFlow
    assert "error" not in unasked.stderr
    named = plan("--to", "torch,paddle", "--memory", "1GiB", "--trace")
    assert (named.exit_code, "error CC401" in named.stderr) == (3, True)
    assert "torch: the unchanged recipe needs" in named.stdout


def test_no_short_runs_for_a_hint(runs: Runs) -> None:
    two_factories()
    found = plan("--to", "paddle", "--memory", "1MiB", "--trace")
    assert (found.exit_code, "error CC460" in found.stderr) == (1, True), found.output
    assert len(runs.requests) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--python", "torch=python3"), "CC463"),
        (("--trace", "--python", "torch"), "CC707"),
        (("--trace", "--python", "paddle=python3"), "CC707"),
    ],
)
def test_usage(tracer: Tracer, words: tuple[str, ...], code: str) -> None:
    found = plan("--to", "torch", "--memory", "1GiB", *words)
    assert (found.exit_code, f"error {code}:" in found.stderr) == (2, True), found.output
    assert tracer.requests == []


def test_the_shipped_model_is_not_traced(tracer: Tracer) -> None:
    bert = "{kind: bert, preset: tiny, labels: 3}"
    text = RECIPE.replace('{kind: custom, factory: {torch: "net:build_model"}}', bert)
    Path("recipe.yaml").write_text(text)
    found = plan("--to", "torch", "--memory", "1GiB", "--trace")
    assert (found.exit_code, "error CC463:" in found.stderr) == (2, True)


# the process, with a stand-in for an interpreter that has PyTorch

SAID: dict[str, Any] = {"kind": "raised", "type": "ValueError", "words": "no", "module": ""}
STAND_IN = """#!{python}
import json, os, sys, time
options = json.loads(sys.argv[4])
assert sys.argv[1:3] == ["-m", "{module}"], sys.argv
assert os.getcwd() == options["folder"]
def answer(**changes):
    with open(options["answer"], "w") as file:
        json.dump(changes, file)
{does}
"""


def stand_in(folder: Path, does: str, module: str = "crosscast_torch.inside.trace") -> str:
    path = folder / "python-stand-in"
    path.write_text(STAND_IN.format(python=sys.executable, module=module, does=does))
    path.chmod(0o755)
    return str(path)


def traced(folder: Path, does: str, *words: str) -> Result:
    python = stand_in(folder, does)
    return plan(
        "--to", "torch", "--memory", "1GiB", "--trace", "--python", f"torch={python}", *words
    )


def measured(folder: Path, does: str, *words: str) -> Result:
    two_factories()
    python = stand_in(folder, does, "crosscast_paddle.inside.allocations")
    chosen = ("--to", "paddle", "--python", f"paddle={python}")
    return plan(*chosen, "--memory", "1GiB", "--trace", *words)


def test_an_answer_is_read_from_its_file(folder: Path) -> None:
    found = {
        "weights": [[1000, "float32", 10]],
        "frozen_bytes": 0,
        "first": [["backward", 0, 0, MIB]],
        "later": [["backward", 4000, 0, MIB]],
        "forward_end": ["forward", 0, 0, MIB],
        "outputs_per_row": 100,
    }
    does = f"answer(found={found!r})\nprint('{{}} the model says hello')"
    done = traced(folder, does, "--json")
    assert done.exit_code == 0, done.output
    (target,) = json.loads(done.stdout)["targets"]
    assert target["now"]["peak_bytes"] > 8 * MIB


SIZES = {"parameters": 4000, "trained": 1000, "optimizer": 8000, "ema": 0}


def test_short_runs_have_more_rows_each_time(folder: Path) -> None:
    does = f"""
import numpy
with numpy.load(options["file"]) as file:
    assert sorted(file.files) == ["input_ids", "labels"]
rows = options["micro_batch"]
assert (options["rows"], options["windows"], options["device"]) == (2 * rows, 2, "cpu")
with open("sizes", "a") as file:
    print(rows, file=file)
answer(found=dict(peak=20000 + 1000 * rows, where=[], version="3", sizes={SIZES!r}))"""
    done = measured(folder, does, "--json")
    assert done.exit_code == 0, done.output
    assert (folder / "sizes").read_text().split() == ["2", "4", "8"]
    (target,) = json.loads(done.stdout)["targets"]
    assert target["now"]["peak_bytes"] == 28_000
    assert target["answers"][0]["peak_bytes"] == 36_000


def test_a_short_run_that_fails_has_its_place(folder: Path) -> None:
    place = {"file": "net.py", "line": 7, "text": "raise ValueError('no')"}
    done = measured(folder, f"answer(stopped={SAID | {'place': place}!r})")
    assert done.exit_code == 1
    assert done.stderr.startswith("net.py:7:1: error CC452: model.factory.paddle: ")
    assert "the short run that measures memory failed: ValueError: no" in done.stderr
    missing = measured(folder, "import paddle_is_not_there")
    assert (missing.exit_code, "--python paddle=PATH" in missing.stderr) == (3, True)


@pytest.mark.parametrize(
    ("does", "code", "words"),
    [
        ("sys.exit(0)", 1, "CC452: trace: the process ended without an answer"),
        ("os.abort()", 1, "CC452: trace: ended by SIGABRT"),
        ("raise OSError('full')", 1, "CC452: trace: OSError: full"),
        ("open(options['answer'], 'w').write('{')", 1, "without an answer"),
        ("import not_there_at_all", 3, "CC401: "),
    ],
)
def test_a_process_that_gives_no_answer(folder: Path, does: str, code: int, words: str) -> None:
    done = traced(folder, does)
    assert (done.exit_code, words in done.stderr) == (code, True), done.output
    assert "Traceback" not in done.output


def test_a_process_that_does_not_end_is_ended(folder: Path) -> None:
    does = "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    done = traced(folder, does, "--timeout", "1")
    assert (done.exit_code, "not ready after 1 s" in done.stderr) == (1, True), done.output
    if (folder / "pid").exists():  # it may not have come so far
        with pytest.raises(ProcessLookupError):
            os.kill(int((folder / "pid").read_text()), 0)


def test_a_mistake_in_the_users_code_has_its_place(folder: Path) -> None:
    place = {"file": "net.py", "line": 7, "text": "raise ValueError('no')"}
    done = traced(folder, f"answer(stopped={SAID | {'place': place}!r})")
    assert done.exit_code == 1
    assert done.stderr.startswith("net.py:7:1: error CC452: ")
    assert "the model cannot be traced: ValueError: no" in done.stderr
    assert "    raise ValueError('no')\n" in done.stderr


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"kind": "refused", "words": "not linear"}, 1, "the model cannot be traced: not linear"),
        ({"kind": "fake"}, 1, "the model must not read values"),
        ({"module": "net"}, 1, "where train.py would be started"),
        ({"module": "safetensors"}, 3, "has no package safetensors"),
    ],
)
def test_other_reasons(folder: Path, changes: dict[str, str], code: int, words: str) -> None:
    done = traced(folder, f"answer(stopped={SAID | {'place': {}} | changes!r})")
    assert (done.exit_code, words in done.stderr) == (code, True), done.output


def test_an_interpreter_that_is_none() -> None:
    done = plan("--to", "torch", "--memory", "1GiB", "--trace", "--python", "torch=/not/there")
    assert (done.exit_code, "error CC401: /not/there" in done.stderr) == (3, True), done.output


def test_rows_that_are_not_there(folder: Path) -> None:
    (folder / "train.npz").unlink()
    done = plan("--to", "torch", "--memory", "1GiB", "--trace")
    assert (done.exit_code, "error CC601" in done.stderr) == (2, True), done.output
