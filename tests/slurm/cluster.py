"""A SLURM of two nodes on this one host, for the time of a `with` block.

Everything lies in one folder: configuration, state, logs, and a munge of its own. Nothing is
written to /etc, and no service of the system is started or touched.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
NODES = ("n1", "n2")
START_SECONDS = 30.0
STOP_SECONDS = 20.0
SYSTEM_PATHS = "/usr/local/sbin:/usr/sbin:/sbin"


def missing() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in PROGRAMS if _which(name) is None]


def _which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATHS}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in sockets]


def _configuration(folder: Path) -> str:
    host, user = socket.gethostname().partition(".")[0], getpass.getuser()
    controller, *ports = _free_ports(1 + len(NODES))
    settings = {
        "ClusterName": "onebox",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": controller,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.socket",
        "CredType": "cred/munge",
        "SlurmUser": user,
        "SlurmdUser": user,
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool.%n",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.%n.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": folder / "slurmd.%n.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "MpiDefault": "none",
        "ReturnToService": 2,
        "KillWait": 2,
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines += [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=900"
        for node, port in zip(NODES, ports, strict=True)
    ]
    lines.append(
        f"PartitionName=debug Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP"
    )
    return "\n".join(lines) + "\n"


@contextmanager
def two_nodes(folder: Path) -> Iterator[Mapping[str, str]]:
    """Run the cluster; gives the environment in which its commands work.

    Raises:
        RuntimeError: it does not come up; the logs in `folder` say why.
    """
    for name in ("state", *(f"spool.{node}" for node in NODES)):
        (folder / name).mkdir(parents=True)
    config = folder / "slurm.conf"
    config.write_text(_configuration(folder))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    environment = os.environ | {"SLURM_CONF": str(config)}
    munge = [
        "munged",
        "--foreground",
        "--force",
        f"--key-file={key}",
        *(f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")),
        f"--socket={folder}/munge.socket",
    ]
    daemons = [munge, ["slurmctld", "-D"], *(["slurmd", "-D", "-N", node] for node in NODES)]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in daemons:
            running.append(_start(command, folder, environment))
            if command is munge:
                _wait(lambda: (folder / "munge.socket").exists(), folder, "munge")
        _wait(lambda: _idle(environment), folder, "SLURM")
        yield environment
    finally:
        _empty(environment)
        # One after another, munge last: the others still have to talk to each other.
        for daemon in reversed(running):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _empty(environment: Mapping[str, str]) -> None:
    """Cancel what is left of jobs, and wait for it to go: steps outlive their daemons."""
    _ask(["scancel", "--me"], environment)
    deadline = time.monotonic() + STOP_SECONDS
    while _ask(["squeue", "--me", "--noheader"], environment) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)  # a step reports to the controller after its job has left the queue


def _ask(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, check=False
    )
    return done.stdout


def _start(
    command: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    program = _which(command[0])
    assert program is not None, f"{command[0]} is not installed"
    with (folder / "daemons.log").open("ab") as log:
        return subprocess.Popen(
            [program, *command[1:]],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _idle(environment: Mapping[str, str]) -> bool:
    nodes = _ask(["sinfo", "--noheader", "--Node", "--format=%N %T"], environment)
    return sorted(nodes.split("\n")) == ["", *(f"{node} idle" for node in NODES)]


def _wait(ready: Callable[[], bool], folder: Path, what: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} does not come up; see the logs in {folder}")
        time.sleep(0.1)
