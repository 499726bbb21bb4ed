"""A process that keeps what it frees gets no new pages for the next array."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.processes.freed_memory import VARIABLES, keep_freed_memory
from crosscast_parity.runs.workspace import Workspace
from parity_fakes import make_recipe

FAULTS = """
import resource
import numpy as np

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    return len([np.ones(2**17) for _ in range(32)])

work()
before = faults()
for _ in range(10):
    work()
print(faults() - before)
"""
KEEP = """
from crosscast_parity.processes.freed_memory import keep_freed_memory
assert keep_freed_memory()
"""


def faults(code: str, variables: dict[str, str]) -> int:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("MALLOC_")} | variables
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_freed_arrays_are_used_again() -> None:
    fresh = faults(FAULTS, {})
    assert fresh > 10 * 1000
    assert faults(KEEP + FAULTS, {}) < fresh / 20
    assert faults(FAULTS, VARIABLES) < fresh / 20


def test_a_process_asks_its_allocator_once() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_the_processes_of_a_comparison_keep_it(tmp_path: Path) -> None:
    work = Workspace(make_options(tmp_path), lambda *given: None)
    program = Contestant(name="a", target="torch", recipe=make_recipe())
    job = work.session(program, "a", [], emulate=False)
    assert job.environment.items() >= VARIABLES.items()
