"""Run sessions as processes side by side, watch over them, and say how every run ended."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from crosscast_parity.processes.process import (
    Job,
    Outcome,
    OutcomeKind,
    Running,
    judge_exit,
    log_tail,
    read_job_status,
    start,
)
from crosscast_parity.processes.run_cache import Store
from crosscast_parity.recordings.files import read_json

POLL_SECONDS = 0.05
MEMORY_POLL_SECONDS = 1.0
SESSION = "crosscast_parity.inside.session"
DONE = "done.json"
MOST_DONE = 16_000_000
"""Bytes of done.json, which lists every file that a run has imported."""
EventKind = Literal["started", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRun:
    """One run of a session. `key`: where its result is kept. `spec`: see `inside.session`."""

    key: str
    title: str
    spec: Mapping[str, Any]
    cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionJob:
    """A process and the runs it makes, in order.

    `rank`: those with a lower one begin first. `inside`: see `inside.session`.
    """

    name: str
    python: str
    inside: str
    emulate: bool
    environment: Mapping[str, str]
    runs: tuple[SessionRun, ...]
    rank: int = 0

    @property
    def cost(self) -> float:
        """The work in it, in the unit of its runs."""
        return sum(run.cost for run in self.runs)


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds`: of a single run. `memory`: bytes of a process and its children, 0 for any."""

    seconds: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run and the folder with its files."""

    outcome: Outcome
    folder: Path


OnEvent = Callable[[EventKind, SessionRun, Outcome | None], None]


def ignore(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
    """Say nothing when a run begins or ends."""


@dataclass(slots=True)
class _Active:
    """A session that is running: what has been read of its events so far."""

    job: SessionJob
    child: Running
    folders: dict[str, Path]
    seen: int = 0
    current: str | None = None
    since: float = field(default_factory=time.monotonic)
    ended: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    polled: float = 0.0

    @property
    def through(self) -> bool:
        """Whether it has made all its runs, and only has to end."""
        return len(self.ended) == len(self.job.runs)

    def events(self) -> list[dict[str, str]]:
        """Return the events written since the last call; a half-written line waits."""
        path = self.child.job.output / "events.jsonl"
        try:
            with path.open("rb") as stream:
                stream.seek(self.seen)
                raw = stream.read(1 << 20)
        except OSError:
            return []
        whole = raw[: raw.rfind(b"\n") + 1]
        self.seen += len(whole)
        events = []
        for line in whole.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and str(event.get("run")) in self.folders:
                events.append({k: str(v) for k, v in event.items()})
        return events


class SessionPool:
    """Runs sessions, at most `jobs` at a time; by rank, and among equals the most work first.

    A process that dies takes only the run with it that it was making: another process makes those
    that were still to come.

    `on_event` may take its time: it is called between two looks at the processes, when none is
    about to end, and those that can begin have begun.
    """

    def __init__(
        self,
        store: Store,
        workdir: Path,
        *,
        jobs: int,
        limits: Limits,
        on_event: OnEvent = ignore,
    ) -> None:
        self._store = store
        self._workdir = workdir
        self._jobs = jobs
        self._limits = limits
        self._on_event = on_event
        self._done: dict[str, Finished] = {}
        self._pending: deque[tuple[EventKind, SessionRun, Outcome | None]] = deque()
        self._count = 0
        self._reported: set[str] = set()
        self._interrupted = False

    def run(self, jobs: Sequence[SessionJob]) -> dict[str, Finished]:
        """Make all runs; return them by key. Ctrl-C ends all: the rest is `interrupted`."""
        waiting = deque(sorted(jobs, key=lambda job: (job.rank, -job.cost)))
        active: list[_Active] = []
        try:
            while waiting or active or self._pending:
                while waiting and len(active) < self._jobs:
                    begun = self._begin(waiting.popleft())
                    if begun:
                        active.append(begun)
                for session in list(active):
                    rest = self._watch(session)
                    if rest is not None:
                        active.remove(session)
                        if rest.runs:
                            waiting.appendleft(rest)
                leaving = any(session.through for session in active)
                if self._pending and not leaving:
                    self._on_event(*self._pending.popleft())
                elif active:
                    time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            self._interrupted = True
            for session in active:
                session.child.kill()
                self._note_events(session)
        finally:
            for session in active:
                session.child.kill()
        every = [run for job in jobs for run in job.runs]
        gone = Outcome(kind="interrupted", message="interrupted")
        return {r.key: self._done.get(r.key) or Finished(gone, self._workdir) for r in every}

    def _begin(self, job: SessionJob) -> _Active | None:
        self._count += 1
        folder = self._workdir / "sessions" / f"{self._count:03d}-{job.name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").unlink(missing_ok=True)
        folders = {run.key: self._store.begin(run.key) for run in job.runs}
        runs = [
            {
                **run.spec,
                "name": run.key,
                "output": str(folders[run.key]),
                "arguments": [*run.spec["arguments"], "--output", str(folders[run.key])],
            }
            for run in job.runs
        ]
        spec = folder / "spec.json"
        spec.write_text(json.dumps({"inside": job.inside, "emulate": job.emulate, "runs": runs}))
        process = Job(
            name=job.name,
            command=(job.python, "-m", SESSION, str(spec)),
            folder=folder,
            output=folder,
            timeout=self._limits.seconds,
            environment=job.environment,
        )
        child = start(process)
        if isinstance(child, Outcome):
            for run in job.runs:
                self._finish(run, child, folders[run.key])
            return None
        return _Active(job, child, folders)

    def _watch(self, session: _Active) -> SessionJob | None:
        """Look at a session; return what is left to do once it is over, None while it runs."""
        self._note_events(session)
        if session.child.process.poll() is not None:
            session.child.kill()
            self._note_events(session)
            return self._after(session, None, "")
        if time.monotonic() - session.since > self._limits.seconds:
            session.child.kill()
            self._note_events(session)
            return self._after(session, "timeout", f"killed after {self._limits.seconds:g} s")
        if self._too_large(session):
            session.child.kill()
            self._note_events(session)
            if session.ended and session.current:
                # What is too much may be left from earlier runs: it gets a process of its own.
                session.current = None
            gib = self._limits.memory / 2**30
            return self._after(session, "failed", f"killed: it used more than {gib:g} GiB")
        return None

    def _note_events(self, session: _Active) -> None:
        for event in session.events():
            key = event["run"]
            session.since = time.monotonic()
            if event.get("event") == "started":
                session.current = key
                session.started.add(key)
                if key not in self._reported:
                    self._reported.add(key)
                    self._pending.append(("started", self._run_of(session, key), None))
            elif event.get("event") == "ended" and key in session.started:
                session.current = None
                session.ended.add(key)
                self._settle(session, key)

    def _run_of(self, session: _Active, key: str) -> SessionRun:
        return next(run for run in session.job.runs if run.key == key)

    def _settle(self, session: _Active, key: str) -> None:
        """Take over the result of a run that has come to its end."""
        run, folder = self._run_of(session, key), session.folders[key]
        self._finish(run, read_outcome(folder, session.child.job), folder)

    def _after(self, session: _Active, kind: OutcomeKind | None, message: str) -> SessionJob:
        """Judge the run that a dead process was making; return the job of those to come."""
        code, log = session.child.process.returncode, session.child.job.log
        rest = [run for run in session.job.runs if run.key not in session.ended]
        guilty = [run for run in rest if run.key == session.current]
        if not session.started:  # it never came so far: no other process would
            guilty = rest
        for run in guilty:
            folder = session.folders[run.key]
            own = log_tail(folder / "log.txt") or log_tail(log)
            ending, words = (kind, message) if kind else judge_exit(code, None, "no status", own)
            outcome = Outcome(
                kind=ending,
                message=words,
                exit_code=code,
                seconds=time.monotonic() - session.since,
                log_tail=own,
            )
            self._finish(run, outcome, folder)
        left = tuple(run for run in rest if run not in guilty)
        return SessionJob(
            name=session.job.name,
            python=session.job.python,
            inside=session.job.inside,
            emulate=session.job.emulate,
            environment=session.job.environment,
            runs=left,
        )

    def _finish(self, run: SessionRun, outcome: Outcome, folder: Path) -> None:
        if self._interrupted and not outcome.complete:
            return  # killed by us, whatever it said last
        if not run.spec.get("checkpoint"):  # large, not looked at
            (folder / "checkpoint.safetensors").unlink(missing_ok=True)
        if outcome.complete:
            folder = self._store.keep(run.key, folder)
        self._done[run.key] = Finished(outcome, folder)
        self._pending.append(("ended", run, outcome))

    def _too_large(self, session: _Active) -> bool:
        now = time.monotonic()
        if not self._limits.memory or now - session.polled < MEMORY_POLL_SECONDS:
            return False
        session.polled = now
        return resident(session.child.process.pid) > self._limits.memory


def read_outcome(folder: Path, job: Job | None = None) -> Outcome:
    """Say how a run ended whose folder holds done.json, believing it only with its status."""
    tail = log_tail(folder / "log.txt")
    try:
        document = read_json(folder / DONE, MOST_DONE)
        code, seconds = int(document["exit_code"]), float(document["seconds"])
    except (ValueError, LookupError, TypeError, ArithmeticError):
        return Outcome(kind="failed", message="done.json is missing or damaged", log_tail=tail)
    status, problem = read_job_status(folder)
    kind, message = judge_exit(code, status, problem, tail)
    if kind == "interrupted":  # only the pool interrupts, so the script reported this itself
        kind, message = "failed", f"exit code {code}: {message or 'interrupted'}"
    return Outcome(
        kind=kind,
        message=message,
        exit_code=code,
        seconds=seconds,
        status=status,
        log_tail=tail,
    )


def resident(group: int) -> int:
    """Return the resident memory of a process group in bytes; 0 where that cannot be read."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += int(fields[21]) * 4096
    return total
