"""Two emitted processes of which one dies: all of them end soon, and the run can go on.

Nothing of the run is lost that was in its last checkpoint, and what goes on from there is, bit by
bit, the undisturbed run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.inside.rank import rank_of
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.subprocesses import environment, require
from tiers import cases

ALL = ("torch", "paddle", "tensorflow", "jax")
FRAMEWORKS = cases(
    [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ALL],
    quick=[],
    reason="killed processes; `make test` has one of two in test_tensorflow_processes",
)
MARK = "RUN_OF_THIS_TEST"
STARTING = 300.0
"""Until there are some windows: imports and graphs come first."""
SECONDS = 120.0
"""Until every process must be gone, on a busy machine; measured were 5 to 23."""
AHEAD = 6
"""Windows after which the run is disturbed, and that it goes on for."""
CALL = "        row = train_window("
RAISE = """\
        if run.rank == 1 and state.windows == 7:
            raise RuntimeError("planted")
"""


def rank_in(variables: Mapping[str, str]) -> str:
    """Return the number of a process, as its launcher tells it; a launcher has none."""
    names = {"RANK", "PADDLE_TRAINER_ID", "TF_CONFIG"} & variables.keys()
    return str(rank_of(variables, names.pop())) if names else ""


class Running:
    """A launch.sh of two processes at work, in a session of its own."""

    def __init__(self, lab: Lab, output: Path, *flags: object, log: str = "") -> None:
        self.output, self.framework, self.mark = output, lab.framework, uuid.uuid4().hex
        command = ["bash", lab.launch, *lab.flags, "--output", output, *flags]
        self.log = output.with_name(log or f"{output.name}.log")
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(
                list(map(str, command)),
                cwd=lab.folder,
                env=environment() | {"PYTHON": sys.executable, MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    def alive(self) -> dict[str, int]:
        """Return the processes of the launch that live: rank to number, the launcher as empty."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                pairs = (path / "environ").read_bytes().decode(errors="replace").split("\0")
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"{MARK}={self.mark}" in pairs and state != "Z":
                given = dict(pair.partition("=")[::2] for pair in pairs)
                found[rank_in(given)] = int(path.name)
        return found

    def trained(self) -> int:
        """Return the number of rows in the trace."""
        trace = self.output / "trace.jsonl"
        return len(trace.read_text().splitlines()) if trace.exists() else 0

    def reached(self, windows: int) -> None:
        """Wait until the trace has some rows."""
        until = time.monotonic() + STARTING
        while self.trained() < windows:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < until, self.log.read_text()[-3000:]
            time.sleep(0.05)

    def ended(self) -> int:
        """Return the exit code of launch.sh; every process must be gone in time."""
        until = time.monotonic() + SECONDS
        code = self.process.wait(SECONDS)
        while self.alive():
            assert time.monotonic() < until, self.alive()
            time.sleep(0.1)
        return code

    def close(self) -> None:
        """End what is left."""
        for number in self.alive().values():
            os.kill(number, signal.SIGKILL)
        self.process.wait()


class Lab:
    """The scripts of a recipe for two processes, and their undisturbed run."""

    def __init__(self, folder: Path, framework: str) -> None:
        require(framework)
        two = {"strategy": "data_parallel", "processes_per_node": 2}
        recipe = tiny_recipe(
            distributed=two,
            batch={"micro_batch_size": 2, "global_batch_size": 16},
            schedule={"name": "linear", "warmup_steps": 3, "total_steps": 100_000},
        )
        self.folder, self.framework = folder, framework
        self.launch = emit(recipe, framework, folder / "script") / "launch.sh"
        train, evaluate = (write_rows(folder / f"{name}.npz", 44) for name in ("train", "eval"))
        data: tuple[object, ...] = ("--train", train, "--eval", evaluate)
        self.flags = (*data, "--device", "cpu", "--checkpoint-every", 2)
        self.undisturbed: list[dict[str, Any]] = []

    def finish(self, output: Path, windows: int, *flags: object) -> list[dict[str, Any]]:
        """Run to an end; return the trace."""
        running = Running(self, output, "--windows", windows, *flags)
        try:
            code = running.ended()
        finally:
            running.close()
        assert code == 0, running.log.read_text()[-3000:]
        lines = (output / "trace.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def expected(self, windows: int) -> list[dict[str, Any]]:
        """Return the first rows of the undisturbed run."""
        if len(self.undisturbed) < windows:
            output = self.folder / f"undisturbed-{windows}"
            self.undisturbed = self.finish(output, max(100, windows))
        return self.undisturbed[:windows]


@pytest.fixture(scope="module", params=FRAMEWORKS)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp(request.param), request.param)


