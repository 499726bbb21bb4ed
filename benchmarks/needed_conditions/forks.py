"""Run work in forked processes, each with a time limit."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

WALL = 30
"""How many times its CPU seconds a process may exist."""
MEMORY = 3 << 30
"""Bytes that a process may add; a loop that does not end takes all otherwise."""


@dataclass(frozen=True, slots=True)
class Work:
    """A call for a process of its own. What it returns must be JSON."""

    name: str
    call: Callable[[], Any]
    cpu_seconds: float
    """What it may use. Wall time says nothing on a busy machine, and has a wide limit."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    name: str
    result: Any = None
    failure: str = ""
    """`time limit` or `crash`: there is no result then."""


@dataclass(slots=True)
class _Running:
    work: Work
    pid: int
    started: float
    text: bytes = b""


def run(tasks: Iterator[Work], jobs: int) -> Iterator[Ended]:
    """Yield how the processes end, as they end; `jobs` of them run at a time."""
    running: dict[int, _Running] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                while len(running) < jobs and (work := next(tasks, None)) is not None:
                    reading, child = _start(work)
                    running[reading] = child
                    selector.register(reading, selectors.EVENT_READ)
                if not running:
                    return
                for key, _ in selector.select(timeout=0.5):
                    chunk = os.read(key.fd, 1 << 16)
                    running[key.fd].text += chunk
                    if not chunk:
                        selector.unregister(key.fd)
                        yield _end(key.fd, running.pop(key.fd))
                for reading, child in list(running.items()):
                    if time.monotonic() - child.started > WALL * child.work.cpu_seconds:
                        selector.unregister(reading)
                        yield _end(reading, running.pop(reading), failure="time limit")
        finally:
            for reading, child in running.items():
                _end(reading, child, failure="interrupted")


def _start(work: Work) -> tuple[int, _Running]:
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Running(work, pid, time.monotonic())
    status = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(work.cpu_seconds),) * 2)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(work.call()).encode())
        status = 0
    finally:
        os._exit(status)


def _end(reading: int, child: _Running, failure: str = "") -> Ended:
    os.close(reading)
    if failure:
        _kill(child.pid)
    _, status = os.waitpid(child.pid, 0)
    _kill(child.pid)  # what the work left running
    try:
        return Ended(child.work.name, json.loads(child.text))
    except ValueError:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            failure = failure or "time limit"
        return Ended(child.work.name, failure=failure or "crash")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
