"""Run a user's script once, in a copy of its folder, and say how it ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosscast.targets.backend import harness_of
from crosscast_parity.processes.process import (
    Job,
    Outcome,
    Running,
    child_environment,
    log_tail,
    signal_name,
    start,
)
from crosscast_parity.processes.sessions import resident
from crosscast_parity.runs.workspace import place_runner
from crosscast_parity.side_by_side.recording import Recording, read

POLL_SECONDS = 0.05
SLOW_POLL_SECONDS = 1.0
RUNNER = "runner/crosscast_parity/inside/updates.py"
STAND_INS = "stand_ins"
STOOD_IN = "{package} is not installed: a stand-in did what its amp and optimizers do"
MOST_PRINTED = 256 << 20
"""Bytes; a script that prints more is ended."""
MOST_COPIED = 2 << 30
"""Bytes of a folder that is copied for every run."""
LEFT_OUT = ("__pycache__", "node_modules", "site-packages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one run. `seconds`; `memory`: bytes of all its processes, 0 for any; `updates`."""

    seconds: float = 600.0
    memory: int = 0
    updates: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run: a folder, replaced texts of files in it, and a command.

    `folder`: of the script, copied. `script`: its path below. `texts`: paths below to contents.
    `lines`: paths to lines of which it is to be told whether they are reached.
    """

    framework: str
    python: str
    folder: Path
    script: str
    arguments: tuple[str, ...]
    texts: Mapping[str, bytes]
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    device: str = "cpu"
    environment: Mapping[str, str] = field(default_factory=dict)
    stand_ins: tuple[Path, ...] = ()
    """Folders of packages that stand in for ones that the interpreter lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run recorded. `problem` says why that is not all of it; "" if it is."""

    recording: Recording
    problem: str = ""
    missing: str = ""
    """The Python module that it did not find, if that is the problem."""
    printed: str = ""
    """The end of what it printed."""
    stopped: bool = False
    """Whether it was stopped at a limit."""


def stand_in_for(framework: str, ran: Ran) -> Path | None:
    """Return the folder of what stands in for a package that a run missed, if there is one.

    Programs also say in words of their own what to install.
    """
    harness = harness_of(framework)
    if harness is None or harness.updates is None:
        return None
    package = ran.missing.partition(".")[0]
    if not package and "ImportError" in ran.problem:
        named = re.findall(r"\w+", ran.problem)
        package = next((known for known in harness.updates.stand_ins if known in named), "")
    return harness.stand_in(package) if package else None


def size_of(folder: Path, most: int) -> int:
    """Return the bytes that a copy of a folder takes, or some number above `most` if it is more."""
    total = 0
    for root, folders, names in os.walk(folder):
        folders[:] = [folder for folder in folders if not _left_out(Path(root), folder)]
        for name in names:
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
        if total > most:
            break
    return total


def _left_out(root: Path, name: str) -> bool:
    hidden = name.startswith(".") and name != "."
    return hidden or name in LEFT_OUT or (root / name / "pyvenv.cfg").exists()


def _copy(folder: Path, copy: Path) -> None:
    """Copy a folder; links to what is outside of it stay links, pipes and the like stay away."""

    def ignore(root: str, names: list[str]) -> list[str]:
        return [
            name
            for name in names
            if ((path := Path(root, name)).is_dir() and _left_out(Path(root), name))
            or not (path.is_dir() or path.is_file())
        ]

    shutil.copytree(folder, copy, symlinks=True, ignore=ignore)
    for root, folders, names in os.walk(copy):
        for path in (Path(root, name) for name in (*folders, *names)):
            if path.is_symlink() and not path.readlink().is_absolute():
                original = (folder / path.relative_to(copy)).resolve()
                if not original.is_relative_to(folder):
                    path.unlink()
                    path.symlink_to(original)


def _overlay(copy: Path, texts: Mapping[str, bytes]) -> None:
    for path, text in texts.items():
        target = copy / path
        if not target.parent.resolve().is_relative_to(copy.resolve()):
            raise OSError(f"{path} is reached through a symbolic link")
        target.unlink(missing_ok=True)  # a link would lead to the user's own file
        target.write_bytes(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Where whole tensors of the first updates are kept, and how many bytes at most."""

    folder: Path
    most: int


def run(
    program: Program,
    limits: Limits,
    *,
    perturb: bool = False,
    poison: int | None = None,
    keep: Keep | None = None,
) -> Ran:
    """Run a script in a new copy of its folder; the copy is gone afterwards.

    Args:
        program: what is run.
        limits: when it is ended.
        perturb: whether to change weights and gradients by what rounding changes.
        poison: number of the attempt whose gradients are to overflow.
        keep: what is also kept; None for records alone.
    """
    with laid_out(program) as laid:
        if isinstance(laid, str):
            return Ran(recording=Recording(), problem=laid)
        records = laid.root / "updates.jsonl"
        spec = {
            "records": str(records),
            "most": limits.updates,
            "perturb": perturb,
            "poison": poison,
            "windows": keep and {"folder": str(keep.folder), "bytes": keep.most},
            "lines": {str(laid.copy / path): lines for path, lines in program.lines.items()},
        }
        outcome = watched(program, laid, RUNNER, spec, limits)
        try:
            recording = read(records)
        except ValueError as error:
            return Ran(recording=Recording(), problem=f"its records are damaged: {error}")
        reached = {
            Path(path).relative_to(laid.copy).as_posix(): lines
            for path, lines in recording.reached.items()
        }
        return _judged(outcome, replace(recording, reached=reached))


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A folder for one run. `copy`: the copy of the program's folder in it."""

    root: Path
    copy: Path


