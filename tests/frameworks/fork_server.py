"""Interpreters that have imported a framework: they fork for every program that a test runs.

A framework takes two to seven seconds of CPU time to import. `warm_python` returns an executable
that is called as Python is; it hands its command to a server, which has imported the framework
once, before any of its threads exist. The program runs in a fork, as if the interpreter had been
started with it: with the arguments, folder, variables, files and signals of the executable. What it
starts by `sys.executable` is a fork, too. What a fork cannot be (other options of Python, variables
that a framework reads when it is imported) is run by the usual Python.

The server is run as `python fork_server.py OWNER MODULE...`, with a listening socket as its
standard input, and ends with the process whose number OWNER is; `fork_client.py` is what the
executable runs. Processes that run tests side by side share their servers (`share`).
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import fcntl
import gc
import hashlib
import marshal
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

CLIENT = Path(__file__).with_name("fork_client.py")
READ_AT_IMPORT = ("OMP_", "MKL_", "OPENBLAS_", "KMP_", "ONEDNN_", "DNNL_", "LD_", "LC_", "LANG")
READ_BY = {
    "torch": ("TORCH_LOGS", "TORCHDYNAMO_", "TORCHINDUCTOR_", "PYTORCH_"),
    "tensorflow": ("TF_", "XLA_", "KERAS_"),
    "jax": ("JAX_", "XLA_"),
    "paddle": ("FLAGS_",),
}
"""How variables begin that a program must have in common with its server."""
READ_LATER = {"TF_CONFIG", "TF_CPP_MIN_LOG_LEVEL", "FLAGS_selected_gpus"}
"""Variables that it need not: read later, or without effect where no GPU is."""
DEFAULTS = {"KERAS_BACKEND": "tensorflow"}
FREES = "CROSSCAST_FORK_FREES"
"""A variable that a program sets if it is about what Python does when it frees its objects."""
SHARED = "CROSSCAST_SHARED_FORKS"
"""A variable with the owner of the shared servers and the folder of their sockets."""
_places: list[Path] = []
_not_freed: list[weakref.finalize[Any, Any]] = []
"""What frees objects of frameworks when Python ends."""


def cpu_seconds() -> float:
    """Return what all forks have used; they are no children of this process.

    Without pathlib, which a test may have made to fail.
    """
    total = 0.0
    for place in _places:
        with contextlib.suppress(FileNotFoundError):
            file = os.open(f"{place}/used", os.O_RDONLY)
            total += sum(map(float, os.read(file, os.fstat(file).st_size).split()))
            os.close(file)
    return total


def share() -> tempfile.TemporaryDirectory[str]:
    """Let processes that this one starts share their servers, which end with this process.

    Returns:
        The folder of their sockets; it has to stay as long as the processes.
    """
    folder = tempfile.TemporaryDirectory(prefix="forks-")
    os.environ[SHARED] = f"{os.getpid()} {folder.name}"
    return folder


def warm_python(modules: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return an executable that runs programs as Python does.

    Args:
        modules: what has been imported, at the first program; the first one is the framework.
        environment: the server's.
    """
    folder = tempfile.TemporaryDirectory(prefix=f"{modules[0]}-")
    place = Path(folder.name)
    address = _shared_server(modules, environment)
    if address is None:
        address = place / "socket"
        atexit.register(_end, _start(address, os.getpid(), modules, environment))
    atexit.register(folder.cleanup)
    _places.append(place)
    executable = place / "python"
    words = f'"{sys.executable}" -IS "{CLIENT}" "{sys.executable}" "{address}" "{place}" "$0" "$@"'
    executable.write_text(f"#!/bin/sh\nexec {words}\n")
    executable.chmod(0o700)
    return str(executable)


