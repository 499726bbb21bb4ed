"""Long-lived worker processes, one framework each: started, asked, timed, restarted."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosscast.targets.backend import find_target, harness_of
from crosscast_parity.processes.process import OutcomeKind, child_environment, judge_exit, log_tail

TIMEOUT = 120.0
"""Seconds for one job; the longest, XLA, takes ten."""
JOBS = 250
"""Jobs after which a worker is replaced: frameworks keep something of every compiled function."""


class WorkerFailure(Exception):
    """The process ended or did not answer in time, or the step raised.

    `kind`: `cannot_run` if the process could not even begin, for want of a package.
    """

    def __init__(self, why: str, log: str = "", kind: OutcomeKind = "failed") -> None:
        super().__init__(f"{why}\n{log}")
        self.why, self.log, self.kind = why, log, kind


def has_toy(framework: str) -> bool:
    """Whether emitted steps of a framework can be run by a worker."""
    harness = harness_of(framework)
    return harness is not None and harness.has("toy")


@dataclass
class Worker:
    """The process of one target. Starts at the first job, and again after a crash."""

    target: str
    python: str = sys.executable
    environment: Mapping[str, str] = field(
        default_factory=lambda: child_environment(threads=1, device="cpu")
    )
    program: str = ""
    """Module that it runs; by default the one that the framework's backend has for it."""
    jobs: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _folder: tempfile.TemporaryDirectory[str] | None = None
    """Where it works and leaves what it prints; nothing there can be imported by mistake."""
    _rest: bytes = b""

    @property
    def framework(self) -> str:
        """The target without its version or dialect."""
        return self.target.partition("@")[0]

    def send(self, job: Mapping[str, Any]) -> None:
        """Hand over a job; `receive` must follow before the next one."""
        if self.jobs >= JOBS:
            self.stop()
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self.jobs += 1
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # `receive` finds the end of the process
            return

    def receive(self, timeout: float = TIMEOUT) -> dict[str, Any]:
        """Return the answer to the job.

        Raises:
            WorkerFailure: The process crashed or took too long; it is gone then.
        """
        try:
            line = self._line(timeout)
        except BaseException:  # Ctrl-C, say: its answer would be taken for that to the next job
            self.stop()
            raise
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, job: Mapping[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
        """Send and receive."""
        self.send(job)
        return self.receive(timeout)

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._folder is not None:
            self._folder.cleanup()
        self._process, self._folder, self._rest, self.jobs = None, None, b"", 0

    def _start(self) -> None:
        variables = find_target(self.target).dialect.environment
        # Workers live longer than this function; `stop` removes the folder.
        self._folder = tempfile.TemporaryDirectory()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self.python, "-m", self.program or self._own_program()],
                cwd=self._folder.name,
                env={**self.environment, **dict(variables)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def _own_program(self) -> str:
        harness = harness_of(self.framework)
        assert harness is not None  # `has_toy` was asked
        return f"{harness.inside}.toy"

    @property
    def _log(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "log.txt"

    def _line(self, timeout: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(timeout):
                    raise self._failure(f"no answer in {timeout:g} seconds", "timeout")
                chunk = os.read(self._process.stdout.fileno(), 2**16)
                if not chunk:
                    raise self._ended(self._process.wait())
                self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ended(self, code: int) -> WorkerFailure:
        kind, message = judge_exit(code, None, "", log_tail(self._log))
        if kind == "cannot_run":
            return self._failure(message, kind)
        return self._failure(f"ended with exit code {code}", "failed")

    def _failure(self, why: str, kind: OutcomeKind) -> WorkerFailure:
        log = log_tail(self._log, 4000)
        self.stop()
        return WorkerFailure(why, log, kind)