@contextmanager
def laid_out(program: Program) -> Iterator[LaidOut | str]:
    """Copy a program and what observes it to a new folder, gone afterwards; or say why not."""
    with tempfile.TemporaryDirectory(prefix="crosscast-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        copy = root / "program" / (program.folder.name or "folder")
        copy.parent.mkdir()
        try:
            _copy(program.folder, copy)
            _overlay(copy, program.texts)
            place_runner(root)
            for package in program.stand_ins:
                target = root / STAND_INS / package.name
                shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__"))
        except (OSError, shutil.Error) as error:
            yield f"its folder cannot be copied: {error}"[:300]
            return
        yield LaidOut(root, copy)


def watched(
    program: Program, laid: LaidOut, runner: str, more: Mapping[str, Any], limits: Limits
) -> Outcome:
    """Run a program in its copy, and end it at its limits.

    Args:
        program: what is run.
        laid: where it was laid out.
        runner: the module that observes it, below the folder.
        more: what that module is told, beside the program.
        limits: when it is ended.
    """
    harness = harness_of(program.framework)
    assert harness is not None  # programs are made for frameworks that can be watched
    assert harness.updates is not None
    spec = laid.root / "spec.json"
    told = {
        "inside": harness.inside,
        "modules": harness.updates.modules,
        "script": str(laid.copy / program.script),
        "arguments": list(program.arguments),
    }
    spec.write_text(json.dumps(told | dict(more)))
    return _watched(_job(program, laid, spec, runner, limits), limits)


def _job(program: Program, laid: LaidOut, spec: Path, runner: str, limits: Limits) -> Job:
    root = laid.root
    (root / "tmp").mkdir()
    environment = child_environment(threads=1, device=program.device)
    # First the observer's own copy: the interpreter may be too old for crosscast's modules.
    paths = [str(root / "runner"), environment.get("PYTHONPATH", "")]
    paths += [str(root / STAND_INS)] if program.stand_ins else []
    environment |= {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TMPDIR": str(root / "tmp"),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        **program.environment,
    }
    return Job(
        name="script",
        command=(program.python, str(root / runner), str(spec)),
        folder=laid.copy,
        output=root,
        timeout=limits.seconds,
        environment=environment,
    )


def _watched(job: Job, limits: Limits) -> Outcome:
    """Wait for a process; end it with all that it started, at the latest at its limits."""
    child = start(job)
    if isinstance(child, Outcome):
        return child
    message, looked = "", time.monotonic()
    try:
        while child.process.poll() is None and not message:
            time.sleep(POLL_SECONDS)
            if child.seconds > limits.seconds:
                message = f"it was stopped after {limits.seconds:g} s"
            elif time.monotonic() - looked > SLOW_POLL_SECONDS:
                looked = time.monotonic()
                message = _beyond(child, limits)
    finally:
        child.kill()
    return Outcome(
        kind="timeout" if message else "finished",
        message=message,
        exit_code=child.process.returncode,
        log_tail=log_tail(job.log),
    )


def _beyond(child: Running, limits: Limits) -> str:
    if child.job.log.stat().st_size > MOST_PRINTED:
        return f"it was stopped after it had printed {MOST_PRINTED >> 20} MiB"
    if limits.memory and resident(child.process.pid) > limits.memory:
        return f"it was stopped: it used more than {limits.memory / 2**30:g} GiB"
    return ""


def _judged(outcome: Outcome, recording: Recording) -> Ran:
    """Return the problem of a run; none if it made the requested number of updates."""
    problem, missing = outcome.message, ""
    lines: Sequence[str] = [line for line in outcome.log_tail.splitlines() if line.strip()]
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    code = outcome.exit_code
    if problem or outcome.kind == "cannot_run":
        pass
    elif code is not None and code < 0:
        problem = f"it was ended by {signal_name(-code)}"
    elif code:
        problem = f"it ended with exit code {code}{last}"
        if "No module named" in recording.error:
            missing = recording.error.partition("'")[2].partition("'")[0]
    elif not recording.whole:
        problem = "it ended before the end of the script"
    elif not recording.attempts:
        unseen = recording.facts.get("unseen")
        problem = f"no update was observed: {unseen}" if unseen else "no optimizer made a step"
    if recording.elsewhere:
        problem = "it trains in child processes; only a single process can be recorded"
    return Ran(
        recording=recording,
        problem=problem,
        missing=missing,
        printed="\n".join(lines),
        stopped=outcome.kind == "timeout",
    )
