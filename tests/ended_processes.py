"""Have processes that a test started ended?"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    """Whether a process ends: what is killed ends when it is its turn to run."""
    return comes(lambda: not alive(pid))


def comes(what: Callable[[], bool]) -> bool:
    """Whether something becomes true within some seconds."""
    end = time.monotonic() + 10
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()
