"""How the tests end what they have started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ended_processes import gone
from frameworks.fork_server import SHARED, warm_python
from frameworks.subprocesses import completed, environment

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
    assert gone(worker)


PROGRAM = """
import os, signal, sys, warnings

if sys.argv[1] == "said":
    mask = os.umask(0)
    print(sys.argv, os.getcwd(), sys.path[0], os.environ["WORD"], oct(mask), sys.stdin.read())
    warnings.warn("was no error")
elif sys.argv[1] == "exits":
    sys.exit(int(sys.argv[2]))
elif sys.argv[1] == "words":
    sys.exit("these")
elif sys.argv[1] == "raises":
    raise ValueError("this")
elif sys.argv[1] == "dies":
    os.kill(os.getpid(), signal.SIGSEGV)
print(signal.getsignal(signal.SIGUSR1), flush=True)
if sys.argv[1] == "waits":
    signal.pause()
"""


def test_a_fork_is_what_a_new_process_of_python_is(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    warm, other = warm_python(["json"], environment()), tmp_path / "other"
    other.mkdir()
    calls: list[list[str]] = [
        [str(program), "said", "-u", "a b"],
        ["-m", "program", "said"],
        ["-W", "error", str(program), "said"],
        ["-P", str(program), "said"],
        *([str(program), "exits", code] for code in ("0", "3", "-1", "256")),
        *([str(program), word] for word in ("words", "raises", "dies", "ends")),
        ["-c", "print(1)"],
        ["none.py"],
    ]
    for words in calls:
        found = []
        for python in (sys.executable, warm):
            done = subprocess.run(
                [python, *words],
                input="given",
                cwd=other,
                env=environment() | {"WORD": "one", "PYTHONPATH": str(tmp_path)},
                capture_output=True,
                text=True,
                umask=0o027,
            )
            found.append((done.returncode, done.stdout, done.stderr))
        assert found[0] == found[1]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_fork_gets_the_signals(sent: signal.Signals, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    said = "print(os.getpid(), flush=True), signal.pause"
    program.write_text(PROGRAM.replace("signal.pause", said))
    python = warm_python(["json"], environment())
    process = subprocess.Popen(
        ["bash", "-c", 'trap "" USR1; exec "$@"', "bash", python, str(program), "waits"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{signal.SIG_IGN!s}\n"
    fork = int(process.stdout.readline())
    process.send_signal(sent)
    assert process.wait(10) == -sent
    process.stdout.close()
    assert gone(fork)


SERVER = "import os\nprint(os.getppid())\n"


def test_processes_that_share_their_servers_end_them_with_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SERVER)
    folder = tmp_path / "shared"
    folder.mkdir()
    with subprocess.Popen(["sleep", "60"]) as owner:
        monkeypatch.setenv(SHARED, f"{owner.pid} {folder}")
        pythons = [warm_python(["json"], environment()) for _ in range(2)]
        other = warm_python(["json"], environment() | {"WORD": "one"})
        servers = [
            int(subprocess.run([python, program], stdout=subprocess.PIPE, check=True).stdout)
            for python in (*pythons, other)
        ]
        owner.kill()
    assert servers[0] == servers[1] != servers[2], "one for each environment"
    assert len(set(pythons)) == 2, "each process has an executable of its own"
    assert all(gone(server) for server in set(servers))
