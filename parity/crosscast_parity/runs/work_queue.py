"""Deal runs to processes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.pace import pace_of
from crosscast_parity.planning.runs import RunSpec, in_sessions, is_judged_first
from crosscast_parity.processes.sessions import SessionJob, SessionRun
from crosscast_parity.runs.workspace import Workspace

SECONDS_OF_A_SESSION = 60.0
"""Work is dealt to more processes beyond this, so that one core does not wait for the other."""
SECONDS_OF_TWINS = 20.0
"""The same for perturbed runs: in small pieces they fill what the long runs leave."""
SECONDS_OF_FEW_TWINS = 8.0
"""Perturbed runs that take no longer go with the other runs, without a process of their own."""
LATER = 2
"""Rank of a process that the first finding does not wait for."""


@dataclass(slots=True)
class RunRequest:
    """A requested run; `stored`: its folder in a stored reference."""

    contestant: Contestant
    spec: RunSpec
    run: SessionRun
    stored: Path | None = None


def deal(
    requests: Sequence[RunRequest],
    execution: Mapping[str, Execution],
    work: Workspace,
    jobs: int,
    reference: str = "",
) -> list[SessionJob]:
    """Deal the runs to processes: of one interpreter each, many twins apart, none too long.

    Those begin first that the first finding waits for: the recorded runs of `reference`, then those
    of the program that makes them fastest.

    Programs that were not compiled here have processes of their own: they may import anything, and
    change what runs beside them.
    """
    groups = _groups(requests, execution)
    first = _first(requests, reference)
    parts = _process_counts(groups, first, jobs)
    session_jobs = []
    for key, mine in groups.items():
        framework, _, how, alone, kind = key
        runs = {request.spec.id: request for request in mine}
        for number, chosen in enumerate(_dealt(mine, parts[key])):
            session_jobs.append(
                work.session(
                    mine[0].contestant,
                    f"{alone or framework}-{how}-{kind}-{number}",
                    [runs[spec.id].run for spec in chosen],
                    emulate=how == "emulated",
                    rank=_rank(chosen, first),
                )
            )
    return session_jobs


Key = tuple[str, str, str, str, str]
"""Framework, interpreter, execution, name of a program that stands alone, and kind of runs."""
Groups = Mapping[Key, list[RunRequest]]
Turns = Mapping[tuple[str, str, str], int]


def _groups(requests: Sequence[RunRequest], execution: Mapping[str, Execution]) -> Groups:
    """Return the runs that one process could make, twins apart if they are many."""
    few = sum(o.run.cost for o in requests if o.spec.twin) <= SECONDS_OF_FEW_TWINS
    groups: dict[Key, list[RunRequest]] = {}
    for request in requests:
        program = request.contestant
        kind = "twins" if request.spec.twin and not few else "runs"
        alone = "" if program.emitted else program.name
        key = (program.framework, program.python, execution[program.name], alone, kind)
        groups.setdefault(key, []).append(request)
    return groups


def _process_counts(groups: Groups, first: Turns, jobs: int) -> dict[Key, int]:
    """Return to how many processes each group is dealt: to more while all would end sooner."""
    kinds = len({key[:4] for key in groups})
    parts = {}
    for key, mine in groups.items():
        longest = SECONDS_OF_TWINS if key[-1] == "twins" else SECONDS_OF_A_SESSION
        whole = sum(request.run.cost for request in mine)
        parts[key] = max(1, jobs // kinds, math.ceil(whole / longest))
    while True:
        more = [parts | {key: parts[key] + 1} for key in groups if parts[key] < jobs]
        best = min(more, key=lambda tried: _end(groups, tried, first, jobs), default=parts)
        if not _end(groups, best, first, jobs) < _end(groups, parts, first, jobs):
            return parts
        parts = best


def _end(groups: Groups, parts: Mapping[Key, int], first: Turns, jobs: int) -> float:
    """Return after how many seconds all would have ended."""
    work = []
    for key, mine in groups.items():
        costs = {request.spec.id: request.run.cost for request in mine}
        load = pace_of(key[0]).load
        for chosen in _dealt(mine, parts[key]):
            work.append((_rank(chosen, first), -load - sum(costs[spec.id] for spec in chosen)))
    ends = [0.0] * jobs
    for _, seconds in sorted(work):
        ends[ends.index(min(ends))] -= seconds
    return max(ends)


def _dealt(requests: Sequence[RunRequest], parts: int) -> list[list[RunSpec]]:
    return in_sessions([o.spec for o in requests], [o.run.cost for o in requests], parts)


def _rank(specs: Sequence[RunSpec], first: Turns) -> int:
    return min(first.get(spec.id, LATER) for spec in specs)


def _first(requests: Sequence[RunRequest], reference: str) -> Turns:
    """Return the runs of the first stage that are judged first, by whose turn it is.

    0: those of the reference. 1: those of the program that makes them fastest. What follows is
    packed by its length.
    """
    mine: dict[str, list[RunRequest]] = {}
    for request in requests:
        if request.spec.stage == requests[0].spec.stage and is_judged_first(request.spec):
            mine.setdefault(request.spec.contestant, []).append(request)
    costs = {name: sum(request.run.cost for request in runs) for name, runs in mine.items()}
    fastest = min((n for n in costs if n != reference), key=lambda n: costs[n], default="")
    turns = {reference: 0, fastest: 1}
    return {o.spec.id: turns[n] for n in mine if n in turns for o in mine[n]}
