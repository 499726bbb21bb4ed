"""The data-parallel example: by hand, by the library, by DDP, by one process, and as compiled.

In exact arithmetic they are one course of training. Each step adds rounding of about one unit in
the last place to losses and weights that are near 1, so after n steps n units are allowed; the same
number holds in float64, whose unit is 2**-29 of float32's. Mistakes do not shrink with the unit.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from frameworks.subprocesses import completed, environment, require, start
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

# Says which threads a process still has at its end: Gloo's must be gone before the interpreter.
# Witnesses write into a file of their process: in the pipe that the processes share, a line may
# begin in the middle of another one.
WITNESS = """
import atexit
import os
import time
from pathlib import Path


def threads() -> list[str]:
    found = []
    for task in Path("/proc/self/task").glob("*/comm"):
        try:
            found.append(task.read_text().strip())
        except OSError:  # it has ended since
            continue
    return sorted(found)


@atexit.register
def name_threads() -> None:
    # The kernel lists a thread for a moment after it was joined; others stay.
    end = time.monotonic() + 2
    while any("gloo" in name for name in threads()) and time.monotonic() < end:
        time.sleep(0.01)
    Path(f"witness-{os.getpid()}.txt").write_text(f"{threads()}")
"""

LAST_HOLDERS = """
import gc
import os
from pathlib import Path

import torch.distributed

end = torch.distributed.destroy_process_group


def named() -> None:
    kinds = [type(held).__name__ for held in gc.get_objects()]
    wrappers = kinds.count("DistributedDataParallel")
    Path(f"witness-{os.getpid()}.txt").write_text(f"wrappers of the group: {wrappers}")
    end()


torch.distributed.destroy_process_group = named
"""

EXAMPLE = Path(__file__).parents[2] / "examples" / "data-parallel-from-scratch"
STEPS = 30
BOUND = {name: STEPS * float(np.finfo(name).eps) for name in ("float32", "float64")}
MISTAKES = {
    "a sum for a mean": ("        parameter.grad /= dist.get_world_size()\n", ""),
    "no all-reduce": ('average_gradients(model, by_hand=options.average == "by-hand")', "pass"),
    "shares that overlap": ("return batch[rank::world]", "return batch[: len(batch) // world]"),
}


@dataclass(frozen=True)
class Course:
    """What a run of the example came to."""

    losses: list[float]
    weights: dict[str, np.ndarray]
    apart: float
    """Largest difference between the copies of a weight."""
    processes: int

    def distance(self, other: Course) -> float:
        """The largest difference of a loss or of a weight."""
        assert len(self.losses) == len(other.losses) == STEPS
        assert self.weights.keys() == other.weights.keys()
        losses = np.abs(np.subtract(self.losses, other.losses)).max()
        weights = (np.abs(w - other.weights[name]).max() for name, w in self.weights.items())
        return float(max(losses, *weights))


def shell(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    require("torch")
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env=environment() | {"PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return completed(process)


class Lab:
    """A copy of the example; equal runs are made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("train.py", "lenet.py"):
            shutil.copy(EXAMPLE / name, folder / name)
        self.course = cache(self._course)

    def _course(self, *flags: str, launcher: tuple[str, ...] = (), script: str = "") -> Course:
        output = self.folder / f"out-{len(list(self.folder.glob('out-*')))}"
        start = (sys.executable, *launcher, script or "train.py")
        done = shell(self.folder, *start, "--steps", STEPS, "--output", output, *flags)
        assert done.returncode == 0, done.stderr[-4000:]
        found = json.loads((output / "result.json").read_text())
        weights = dict(np.load(output / "weights.npz"))
        return Course(found["losses"], weights, found["copies_differ_by"], found["processes"])

    def mistaken(self, old: str, new: str) -> Course:
        """Return the course of the example with a mistake in it."""
        text = (self.folder / "train.py").read_text()
        assert text.count(old) == 1
        path = self.folder / f"wrong-{len(list(self.folder.glob('wrong-*')))}.py"
        path.write_text(text.replace(old, new))
        return self._course(script=path.name)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("example"))


@pytest.mark.parametrize(
    "way",
    cases(
        ["all-reduce", "by-hand", "ddp"],
        quick=[],
        reason="every way to average; `make test` has test_torch_use",
    ),
)
def test_two_processes_train_as_one(lab: Lab, way: str) -> None:
    first, second = lab.course("--processes", "1"), lab.course("--average", way)
    assert (first.processes, second.processes, second.apart) == (1, 2, 0.0)
    assert second.distance(first) < BOUND["float32"]
    assert first.losses[-1] < 0.8 * first.losses[0]  # it learns, or little would be shown


