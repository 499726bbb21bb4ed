"""Start an emitted launch.sh with instrumented processes and wait for its end.

A copy of launch.sh lies beside `inside/rank.py` under the name of the script, so that the launcher
and its options are the emitted ones.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crosscast_parity.inside.inject import Fault
from crosscast_parity.processes.process import (
    Job,
    Outcome,
    Running,
    judge_exit,
    log_tail,
    read_job_status,
    start,
)

POLL_SECONDS = 0.1
STARTING = 300.0
"""Seconds that processes have for their first window, which comes after imports."""
RANK = Path(__file__).parents[1] / "inside" / "rank.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankJob:
    """A run of several processes.

    `emitted`: the folder that was compiled. `output`: an empty folder for what the run leaves.
    `inside`, `rank_variable`: see `inside.rank`. `faults`: by number of the process. `steps`:
    windows whose state is kept. `more`: of `inside.session.Run`. `stall`: seconds without a
    finished window, after the first one, that end the run.
    """

    emitted: Path
    output: Path
    python: str
    inside: str
    rank_variable: str
    emulate: bool
    processes: int
    arguments: tuple[str, ...]
    faults: Mapping[int, Sequence[Fault]]
    steps: tuple[int, ...]
    more: Mapping[str, Any]
    environment: Mapping[str, str]
    stall: float


def run_ranks(job: RankJob) -> Outcome:
    """Make the run; say how it ended. No process outlives it."""
    folder = job.output.with_name(job.output.name + "-launch")
    folder.mkdir(parents=True)
    job.output.mkdir(parents=True)
    shutil.copy(job.emitted / "launch.sh", folder)
    shutil.copy(RANK, folder / "train.py")
    spec = {
        "inside": job.inside,
        "rank_variable": job.rank_variable,
        "emulate": job.emulate,
        "script": str(job.emitted / "train.py"),
        "output": str(job.output),
        "faults": {str(n): [str(fault) for fault in faults] for n, faults in job.faults.items()},
        "steps": list(job.steps),
        **job.more,
    }
    (folder / "ranks.json").write_text(json.dumps(spec))
    started = start(
        Job(
            name=job.output.name,
            command=("bash", "launch.sh", *job.arguments, "--output", str(job.output)),
            folder=folder,
            output=folder,
            timeout=job.stall,
            environment=dict(job.environment) | {"PYTHON": job.python},
        )
    )
    if isinstance(started, Outcome):
        return started
    try:
        return _wait(job, started)
    finally:
        started.kill()


def _wait(job: RankJob, running: Running) -> Outcome:
    seen, since = -1, time.monotonic()
    while running.process.poll() is None:
        size = progress(job.output)
        if size != seen:
            seen, since = size, time.monotonic()
        allowed = job.stall if seen > 0 else max(job.stall, STARTING)
        if time.monotonic() - since > allowed:
            running.kill()
            words = f"no window finished for {allowed:g} s; {how_far(job.output, job.processes)}"
            return Outcome(kind="timeout", message=words, seconds=running.seconds)
        time.sleep(POLL_SECONDS)
    running.kill()
    status, problem = read_job_status(job.output)
    tail = tail_of(job.output, job.processes, running.job.log)
    kind, message = judge_exit(running.process.returncode, status, problem, tail)
    ended = Outcome(kind=kind, message=message, exit_code=running.process.returncode, status=status)
    if status is not None and kind == "failed" and status.status == "cannot_run":
        ended = replace(ended, kind="cannot_run", message=status.message)  # launchers exit with 1
    elif status is not None and kind == "failed" and status.status == "stopped":
        ended = replace(ended, kind="stopped", message=status.message)
    return replace(ended, seconds=running.seconds, log_tail=tail)


def progress(output: Path) -> int:
    """Return a number that grows with every window of every process."""
    return sum(path.stat().st_size for path in output.glob("rank-*/steps/steps.jsonl"))


def how_far(output: Path, processes: int) -> str:
    """Say how many windows every process has finished."""
    counts = []
    for number in range(processes):
        path = output / f"rank-{number}" / "steps" / "steps.jsonl"
        counts.append(path.read_bytes().count(b"\n") if path.exists() else 0)
    if len(set(counts)) == 1:
        return f"every process had finished {counts[0]}"
    return "finished: " + ", ".join(f"process {n} {count}" for n, count in enumerate(counts))


def tail_of(output: Path, processes: int, launcher: Path) -> str:
    """Return the end of the first log that says something of a failure."""
    logs = [output / f"rank-{number}" / "log.txt" for number in range(processes)]
    tails = [log_tail(path) for path in logs]
    failed = [tail for tail in tails if "Error" in tail]
    return next(iter([*failed, log_tail(launcher), *tails]))
