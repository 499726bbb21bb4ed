"""Level L1d: whether a resumed run goes on with the state that it had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crosscast.plan.operations import Plan
from crosscast_parity.checks.check import Check, number
from crosscast_parity.levels.files import expected_counters, wrong_counter
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.resumed import Resumed
from crosscast_parity.recordings.trace import TraceRow

NAME = "restored state"


def check_restored(resumed: Resumed | None, plan: Plan, rows: Sequence[TraceRow]) -> Check:
    """Check that nothing changed between the end of a run and its first window after the resume.

    Bit for bit in every framework: in between the state is written and read, nothing is computed.

    Args:
        resumed: what was seen of it.
        plan: of the recipe.
        rows: the trace of the run.
    """
    if resumed is None or not (resumed.tensors or resumed.off):
        return untested("L1d", NAME, "the script does not tell its state")
    if not resumed.tensors:
        words = f"no `train_window` ended with {resumed.window} windows counted in its state"
        return untested("L1d", NAME, words)
    problem = _changed(resumed)
    if not problem and resumed.next is not None:
        until = rows[: resumed.window + 1]
        expected = expected_counters(plan, until)
        counters = dict(resumed.next)
        if "stuck" in resumed.counters:  # that count was changed between the parts
            counters["stuck"] = expected.get("stuck")
        wrong = wrong_counter(counters, plan, until)
        problem = wrong and f"in the checkpoint after it {wrong}"
    words = f"{resumed.tensors} tensors bit-equal, {', '.join(resumed.counters)} as they were"
    return Check(
        level="L1d",
        name=NAME,
        result="fail" if problem else "pass",
        wording=f"window {resumed.window}, after a resume: {problem or words}",
        value=float(bool(problem)),
        limit=0,
        window=resumed.window if problem else None,
    )


def _changed(resumed: Resumed) -> str:
    """Return the change in words; empty if nothing changed."""
    if resumed.off:
        first, causes = min(resumed.off), Counter(filter(None, resumed.off.values()))
        words = f"{first} is not what it was ({len(resumed.off)} of {resumed.tensors} tensors)"
        # Of most of them: a few numbers may happen to fit another one.
        most = max(causes, key=lambda cause: (causes[cause], cause), default="")
        return f"{words}: {most}" if most else words
    for name, (before, after) in resumed.counters.items():
        if before != after:
            return f"{name} is {number(after)}, it was {number(before)}"
    return ""