def _shared_server(modules: Sequence[str], environment: Mapping[str, str]) -> Path | None:
    """Return the socket of a server for all processes; None if they share none."""
    owner, _, folder = os.environ.get(SHARED, "").partition(" ")
    if not folder:
        return None
    alike = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    key = hashlib.sha256(repr((modules, sorted(alike.items()))).encode()).hexdigest()[:16]
    address = Path(folder) / f"{modules[0]}-{key}"
    with (Path(folder) / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            _start(address, int(owner), modules, environment)
    return address


def _start(
    address: Path, owner: int, modules: Sequence[str], environment: Mapping[str, str]
) -> int:
    """Start a server and return its number: a shared one may outlive this process."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen(64)
        return os.posix_spawn(
            sys.executable,
            [sys.executable, __file__, str(owner), *modules],
            dict(environment),
            file_actions=[(os.POSIX_SPAWN_DUP2, listening.fileno(), 0)],
        )


def _end(server: int) -> None:
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)


@dataclass(slots=True)
class _Fork:
    """A program that runs: its number, its client, and the file that says what it has used."""

    child: int
    client: socket.socket | None
    used: str

    def hear(self) -> None:
        """Pass on the signals that the client was sent; without a client, end the program."""
        if self.client is None:
            return
        numbers = self.client.recv(64)
        if not numbers:  # it was killed
            self.client.close()
            self.client = None
        for number in numbers or [signal.SIGKILL]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child, number)

    def end(self) -> None:
        """Note what the program has used, and tell the client how it ended."""
        _, status, used = os.wait4(self.child, 0)
        with contextlib.suppress(FileNotFoundError), Path(self.used).open("a") as file:
            file.write(f"{used.ru_utime + used.ru_stime}\n")
        if self.client is not None:
            with contextlib.suppress(OSError):
                self.client.sendall(b"%d" % os.waitstatus_to_exitcode(status))
            self.client.close()
            self.client = None


def _serve(owner: int, modules: Sequence[str]) -> Mapping[str, Any]:
    """Fork for every request; return the request, only in a fork that is ready to run it."""
    listening = socket.socket(fileno=os.dup(0))
    os.dup2(2, 1)  # what frameworks print while they are imported
    given = dict(os.environ)
    forks: dict[int, _Fork] = {}
    try:
        ended = os.pidfd_open(owner)
    except ProcessLookupError:
        os._exit(0)
    while True:
        clients = {f.client: f for f in forks.values() if f.client is not None}
        watched: list[Any] = [listening, ended, *forks, *clients]
        ready = select.select(watched, [], [])[0]
        if ended in ready:
            for fork in forks.values():
                os.killpg(fork.child, signal.SIGKILL)
            os._exit(0)
        for place in ready:
            if place in clients:
                clients[place].hear()
            elif place in forks:
                forks.pop(place).end()
                os.close(place)
        if listening not in ready:
            continue
        client = listening.accept()[0]
        _import(tuple(modules))
        try:
            request, descriptors = _received(client)
        except OSError:  # it was killed
            client.close()
            continue
        fits = not _unlike(request["variables"], given, modules[0])
        with contextlib.suppress(OSError):
            client.sendall(b"ok" if fits else b"no")
        child = os.fork() if fits else None
        if child == 0:
            for place in (listening, client, *clients):
                place.close()
            for number in (ended, *forks):
                os.close(number)
            _become(request, descriptors, _paths(given))
            return request
        for number in descriptors:
            os.close(number)
        if child is None:
            client.close()
            continue
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        forks[os.pidfd_open(child)] = _Fork(child, client, request["used"])


@cache
def _import(modules: tuple[str, ...]) -> None:
    """Import what forks begin with; in none of them is it looked through for garbage."""
    for module in modules:
        import_module(module)
    gc.freeze()
    _not_freed.extend(getattr(weakref.finalize, "_registry", ()))


def _received(client: socket.socket) -> tuple[Mapping[str, Any], list[int]]:
    """Receive a request, and the files that the program inherits."""
    client.settimeout(60)
    head, descriptors, _, _ = socket.recv_fds(client, 8, 64)
    size, body = int.from_bytes(head, "little"), b""
    while len(body) < size:
        part = client.recv(size - len(body))
        if not part:
            raise ConnectionError
        body += part
    client.settimeout(None)
    request: Mapping[str, Any] = marshal.loads(body)
    return request, descriptors


def _unlike(variables: Mapping[str, str], own: Mapping[str, str], framework: str) -> bool:
    """Whether a program has other variables than those the framework was imported with."""
    prefixes = (*READ_AT_IMPORT, *READ_BY.get(framework, ()))
    names = {name for name in {*variables, *own} if name.startswith(prefixes)}
    for name in names - READ_LATER:
        default = DEFAULTS.get(name, "1" if name.endswith("_NUM_THREADS") else "")
        if variables.get(name, default) != own.get(name, default):
            return True
    return False


def _become(request: Mapping[str, Any], descriptors: Sequence[int], own: Sequence[str]) -> None:
    """Turn this fork into a process as a shell would have started it; `own`: paths to leave out."""
    os.setpgid(0, 0)
    above = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 256) for descriptor in descriptors]
    for number, descriptor in zip(request["descriptors"], above, strict=True):
        os.dup2(descriptor, number)
    for descriptor in (*above, *(set(descriptors) - set(request["descriptors"]))):
        os.close(descriptor)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(request["variables"])
    os.umask(request["umask"])
    os.chdir(request["folder"])
    command = request["command"]
    first = str(Path.cwd()) if request["module"] else str(Path(command[0]).resolve().parent)
    placed = [] if request["safe_path"] else [first]
    sys.path[:] = [*placed, *_paths(os.environ), *(p for p in sys.path[1:] if p not in own)]
    sys.warnoptions.extend(request["warnings"])
    warnings._processoptions(request["warnings"])  # type: ignore[attr-defined]
    sys.argv, sys.executable = command, request["executable"]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    for name, number in (("stdout", 1), ("stderr", 2)):  # a file can seek, a pipe cannot
        held: Any = getattr(sys, name)
        lines = name == "stderr" or os.isatty(number)
        renewed = open(  # noqa: SIM115
            number, "w", -1, held.encoding, held.errors, closefd=False
        )
        renewed.reconfigure(line_buffering=lines)
        setattr(sys, name, renewed)
    if request["unbuffered"] or os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()


def _paths(variables: Mapping[str, str]) -> list[str]:
    return [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]


def _run(request: Mapping[str, Any]) -> int:
    """Run the program as `__main__` and return its exit code."""
    try:
        if request["module"]:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end_fork(code: int) -> NoReturn:
    """End as Python does, but leave out that it frees all objects, which takes half a second."""
    if FREES in os.environ:
        sys.exit(code)
    for made in _not_freed:
        made.atexit = False
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    _end_fork(_run(_serve(int(sys.argv[1]), sys.argv[2:])))
