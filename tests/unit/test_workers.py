"""Processes that share work: whatever moment an interrupt chooses, nothing is left waiting."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from crosscast_reading.sources.workers import spread

# The interrupt comes after the first process started and before the second did: the moment at
# which the executor owns a process but nothing that would ever tell it to end.
STRUCK = """
import os, signal, sys, warnings
from multiprocessing.process import BaseProcess

from crosscast_reading.sources.workers import spread

start = BaseProcess.start
started = []

def struck(self):
    start(self)
    started.append(self)
    if len(started) == {moment}:
        os.kill(os.getpid(), signal.SIGINT)

BaseProcess.start = struck
try:
    with spread(pow, [(2, n) for n in range(50)], 2) as futures:
        print(sum(one.result() for one in futures))
except KeyboardInterrupt:
    print("interrupted", len(started))
"""


@pytest.mark.parametrize("moment", [1, 2])
def test_an_interrupt_while_the_processes_start(moment: int) -> None:
    code = STRUCK.format(moment=moment)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted 2\n", "")


ALIVE = """
import os, time

from crosscast_reading.sources.workers import spread

with spread(os.getpid, [()] * 8, 2) as futures:
    print(*{one.result() for one in futures}, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_processes_do_not_outlive_the_one_that_started_them(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ALIVE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(number)
        assert process.wait(60) == -number
    assert workers
    deadline = time.monotonic() + 60
    while alive := [pid for pid in workers if _is_alive(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.1)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # in a container, ended processes may never be reaped
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_the_work_is_done_in_its_order() -> None:
    with spread(pow, [(2, n) for n in range(20)], 2) as futures:
        assert [future.result() for future in futures] == [2**n for n in range(20)]


def test_a_process_that_dies_is_told() -> None:
    with spread(os._exit, [(3,)], 1) as (only,), pytest.raises(BrokenProcessPool):
        only.result()


def test_no_more_processes_than_work() -> None:
    with spread(os.getpid, [()], 8) as (only,):
        assert only.result() != os.getpid()


def test_what_was_not_begun_is_not_done_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError), spread(time.sleep, [(0.2,)] * 500, 2):
        raise ZeroDivisionError  # not 50 seconds later
