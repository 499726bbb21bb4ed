"""Start processes, end them with all that they started, and say how each ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import installed_backends
from crosscast_parity.recordings.status import Status, StatusKind, read_status

OutcomeKind = Literal["finished", "stopped", "cannot_run", "failed", "timeout", "interrupted"]

EXITS: dict[int, tuple[StatusKind, OutcomeKind]] = {
    0: ("finished", "finished"),
    1: ("stopped", "stopped"),
    3: ("cannot_run", "cannot_run"),
    130: ("stopped", "interrupted"),
}
"""Exit code to the status that must go with it, and what both mean."""
FAILED: tuple[StatusKind, OutcomeKind] = ("failed", "failed")
"""The same for every other code."""

TAIL_BYTES = 8192
GRACE_SECONDS = 3.0
MISSING_PACKAGE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\n\t -~\xa0-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One process to run. `output` is the folder its status.json goes to.

    `keep_open`: file descriptors that it inherits, such as that of a lock it is to hold.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    output: Path
    timeout: float
    environment: Mapping[str, str]
    keep_open: tuple[int, ...] = ()

    @property
    def log(self) -> Path:
        """Where everything it prints is kept."""
        return self.output / "log.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a process ended. `exit_code` is negative for a signal, None if it never started."""

    kind: OutcomeKind
    message: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    status: Status | None = None
    log_tail: str = ""

    @property
    def complete(self) -> bool:
        """Whether the script ended by itself, so that its trace is complete."""
        return self.kind in ("finished", "stopped")


def child_environment(
    *,
    threads: int,
    device: str,
    extra: Mapping[str, str] | None = None,
    compiled: Path | None = None,
) -> dict[str, str]:
    """Return the environment of a run: fixed thread counts, no GPU in CPU mode, no hash seed.

    Args:
        threads: threads of a process.
        device: `cpu` or `gpu`.
        extra: further variables.
        compiled: a folder in which a framework may keep compiled code for later processes.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROSSCAST")}
    if "PYTHONPATH" in environment:  # the run is made in another folder
        entries = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(
            str(Path(entry).absolute()) for entry in entries
        )
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM"):
        environment[f"{name}_NUM_THREADS"] = str(threads)
    for backend in installed_backends():
        own = backend.harness.environment if backend.harness is not None else {}
        environment |= {name: value.format(threads=threads) for name, value in own.items()}
    environment |= {
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
    }
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    if compiled is not None:
        environment["CROSSCAST_COMPILED"] = str(compiled.absolute())
    return environment | dict(extra or {})


def with_modules(environment: Mapping[str, str], *folders: str) -> dict[str, str]:
    """Return an environment in which Python looks for modules in some folders first."""
    places = (*folders, environment.get("PYTHONPATH", ""))
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, places))}


@dataclass(slots=True)
class Running:
    """A process that was started, in a group of its own."""

    job: Job
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started

    def kill(self) -> None:
        """End the whole process group: ask, wait a little, insist."""
        try:
            if self.process.poll() is None and _signal_group(self.process.pid, signal.SIGTERM):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(GRACE_SECONDS)
        finally:  # also after a second Ctrl-C
            # Also after a clean end: a worker left behind would eat the next run's cores.
            _signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.log.close()


def start(job: Job) -> Running | Outcome:
    """Start a process; an outcome says why there is none."""
    log = job.log.open("wb")
    try:
        process = subprocess.Popen(
            job.command,
            cwd=job.folder,
            env=dict(job.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=job.keep_open,
        )
    except OSError as error:
        log.close()
        message = f"{job.command[0]} cannot be started: {error.strerror}"
        return Outcome(kind="cannot_run", message=message)
    return Running(job, process, log)


def _signal_group(group: int, number: int) -> bool:
    """Signal a process group; False if it is gone. The leader's id is its group's id."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def read_job_status(output: Path) -> tuple[Status | None, str]:
    """Read the status.json in a folder, or describe its problem."""
    try:
        return read_status(output / "status.json"), ""
    except DiagnosticError as error:
        return None, error.diagnostics[0].message


def judge_exit(
    code: int, status: Status | None, problem: str, tail: str
) -> tuple[OutcomeKind, str]:
    """Believe exit code and status only together."""
    if code < 0:
        return "failed", f"ended by {signal_name(-code)}"
    if status is None:
        missing = MISSING_PACKAGE.search(tail)
        if missing and code == 1:
            return "cannot_run", f"the Python package {missing[1]} is not installed"
        return "failed", f"exit code {code}; {problem}"
    raised = code == 1 and status.status == "failed"  # Python's exit code after an exception
    expected, kind = FAILED if raised else EXITS.get(code, FAILED)
    if status.status != expected:
        return "failed", f"exit code {code} contradicts status {status.status!r}"
    if kind != "failed" and status.exit_code not in (None, code):
        return "failed", f"exit code {code} contradicts exit_code {status.exit_code} of status.json"
    return kind, status.message or (f"exit code {code}" if kind == "failed" else "")


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def log_tail(path: Path, size: int = TAIL_BYTES) -> str:
    """Return the end of a log as printable text, whole lines."""
    try:
        with path.open("rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, end - size))
            raw = stream.read(size)
    except OSError:
        return ""
    if end > size:
        raw = raw.partition(b"\n")[2] or raw
    return _ESCAPES.sub("", raw.decode("utf-8", "replace").replace("\r\n", "\n"))
