"""Deal runs to processes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.runs import RunSpec, in_sessions, is_judged_first
from crosscast_parity.processes.sessions import SessionJob, SessionRun
from crosscast_parity.runs.workspace import Workspace

SECONDS_OF_A_SESSION = 60.0
"""Work is dealt to more processes beyond this, so that one core does not wait for the other."""
SECONDS_OF_TWINS = 20.0
"""The same for perturbed runs: in small pieces they fill what the long runs leave."""
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
    """Deal the runs to processes: of one interpreter each, twins apart, none too long.

    Those begin first that the first finding waits for: the recorded runs of `reference`, then those
    of the program that makes them fastest.

    Programs that were not compiled here have processes of their own: they may import anything, and
    change what runs beside them.
    """
    groups: dict[tuple[str, ...], list[RunRequest]] = {}
    for request in requests:
        program = request.contestant
        kind = "twins" if request.spec.name.startswith("twin-") else "runs"
        alone = "" if program.emitted else program.name
        key = (program.framework, program.python, execution[program.name], alone, kind)
        groups.setdefault(key, []).append(request)
    kinds = len({key[:4] for key in groups})
    first = _first(requests, reference)
    found = []
    for (framework, _, how, alone, kind), mine in groups.items():
        costs = [request.run.cost for request in mine]
        longest = SECONDS_OF_TWINS if kind == "twins" else SECONDS_OF_A_SESSION
        parts = max(jobs // kinds, math.ceil(sum(costs) / longest))
        runs = {request.spec.id: request for request in mine}
        for number, chosen in enumerate(in_sessions([o.spec for o in mine], costs, parts)):
            found.append(
                work.session(
                    runs[chosen[0].id].contestant,
                    f"{alone or framework}-{how}-{kind}-{number}",
                    [runs[spec.id].run for spec in chosen],
                    emulate=how == "emulated",
                    rank=min(first.get(spec.id, LATER) for spec in chosen),
                )
            )
    return found


def _first(requests: Sequence[RunRequest], reference: str) -> dict[tuple[str, str, str], int]:
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
