"""Rows read by workers: the same bits as without, and a message if a worker fails."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from frameworks.emitted_script import TINY, emit, tiny_recipe
from frameworks.script_runs import Run, apart, calls
from frameworks.subprocesses import environment, interpreter, kill, run_python
from tiers import cases, exhaustive

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
PROCESSES = ("torch", "paddle")
"""Frameworks whose workers are processes; those of tf.data are threads."""
DATA = {
    "source": "custom",
    "train": "own_rows:train_rows",
    "eval": "own_rows:eval_rows",
    "sequence_length": 8,
    "pad_to_multiple_of": 4,
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of the scripts, by framework."""
    root = tmp_path_factory.mktemp("workers")
    recipe = tiny_recipe(
        data=DATA,
        model=TINY["model"] | {"dropout": 0.1},
        schedule={"name": "constant", "total_steps": 100},
    )
    for framework in FRAMEWORKS:
        emit(recipe, framework, root / framework)
        shutil.copy(Path(__file__).with_name("own_rows.py"), root / framework)
    return {framework: root / framework for framework in FRAMEWORKS}


FLAGS = ("--device", "cpu", "--threads", "1")


def alike(one: Run, other: Run) -> None:
    """Check that two runs have left the same bits."""
    assert one.code == other.code == 0, one.stderr + other.stderr + other.traceback
    kept = [
        [{n: v for n, v in row.items() if n != "peak_memory"} for row in run.trace]
        for run in (one, other)
    ]
    assert kept[0] == kept[1]
    assert one.status["eval"] == other.status["eval"]
    assert one.weights.keys() == other.weights.keys()
    for name, array in one.weights.items():
        assert array.tobytes() == other.weights[name].tobytes(), name


@pytest.mark.parametrize(
    "framework",
    cases(FRAMEWORKS, quick=["torch", "paddle"], reason="threads of workers beside TensorFlow"),
)
def test_workers_change_nothing(framework: str, scripts: dict[str, Path], tmp_path: Path) -> None:
    """Rows vary in length, dropout is on, an epoch ends with a short window."""
    windows = ("--windows", 12, *FLAGS)
    first = ("--windows", 7, *FLAGS)
    plain, stopped, resumed = apart(
        scripts[framework] / "train.py",
        framework,
        [
            (tmp_path / "plain", windows),
            (tmp_path / "workers", (*first, "--workers", 4)),
            (tmp_path / "workers", (*windows, "--workers", 1, "--resume")),
        ],
    )
    assert stopped.code == 0, stopped.stderr
    alike(plain, resumed)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@exhaustive("100 windows with four workers, killed and resumed")
def test_a_killed_run_goes_on_alike(
    framework: str, scripts: dict[str, Path], tmp_path: Path
) -> None:
    script, flags = scripts[framework] / "train.py", ("--workers", 4, "--checkpoint-every", 10)
    command = [interpreter(framework), script, "--output", tmp_path / "workers", *flags, *FLAGS]
    trace = tmp_path / "workers" / "trace.jsonl"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=script.parent,
            env=environment(framework),
            stderr=log,
            text=True,
        )
        for _ in range(2000):
            if trace.exists() and len(trace.read_bytes().splitlines()) > 33:
                break
            time.sleep(0.1)
        kill(process)
        process.wait()
    plain, resumed = apart(
        script,
        framework,
        [(tmp_path / "plain", FLAGS), (tmp_path / "workers", (*flags, *FLAGS, "--resume"))],
    )
    assert len(resumed.trace) == 100
    alike(plain, resumed)


@pytest.mark.parametrize(
    ("framework", "workers"),
    cases(
        [(name, workers) for name in FRAMEWORKS for workers in (0, 2)],
        quick=[("torch", 2), ("tensorflow", 2)],
        reason="errors of rows without workers, and of Paddle's",
    ),
)
def test_an_error_of_the_users_rows_is_shown(
    framework: str, workers: int, scripts: dict[str, Path], tmp_path: Path
) -> None:
    failing(scripts[framework], tmp_path / "script", "raised")
    flags = (*FLAGS, "--workers", workers)
    script = tmp_path / "script" / "train.py"
    (done,) = calls(script, framework, [(tmp_path / "out", flags)])
    assert done.code != 0 or done.traceback
    assert "row 50 is not there" in done.traceback + done.stderr
    assert done.status["status"] == "failed"
    assert "row 50 is not there" in done.status["message"]


def test_threads_of_rows_that_fail_end_before_python_does(scripts: dict[str, Path]) -> None:
    """At its exit, Python and a thread that calls it would wait for each other."""
    program = Path(__file__).with_name("run_failing_rows_tensorflow.py")
    done = run_python(program, "tensorflow", scripts["tensorflow"] / "train.py")
    assert done == {"rows": 3, "error": "KeyError('row 3 is not there')", "iterators": 0}


@pytest.mark.parametrize(
    "framework", cases(PROCESSES, quick=["torch"], reason="dead workers of Paddle")
)
def test_a_worker_that_dies_ends_the_run(
    framework: str, scripts: dict[str, Path], tmp_path: Path
) -> None:
    failing(scripts[framework], tmp_path / "script", "killed")
    flags = (*FLAGS, "--workers", 2)
    script = tmp_path / "script" / "train.py"
    # A fork of Paddle sometimes ends otherwise.
    fork = framework != "paddle"
    (done,) = calls(script, framework, [(tmp_path / "out", flags)], fork=fork)
    assert done.traceback == ""
    assert done.code == 1
    # The words depend on who noticed first.
    assert re.search("another process has ended, or cannot be reached: .+", done.stderr)
    assert done.status["status"] == "failed"


def test_a_tensor_of_a_worker_that_has_died(scripts: dict[str, Path]) -> None:
    """It cannot be received, which may be noticed before the death is."""
    program = Path(__file__).with_name("run_lost_tensor_torch.py")
    done = run_python(program, "torch", scripts["torch"] / "train.py")
    assert done == {
        "hangs up": ["EOFError", True],
        "is not there": ["FileNotFoundError", True],
        "rows of the user": ["EOFError", False],
    }


def failing(folder: Path, copy: Path, how: str) -> None:
    """Copy a script to a folder where the rows fail."""
    shutil.copytree(folder, copy)
    (copy / "fail").write_text(how)
