"""One run at a time in an output folder, signals at any moment, and workers that end with it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ended_processes import gone
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.own_state_models import MODEL, SOURCES
from frameworks.script_runs import Run, apart
from frameworks.subprocesses import environment, kill, require, warm
from tiers import cases, exhaustive

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
READ_BY_PROCESSES = ("torch", "paddle")
FLAGS = ("--device", "cpu", "--threads", 1)
FEW = "more ways to end a run; `make test` kills one of every framework"
STARTING = 600.0


class Lab:
    """A script of a small model, whose windows can be held up, and its undisturbed run."""

    def __init__(self, folder: Path, framework: str) -> None:
        require(framework)
        self.folder, self.framework = folder, framework
        schedule = {"name": "linear", "warmup_steps": 3, "total_steps": 400}
        recipe = tiny_recipe(schedule=schedule, **MODEL)
        self.script = emit(recipe, framework, folder / "script") / "train.py"
        self.script.with_name("net.py").write_text(SOURCES[framework])
        rows = write_rows(folder / "rows.npz", 44)
        self.data: tuple[object, ...] = ("--train", rows, "--eval", rows, *FLAGS)

    def start(self, output: Path, *flags: object) -> subprocess.Popen[str]:
        python = warm(self.framework, harness=False)
        command = [python, self.script, "--output", output]
        return subprocess.Popen(
            [*map(str, (*command, *self.data, *flags))],
            cwd=self.script.parent,
            env=environment(self.framework),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, output: Path, *flags: object) -> Run:
        (found,) = apart(self.script, self.framework, [(output, (*self.data, *flags))])
        return found


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp(request.param), request.param)


def rows_of(output: Path) -> int:
    try:
        return (output / "trace.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


def until(process: subprocess.Popen[str], what: Callable[[], object]) -> None:
    end = time.monotonic() + STARTING
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        kill(process)
        process.communicate()


def holder(output: Path) -> int:
    """The process that holds an output folder: a fork, which has another number than its client."""
    return int((output / "lock").read_text().split()[1])


def files_of(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()}


@pytest.mark.parametrize("lab", FRAMEWORKS, indirect=True)
def test_a_second_run_is_refused(
    lab: Lab, tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    """Also with --resume; the first one is not disturbed, and a killed one blocks nobody."""
    output = tmp_path / "out"
    flags = ("--checkpoint-every", 5, "--workers", 2)
    first = lab.start(output, "--windows", 100_000, *flags)
    started.append(first)
    until(first, lambda: rows_of(output) > 5)
    trains = holder(output)
    os.kill(trains, signal.SIGSTOP)
    try:
        before = files_of(output)
        for more in ((), ("--resume",), ("--auto-resume",)):
            refused = lab.run(output, "--windows", 100_000, *more)
            refused.refused(str(output), f"process {trains} of ", "another --output")
        assert files_of(output) == before
    finally:
        os.kill(trains, signal.SIGCONT)
    workers = [child.pid for child in psutil.Process(trains).children(recursive=True)]
    assert bool(workers) == (lab.framework in READ_BY_PROCESSES)
    os.kill(trains, signal.SIGKILL)
    first.wait()
    trained = rows_of(output)
    resumed = lab.run(output, "--windows", trained + 5, "--resume")  # while workers may live
    assert resumed.code == 0, resumed.stderr
    assert [row["window"] for row in resumed.trace] == list(range(trained + 5))
    assert all(map(gone, workers))


@pytest.mark.parametrize(
    ("lab", "number"),
    cases(
        itertools.product(FRAMEWORKS, (signal.SIGTERM, signal.SIGINT)),
        quick=[("torch", signal.SIGTERM)],
        reason=FEW,
    ),
    indirect=["lab"],
)
def test_an_interrupted_run_goes_on_exactly(
    lab: Lab, tmp_path: Path, number: signal.Signals, started: list[subprocess.Popen[str]]
) -> None:
    """Before any checkpoint was due; the signal comes twice, as launchers repeat it."""
    output = tmp_path / "out"
    first = lab.start(output, "--windows", 400, "--checkpoint-every", 400, "--workers", 2)
    started.append(first)
    until(first, lambda: rows_of(output) > 2)
    for _ in range(2):
        os.kill(holder(output), number)
    _, stderr = first.communicate(timeout=STARTING)
    assert first.returncode == 130, stderr
    done = rows_of(output)
    status = json.loads((output / "status.json").read_text())
    assert (status["status"], status["exit_code"], status["windows"]) == ("stopped", 130, done)
    said = f"stopped: interrupted: --resume goes on after {done} windows"
    assert stderr.splitlines()[-1] == said, stderr  # a worker may be heard before it
    windows = ("--windows", done + 4)
    resumed = lab.run(output, *windows, "--resume")
    straight = lab.run(tmp_path / "straight", *windows)
    assert resumed.code == straight.code == 0, resumed.stderr + straight.stderr
    assert resumed.trace == straight.trace
    for name, array in straight.weights.items():
        assert resumed.weights[name].tobytes() == array.tobytes(), name


MOMENTS = {
    "start": ("        run.device = select_device(args, settings)\n", "runtime/run.py", True),
    "building": ("    state = make_state(run)\n", "train.py", True),
    "first window": ("        row = train_window(", "train.py", False),
    "a later window": ("        run.record(state, row)\n", "train.py", False),
}
"""Where the script waits for the signal; where that stands; whether nothing was trained then."""


@pytest.mark.parametrize(
    ("lab", "moment"),
    cases(itertools.product(FRAMEWORKS, MOMENTS), quick=[("torch", "start")], reason=FEW),
    indirect=["lab"],
)
def test_a_signal_at_any_moment(
    lab: Lab, tmp_path: Path, moment: str, started: list[subprocess.Popen[str]]
) -> None:
    line, file, nothing = MOMENTS[moment]
    path = lab.script.parent / file
    text = path.read_text()
    assert text.count(line) == 1
    here, output = tmp_path / "here", tmp_path / "out"
    indent = line[: len(line) - len(line.lstrip())]
    wait = "import os, time; open({0!r}, 'w').close(); [time.sleep(0.01) for _ in range(100)]\n"
    when = f"{indent}if state.windows == 3: " if moment == "a later window" else indent
    path.write_text(text.replace(line, when + wait.format(str(here)) + line))
    try:
        process = lab.start(output, "--windows", 400, "--checkpoint-every", 400)
        started.append(process)
        until(process, here.exists)
        os.kill(holder(output), signal.SIGTERM)
        _, stderr = process.communicate(timeout=STARTING)
    finally:
        path.write_text(text)
    assert process.returncode == 130, stderr
    status = json.loads((output / "status.json").read_text())
    assert status["exit_code"] == 130
    windows = 0 if nothing else 3 if moment == "a later window" else 1
    assert (status["windows"], rows_of(output)) == (windows, windows)
    assert (output / "checkpoint.safetensors").exists() is not nothing
    if nothing:
        assert "interrupted before a window was trained" in stderr
        return
    more = ("--windows", windows + 2)
    resumed, straight = lab.run(output, *more, "--resume"), lab.run(tmp_path / "straight", *more)
    assert resumed.trace == straight.trace
    assert resumed.code == straight.code == 0


@exhaustive(FEW)
@pytest.mark.parametrize("lab", FRAMEWORKS, indirect=True)
def test_workers_end_with_the_run(
    lab: Lab, tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    """However it is killed, and although they have read more than anybody takes."""
    output = tmp_path / "out"
    process = lab.start(output, "--windows", 100_000, "--workers", 3)
    started.append(process)
    until(process, lambda: rows_of(output) > 3)
    trains = holder(output)
    workers = [child.pid for child in psutil.Process(trains).children(recursive=True)]
    os.kill(trains, signal.SIGKILL)
    process.wait()
    assert len(workers) == (3 if lab.framework in READ_BY_PROCESSES else 0)
    assert [pid for pid in workers if not gone(pid)] == []
