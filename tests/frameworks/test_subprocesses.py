"""How the tests end what they have started."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from frameworks.subprocesses import completed

LAUNCHER = """
import subprocess, sys, time

worker = [sys.executable, "-c", "import time; time.sleep(60)"]
print(subprocess.Popen(worker, start_new_session=True).pid, flush=True)
time.sleep(60)
"""


def test_a_launcher_that_hangs_is_killed_with_its_workers() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        completed(process, seconds=2)
    assert process.returncode == -9
    worker = int(caught.value.stdout or b"0")
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
