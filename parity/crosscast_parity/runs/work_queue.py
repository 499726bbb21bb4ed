"""Deal runs to processes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.runs import RunSpec, in_sessions
from crosscast_parity.processes.sessions import SessionJob, SessionRun
from crosscast_parity.runs.workspace import Workspace

SECONDS_OF_A_SESSION = 60.0
"""Work is dealt to more processes beyond this, so that one core does not wait for the other."""


@dataclass(slots=True)
class Asked:
    """A run that is wanted; `stored`: where a kept reference has it."""

    contestant: Contestant
    spec: RunSpec
    run: SessionRun
    stored: Path | None = None


def deal(
    asked: Sequence[Asked], execution: Mapping[str, Execution], work: Workspace, jobs: int
) -> list[SessionJob]:
    """Deal the runs to processes: of one interpreter each, twins apart, none too long.

    Programs that were not compiled here have processes of their own: they may import anything, and
    change what runs beside them.
    """
    groups: dict[tuple[str, ...], list[Asked]] = {}
    for one in asked:
        program = one.contestant
        kind = "twins" if one.spec.name.startswith("twin-") else "runs"
        alone = "" if program.emitted else program.name
        key = (program.framework, program.python, execution[program.name], alone, kind)
        groups.setdefault(key, []).append(one)
    kinds = len({key[:4] for key in groups})
    found = []
    for (framework, _, how, alone, kind), mine in groups.items():
        costs = [one.run.cost for one in mine]
        parts = max(jobs // kinds, math.ceil(sum(costs) / SECONDS_OF_A_SESSION))
        runs = {one.spec.id: one for one in mine}
        for number, chosen in enumerate(in_sessions([o.spec for o in mine], costs, parts)):
            found.append(
                work.session(
                    runs[chosen[0].id].contestant,
                    f"{alone or framework}-{how}-{kind}-{number}",
                    [runs[spec.id].run for spec in chosen],
                    emulate=how == "emulated",
                )
            )
    return found
