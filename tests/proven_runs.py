"""Runs that stand in for those of a program before and after its migration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosscast_parity.side_by_side.proof import Execution, prove
from crosscast_parity.side_by_side.recording import Recording
from crosscast_parity.side_by_side.running import Limits, Program, Ran

PROGRAM = Program(
    framework="torch",
    python="python",
    folder=Path(),
    script="train.py",
    arguments=(),
    texts={"train.py": b"a = 1\n"},
)
NEW = replace(PROGRAM, texts={"train.py": b"a = 2\n"})
REACHED = {"train.py": (1,)}


class Runs:
    """Gives back recordings in place of runs, in order of what is asked for."""

    def __init__(self, **ran: Sequence[Recording | Ran]) -> None:
        self.ran = {name: list(found) for name, found in ran.items()}
        self.requests: list[str] = []

    def __call__(self, program: Program, limits: Limits, **how: Any) -> Ran:
        name = "old" if program is PROGRAM else "new"
        name += "_moved" * ("perturb" in how) + "_poisoned" * ("poison" in how)
        self.requests.append(name)
        found = self.ran[name].pop(0)
        if isinstance(found, Ran):
            return found
        return Ran(recording=replace(found, reached=REACHED))


def proven(**ran: Sequence[Recording | Ran]) -> tuple[Execution, list[str]]:
    runs = Runs(**ran)
    return prove(PROGRAM, NEW, Limits(), run=runs), runs.requests


class OnCpu(Runs):
    """Notes which runs are kept on the CPU."""

    original = PROGRAM

    def __call__(self, program: Program, limits: Limits, **how: Any) -> Ran:
        self.requests.append("kept" if program.environment else "given")
        name = "old" if program.texts == self.original.texts else "new"
        found = self.ran[name].pop(0)
        return found if isinstance(found, Ran) else Ran(recording=replace(found, reached=REACHED))