def kill_last(running: Running) -> None:
    os.kill(running.alive()["1"], signal.SIGKILL)


def kill_first(running: Running) -> None:
    os.kill(running.alive()["0"], signal.SIGKILL)


def interrupt_first(running: Running) -> None:
    # Processes that bash starts beside itself ignore SIGINT; bash ends them when it hears it.
    deaf = running.framework in ("tensorflow", "jax")
    os.kill(running.process.pid if deaf else running.alive()["0"], signal.SIGINT)


def terminate_first(running: Running) -> None:
    os.kill(running.alive()["0"], signal.SIGTERM)


def wait(running: Running) -> None:
    """It raises by itself."""


CASES: dict[str, tuple[Callable[[Running], None], set[str]]] = {
    "last killed": (kill_last, {"failed", "stopped", ""}),
    "first killed": (kill_first, {""}),  # no process is left to write
    "first interrupted": (interrupt_first, {"stopped"}),
    "first terminated": (terminate_first, {"stopped"}),
    "last raises": (wait, {"failed", "stopped"}),
}
"""What is done, and what status.json may say: empty if there is none."""


@pytest.mark.parametrize(
    "case", cases(CASES, quick=["last killed"], reason="every way in which a process can end")
)
def test_all_processes_end_and_the_run_goes_on(lab: Lab, case: str) -> None:
    act, statuses = CASES[case]
    output = lab.folder / case.replace(" ", "-")
    script = lab.launch.with_name("train.py")
    text = script.read_text()
    assert text.count(CALL) == 1
    if act is wait:
        script.write_text(text.replace(CALL, RAISE + CALL))
    running = Running(lab, output, "--windows", 100_000)
    try:
        running.reached(AHEAD)
        assert act is wait or {"0", "1"} <= running.alive().keys()
        act(running)
        code = running.ended()
    finally:
        running.close()
        script.write_text(text)
    assert code != 0, running.log.read_text()[-3000:]
    path = output / "status.json"
    status = json.loads(path.read_text()) if path.exists() else {"status": ""}
    assert status["status"] in statuses, status
    done = running.trained()
    if status["status"]:
        assert status["exit_code"] == (130 if status["status"] == "stopped" else 1)
        assert (status["windows"], status["eval"]) == (done, None)
        assert status["message"]
    assert not list(output.glob("*.partial"))
    windows = done + AHEAD
    assert lab.finish(output, windows, "--resume") == lab.expected(windows)
    assert json.loads(path.read_text())["status"] == "finished"


def test_a_second_launch_is_refused_as_a_whole(lab: Lab) -> None:
    """Its other processes wait for nobody, and the first launch is not disturbed."""
    output = lab.folder / "taken"
    first = Running(lab, output, "--windows", 100_000)
    second = None
    try:
        first.reached(AHEAD)
        holder = first.alive()["0"]
        began = time.monotonic()
        second = Running(lab, output, "--windows", 100_000, "--resume", log="second.log")
        assert second.ended() != 0
        print(f"refused in {time.monotonic() - began:.1f} s")
        said = second.log.read_text()
        assert f"failed: {output} is in use by process {holder} of " in said, said
        assert str(lab.launch.with_name("train.py")) + '"' not in said, said  # no traceback of it
        first.reached(first.trained() + AHEAD)
    finally:
        for running in (first, second):
            if running is not None:
                running.close()
    # Every process was killed at once: nothing keeps the next run out.
    done = first.trained()
    assert lab.finish(output, done + AHEAD, "--resume") == lab.expected(done + AHEAD)
