"""Programs that ask for a GPU where runs have none: what they move to it stays on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from crosscast.targets.backend import harness_of
from crosscast_parity.side_by_side.running import Program, Ran

_GPU = re.compile(r"cuda|\bgpus?\b|nvidia", re.IGNORECASE)
NOTE = "what the script moves to a GPU stayed on the CPU"


def kept_on_cpu(program: Program) -> Program:
    """Return a program that is redirected to the CPU; itself if that is not possible."""
    harness = harness_of(program.framework)
    variable = harness.updates.on_cpu if harness is not None and harness.updates else ""
    if not variable or program.device != "cpu":
        return program
    return replace(program, environment={**program.environment, variable: "1"})


def asked_for_gpu(ran: Ran) -> bool:
    """Whether a run failed since there is no GPU, as far as its error says so."""
    return bool(ran.problem and _GPU.search(f"{ran.recording.error} {ran.problem}"))


def run_on_cpu(program: Program, ran: Ran, again: Callable[[Program], Ran]) -> tuple[Program, Ran]:
    """Run a program that failed for want of a GPU again, redirected.

    What is given is returned where that is not possible, or where the program asks for a GPU in a
    way that is not redirected.

    Args:
        program: the program.
        ran: what came of its run.
        again: runs it.
    """
    kept = kept_on_cpu(program)
    if not asked_for_gpu(ran) or kept is program:
        return program, ran
    redirected = again(kept)
    return (program, ran) if asked_for_gpu(redirected) else (kept, redirected)