def witnessed_by(folder: Path, *command: object) -> list[str]:
    """Return what the witness said in each process of a command that runs in the folder."""
    done = shell(folder, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    files = list(folder.glob("witness-*.txt"))
    found = [file.read_text() for file in files]
    for file in files:
        file.unlink()
    return found


@exhaustive("the end of a group of processes")
@pytest.mark.parametrize("average", ["all-reduce", "ddp"])
def test_no_thread_of_the_group_outlives_it(tmp_path: Path, average: str) -> None:
    # A thread of Gloo that frees a tensor while the interpreter ends aborts the whole process.
    shutil.copy(EXAMPLE / "train.py", tmp_path)
    (tmp_path / "lenet.py").write_text((EXAMPLE / "lenet.py").read_text() + WITNESS)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    flags = ("--steps", 2, "--average", average)
    found = witnessed_by(tmp_path, sys.executable, *launcher, "train.py", *flags)
    assert len(found) == 2
    assert not any("gloo" in line for line in found), found


@exhaustive("the end of a group of processes")
def test_no_thread_of_the_group_outlives_an_emitted_script(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "train.py", tmp_path)
    shutil.copy(EXAMPLE / "lenet.py", tmp_path)
    assert shell(tmp_path, sys.executable, "train.py", "--write-data", "data").returncode == 0
    (tmp_path / "lenet.py").write_text((EXAMPLE / "lenet.py").read_text() + WITNESS)
    launch = EXAMPLE / "after" / "torch" / "launch.sh"
    options = ("--device", "cpu", "--windows", 2)
    found = witnessed_by(tmp_path, "bash", launch, *options)
    assert len(found) == 2
    assert not any("gloo" in line for line in found), found


@exhaustive("the end of a group of processes")
def test_no_wrapper_outlives_the_group(tmp_path: Path) -> None:
    # See gotchas/test_end_of_group.py: the process may hang.
    for name in ("train.py", "lenet.py"):
        shutil.copy(EXAMPLE / name, tmp_path)
    assert shell(tmp_path, sys.executable, "train.py", "--write-data", "data").returncode == 0
    (tmp_path / "lenet.py").write_text((EXAMPLE / "lenet.py").read_text() + LAST_HOLDERS)
    launch = EXAMPLE / "after" / "torch" / "launch.sh"
    emitted = ("bash", launch, "--device", "cpu", "--windows", 2)
    example = (sys.executable, "train.py", "--steps", 2, "--average", "ddp")
    for command in (emitted, example):
        assert witnessed_by(tmp_path, *command) == ["wrappers of the group: 0"] * 2


@exhaustive("every way to average")
def test_by_hand_it_is_what_the_library_does(lab: Lab) -> None:
    ddp = lab.course("--average", "ddp")
    for way in ("all-reduce", "by-hand"):  # a sum of two numbers has one order
        assert lab.course("--average", way).distance(ddp) == 0


@exhaustive("the example in float64")
def test_the_difference_is_rounding(lab: Lab) -> None:
    first, second = (lab.course("--dtype", "float64", "--processes", n) for n in ("1", "2"))
    assert second.distance(first) < BOUND["float64"]


@exhaustive("four processes, another launcher")
def test_four_processes_and_torchrun(lab: Lab) -> None:
    single = lab.course("--processes", "1")
    assert (
        lab.course("--processes", "4", "--average", "by-hand").distance(single) < BOUND["float32"]
    )
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert lab.course(launcher=launcher).distance(lab.course("--average", "ddp")) == 0


@exhaustive("planted mistakes")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_no_rounding(lab: Lab, mistake: str) -> None:
    wrong = lab.mistaken(*MISTAKES[mistake])
    assert wrong.distance(lab.course("--average", "ddp")) > 1000 * BOUND["float32"]
    assert (wrong.apart > 0) == (mistake == "no all-reduce")


@exhaustive("the example beside the script that its recipe compiles to")
def test_what_the_recipe_compiles_to_trains_the_same(lab: Lab) -> None:
    assert shell(lab.folder, sys.executable, "train.py", "--write-data", "data").returncode == 0
    launch = EXAMPLE / "after" / "torch" / "launch.sh"
    done = shell(lab.folder, "bash", launch, "--device", "cpu", "--windows", STEPS)
    assert done.returncode == 0, done.stdout + done.stderr
    trace = lab.folder / "runs" / "lenet-two-processes-torch" / "trace.jsonl"
    losses = [json.loads(line)["loss"] for line in trace.read_text().splitlines()]
    np.testing.assert_allclose(losses, lab.course("--average", "ddp").losses, 0, BOUND["float32"])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--processes", "3"), "64 rows are no equal shares of 3"),
        (("--batch-size", "48"), "2048 training rows are no whole batches of 48"),
        (("--steps", "0"), "at least 1"),
    ],
)
def test_what_would_not_be_equal_is_refused(lab: Lab, flags: tuple[str, ...], words: str) -> None:
    done = start(lab.folder / "train.py", "torch", *flags)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert words in done.stderr


def test_help(lab: Lab) -> None:
    done = start(lab.folder / "train.py", "torch", "--help")
    assert (done.returncode, done.stderr, "--average" in done.stdout) == (0, "", True)
