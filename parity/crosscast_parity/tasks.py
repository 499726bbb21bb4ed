"""Which processes a parity run starts, and with which arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscast_parity.exchange import Inputs
from crosscast_parity.half import Execution
from crosscast_parity.inside.inject import Fault
from crosscast_parity.inside.poison import CELLS
from crosscast_parity.options import Options
from crosscast_parity.process import Job, child_environment
from crosscast_parity.records import Role

RUN_FILES = ("status.json", "trace.jsonl", "log.txt", "checkpoint.safetensors", "model.safetensors")
RUNNER = "crosscast_parity.inside.runner"
WINDOWS_AFTER_FAULTS = 4


@dataclass(frozen=True, slots=True)
class Task:
    """A process with its part in the comparison."""

    role: Role
    target: str
    job: Job
    execution: Execution


@dataclass(frozen=True, slots=True)
class TaskMaker:
    """Makes the tasks of one parity run.

    `windows`: length of the plain runs. `execution`: of half precision, by target.
    """

    options: Options
    inputs: Inputs
    windows: int
    faults: tuple[Fault, ...]
    execution: Mapping[str, Execution]

    def first(self) -> list[Task]:
        """Return the plain runs of all targets, then their runs with faults."""
        targets = self.options.targets
        plain = [self._task("main", name, name, self.inputs.weights) for name in targets]
        # A framework that a plug-in brought may need a factor cell of its own (see `CELLS`).
        injectable = [name for name in targets if self.faults and name in CELLS]
        return plain + [
            self._task("faults", name, f"{name}-faults", self.inputs.weights) for name in injectable
        ]

    def twins(self, target: str) -> list[Task]:
        """Return the perturbed runs of the reference target."""
        return [
            self._task("twin", target, f"{target}-twin-{number}", weights)
            for number, weights in enumerate(self.inputs.twins, start=1)
        ]

    def _task(self, role: Role, target: str, name: str, weights: Path) -> Task:
        options = self.options
        output = options.workdir / "runs" / name
        script = options.workdir / target / "train.py"
        command = [str(script)]
        extra = {}
        if role == "faults" or self.execution[target] == "emulated":
            command = self._runner(role, target, script)
            found = os.environ.get("PYTHONPATH")
            runner = str(options.workdir / "runner")
            extra["PYTHONPATH"] = f"{runner}{os.pathsep}{found}" if found else runner
        job = Job(
            name=name,
            command=(
                options.interpreter(target),
                *command,
                *self._arguments(role, output, weights),
            ),
            folder=script.parent,
            output=output,
            timeout=options.timeout,
            environment=child_environment(
                threads=options.threads, device=options.device, extra=extra
            ),
        )
        return Task(role, target, job, self.execution[target])

    def _runner(self, role: Role, target: str, script: Path) -> list[str]:
        head = [
            "-m",
            RUNNER,
            "--framework",
            target,
            "--script",
            str(script),
        ]
        faults = self.faults if role == "faults" else ()
        flags = [part for fault in faults for part in ("--fault", str(fault))]
        emulate = ["--emulate"] if self.execution[target] == "emulated" else []
        return [*head, *flags, *emulate, "--"]

    def _arguments(self, role: Role, output: Path, weights: Path) -> list[str]:
        last_fault = max((fault.window for fault in self.faults), default=0)
        short = last_fault + 1 + WINDOWS_AFTER_FAULTS
        arguments = {
            "--train": self.inputs.train,
            "--eval": self.inputs.eval,
            "--weights": weights,
            "--output": output,
            "--windows": short if role == "faults" else self.windows,
            "--device": self.options.device,
            "--threads": self.options.threads,
        }
        return [str(part) for pair in arguments.items() for part in pair]


def prepare_output(job: Job) -> None:
    """Make the folder of a run and take away what an earlier run left there."""
    job.output.mkdir(parents=True, exist_ok=True)
    for stale in RUN_FILES:
        (job.output / stale).unlink(missing_ok=True)


def place_runner(workdir: Path) -> None:
    """Copy the package `inside` beside the runs, for interpreters without crosscast."""
    package = workdir / "runner" / "crosscast_parity"
    source = Path(__file__).with_name("inside")
    shutil.copytree(
        source, package / "inside", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "__init__.py").touch()
