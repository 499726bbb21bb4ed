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
from typing import IO, Any

from crosscast.target import find_target
from frameworks.subprocesses import environment, interpreter

FOLDER = Path(__file__).parent
TIMEOUT = 120.0
"""Seconds for one job; the longest, XLA, takes ten."""
EAGER = {"FUZZ_EAGER": "1"}
"""Environment in which TensorFlow runs functions without compiling them: the same kernels on the
same numbers one by one, ten times sooner, but nothing is learnt about graphs and XLA. The fuzzing
itself compiles; this is for tests whose subject is not the compiled step."""
DIALECTS = {"keras2": {"TF_USE_LEGACY_KERAS": "1"}}
"""More variables by dialect."""
JOBS = 250
"""Jobs after which a worker is replaced: frameworks keep something of every compiled function."""


class WorkerFailure(Exception):
    """The process ended or did not answer in time."""

    def __init__(self, why: str, log: str) -> None:
        super().__init__(f"{why}\n{log}")


@dataclass
class Worker:
    """The process of one target. Starts at the first job, and again after a crash.

    A target with a version runs in the Python that `CROSSCAST_TORCH_2_3` or the like names, where
    it is set; else in this one, which has what older dialects call, too.
    """

    target: str
    extra: Mapping[str, str] = field(default_factory=dict)
    """More variables for its environment."""
    jobs: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _log: IO[bytes] | None = None
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
        line = self._line(timeout)
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
        if self._log is not None:
            self._log.close()
        self._process, self._log, self._rest, self.jobs = None, None, b"", 0

    def _start(self) -> None:
        # Workers live longer than this function; `stop` closes the file.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [_python(self.target), str(FOLDER / f"work_{self.framework}.py")],
            env=environment(self.target) | _dialect(self.target) | dict(self.extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def _line(self, timeout: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(timeout):
                    raise self._failure(f"no answer in {timeout:g} seconds")
                chunk = os.read(self._process.stdout.fileno(), 2**16)
                if not chunk:
                    raise self._failure(f"ended with exit code {self._process.wait()}")
                self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _failure(self, why: str) -> WorkerFailure:
        assert self._log is not None
        self._log.seek(0)
        log = self._log.read()[-4000:].decode(errors="replace")
        self.stop()
        return WorkerFailure(f"the {self.target} worker {why}", log)


def _python(target: str) -> str:
    try:
        return interpreter(target)
    except KeyError:
        return sys.executable


def _dialect(target: str) -> dict[str, str]:
    """Return what a dialect needs in its environment."""
    return DIALECTS.get(find_target(target).dialect.name, {})
