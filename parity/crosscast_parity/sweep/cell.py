"""Run one cell: train its script to the end, from its checkpoint if an earlier attempt left one.

`python -m crosscast_parity.sweep.cell FOLDER` is all that an executor has to start, anywhere the
folder can be read and written. Two attempts never work on one cell at a time: the training process
holds a lock, which the system takes back when it dies, however it dies.
"""

from __future__ import annotations

import fcntl
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from crosscast.messages.diagnostics import DiagnosticError, render
from crosscast_parity.levels.seeds import train_loss_tail
from crosscast_parity.processes.process import (
    Job,
    Outcome,
    OutcomeKind,
    Running,
    child_environment,
    judge_exit,
    log_tail,
    read_job_status,
    start,
    with_modules,
)
from crosscast_parity.processes.run_cache import file_hash
from crosscast_parity.recordings.trace import TraceRow, read_trace
from crosscast_parity.sweep.spec import (
    LOCK,
    CellResult,
    CellSpec,
    read_result,
    read_spec,
    write_result,
)

POLL_SECONDS = 0.1
CHECKPOINT, TRACE, WEIGHTS = "checkpoint.safetensors", "trace.jsonl", "model.safetensors"
USAGE = 2


def run_cell(folder: Path) -> CellResult:
    """Train a cell and write its result.json.

    Waits while another process works on the cell, and returns its result if it comes to one. An
    attempt that is ended from outside (KeyboardInterrupt, SystemExit) kills the training and leaves
    no result: the next one goes on from the last checkpoint.

    Raises:
        DiagnosticError: CC729 if the folder is no cell.
    """
    spec = read_spec(folder)
    with _locked(folder / LOCK) as lock:
        earlier = read_result(folder)
        if earlier is not None and earlier.complete:
            return earlier
        result = _attempt(folder, spec, lock)
        if result.exit_code == USAGE and (folder / "output" / CHECKPOINT).exists():
            # The script does not take its checkpoint: a disk was full, or somebody touched it.
            (folder / "output" / CHECKPOINT).unlink()
            result = _attempt(folder, spec, lock)
        write_result(folder, result)
        return result


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Hold a lock; the file says who does, as `host process`."""
    with path.open("a+b") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(POLL_SECONDS)
        lock.truncate(0)
        lock.write(f"{socket.gethostname()} {os.getpid()}\n".encode())
        lock.flush()
        yield lock


def _attempt(folder: Path, spec: CellSpec, lock: IO[bytes]) -> CellResult:
    output = folder / "output"
    output.mkdir(exist_ok=True)
    earlier = len(list(output.glob("log*.txt")))
    job = _job(folder, spec, lock)
    if job.log.exists():
        job.log.rename(output / f"log-{earlier}.txt")
    (output / "status.json").unlink(missing_ok=True)
    started = start(job)
    outcome = started if isinstance(started, Outcome) else _wait(started)
    return _result(output, outcome, attempts=earlier + 1)


def _job(folder: Path, spec: CellSpec, lock: IO[bytes]) -> Job:
    output = folder / "output"
    arguments = {
        "--train": (folder / spec.train).absolute(),
        "--eval": (folder / spec.eval).absolute(),
        "--output": output.absolute(),
        "--windows": spec.windows,
        "--device": spec.device,
        "--threads": spec.threads,
    }
    if spec.weights:
        arguments["--weights"] = (folder / spec.weights).absolute()
    if spec.checkpoint_every is not None:
        arguments["--checkpoint-every"] = spec.checkpoint_every
    resume = ["--resume"] if (output / CHECKPOINT).exists() else []
    script = (folder / spec.script).absolute()
    environment = child_environment(threads=spec.threads, device=spec.device)
    flags = [str(part) for pair in arguments.items() for part in pair]
    return Job(
        name=folder.name,
        command=(spec.python, str(script / "train.py"), *flags, *resume),
        folder=Path(spec.own) if spec.own else script,
        output=output,
        timeout=math.inf if spec.timeout is None else spec.timeout,
        environment=with_modules(environment, spec.own),
        keep_open=(lock.fileno(),),
    )


def _wait(child: Running) -> Outcome:
    kind: OutcomeKind | None = None
    try:
        while child.process.poll() is None and kind is None:
            if child.seconds > child.job.timeout:
                kind = "timeout"
            else:
                time.sleep(POLL_SECONDS)
    finally:
        child.kill()
    code, seconds = child.process.returncode, child.seconds
    if kind == "timeout":
        message = f"killed after {child.job.timeout:g} s"
        return Outcome(kind=kind, message=message, exit_code=code, seconds=seconds)
    status, problem = read_job_status(child.job.output)
    kind, message = judge_exit(code, status, problem, log_tail(child.job.log))
    return Outcome(kind=kind, message=message, exit_code=code, seconds=seconds, status=status)


def _result(output: Path, outcome: Outcome, attempts: int) -> CellResult:
    kind, message = outcome.kind, outcome.message
    rows: tuple[TraceRow, ...] = ()
    try:
        rows = read_trace(output / TRACE, partial=not outcome.complete)
    except DiagnosticError as error:
        kind, message = "failed", error.diagnostics[0].message
    status = outcome.status
    finished = kind == "finished"
    evaluation = status.eval if status and finished else None
    return CellResult(
        kind=kind,
        message=message,
        exit_code=outcome.exit_code,
        seconds=round(outcome.seconds, 2),
        attempts=attempts,
        windows=len(rows),
        updates=rows[-1].updates if rows else 0,
        skipped=sum(row.skipped for row in rows),
        train_loss_tail=train_loss_tail(rows) if finished else None,
        eval_loss=evaluation.loss if evaluation else None,
        eval_accuracy=evaluation.accuracy if evaluation else None,
        device=status.device if status else "",
        versions=status.versions if status else {},
        trace_sha256=_hash(output / TRACE),
        weights_sha256=_hash(output / WEIGHTS) if finished else "",
    )


def _hash(path: Path) -> str:
    try:
        return file_hash(path)
    except OSError:
        return ""


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def main(arguments: list[str]) -> int:
    """Run the cell in the folder that is named; a request to end is passed on to the training."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        return 0 if run_cell(Path(arguments[0])).complete else 1
    except DiagnosticError as error:
        print(render(error.diagnostics), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
