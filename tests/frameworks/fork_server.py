"""A process that has imported a framework and forks for every program that a test runs.

A framework takes one to three seconds of CPU time to import. The server imports it once in a test
run, before any of its threads exist; each program then runs in a process of its own, as `__main__`
and from its own folder, as if the interpreter had been started with it (a module: as if with `-m`).
The server side is run as `python fork_server.py MODULE...`; requests and answers are lines of JSON.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO

cpu_seconds = [0.0]
"""What the forks of all servers have used; a server has them as children, this process has not."""


@dataclass
class Server:
    """The client's side: starts the process at the first request, and again if it has died."""

    modules: tuple[str, ...]
    environment: Mapping[str, str]
    _process: subprocess.Popen[str] | None = None

    def run(
        self, program: Path | str, arguments: Sequence[str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in a fork.

        Args:
            program: a file, or the name of a module.
            arguments: its command line.
            timeout: in seconds.

        Raises:
            subprocess.TimeoutExpired: the program took longer; it is killed.
        """
        command = [str(program), *arguments]
        with tempfile.TemporaryDirectory() as name:
            out, err = Path(name, "stdout"), Path(name, "stderr")
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            request = {
                "command": command,
                "module": isinstance(program, str),
                "stdout": str(out),
                "stderr": str(err),
            }
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            child = int(self._answer(process.stdout, 60.0)["pid"])
            try:
                ended = self._answer(process.stdout, timeout)
            except TimeoutError:
                os.killpg(child, signal.SIGKILL)
                self._answer(process.stdout, 60.0)
                raise subprocess.TimeoutExpired(command, timeout) from None
            cpu_seconds[0] += ended["cpu_seconds"]
            return subprocess.CompletedProcess(command, int(ended["code"]), _text(out), _text(err))

    def _answer(self, stream: IO[str], timeout: float) -> dict[str, float]:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            if not selector.select(timeout):
                raise TimeoutError
        line = stream.readline()
        if not line:
            self._process = None
            raise RuntimeError(f"the server of {self.modules[0]} has died")
        answer: dict[str, float] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, *self.modules],
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(_end, self._process)
        return self._process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _serve(modules: Sequence[str]) -> bool:
    """Fork for every request; return only in a child, ready to run its program.

    Returns:
        Whether the program, `sys.argv[0]`, is the name of a module.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print while they are imported
    for module in modules:
        import_module(module)
    gc.freeze()  # in no fork are the framework's objects looked through for garbage
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            _become(request)
            return bool(request["module"])
        print(json.dumps({"pid": child}), file=answers, flush=True)
        _, status, used = os.wait4(child, 0)
        ended = {
            "code": os.waitstatus_to_exitcode(status),
            "cpu_seconds": used.ru_utime + used.ru_stime,
        }
        print(json.dumps(ended), file=answers, flush=True)
    os._exit(0)


def _become(request: Mapping[str, object]) -> None:
    """Turn this fork into a process as a shell would have started it."""
    os.setpgid(0, 0)
    for number, path in ((0, os.devnull), (1, str(request["stdout"])), (2, str(request["stderr"]))):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.argv = list(request["command"])  # type: ignore[call-overload]
    if request["module"]:
        del sys.path[0]  # the folder of this file
    else:
        program = Path(sys.argv[0])
        sys.path[0] = str(program.parent)
        os.chdir(program.parent)


if __name__ == "__main__":
    if _serve(sys.argv[1:]):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
