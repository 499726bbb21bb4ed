"""Programs that ask for a GPU where runs have none: what they move to it stays on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from crosscast.targets.backend import harness_of
from crosscast.targets.harness import Updates
from crosscast_parity.side_by_side.running import Program, Ran

_GPU = re.compile(r"cuda|\bgpus?\b|nvidia", re.IGNORECASE)
STAYS_ON_CPU = "CROSSCAST_STAYS_ON_CPU"
"""The environment variable that the processes of runs read: `inside.updates` has it, too."""
NOTE = "what the script moves to a GPU stayed on the CPU"


def kept_on_cpu(program: Program) -> Program:
    """Return a program that is redirected to the CPU; itself if that is not possible."""
    updates = _updates(program)
    if updates is None or not updates.stays_on_cpu or program.device != "cpu":
        return program
    return replace(program, environment={**program.environment, STAYS_ON_CPU: "1"})


def asked_for_gpu(program: Program, ran: Ran) -> bool:
    """Whether a run of a program failed since there is no GPU, as far as its error says so."""
    updates, said = _updates(program), f"{ran.recording.error} {ran.problem}"
    known = updates.without_gpu if updates is not None else ()
    return bool(ran.problem) and bool(_GPU.search(said) or any(words in said for words in known))


def _updates(program: Program) -> Updates | None:
    harness = harness_of(program.framework)
    return harness.updates if harness is not None else None


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
    if not asked_for_gpu(program, ran) or kept is program:
        return program, ran
    redirected = again(kept)
    return (program, ran) if asked_for_gpu(kept, redirected) else (kept, redirected)
