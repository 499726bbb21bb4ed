"""What a parity run leaves: runs, pairs and the whole, as frozen records and as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from crosscast_parity.checks import LEVELS, Check, json_number
from crosscast_parity.half import Execution
from crosscast_parity.levels.traces import Dtype, Envelope
from crosscast_parity.process import Outcome
from crosscast_parity.traces import Row

Role = Literal["main", "faults", "twin"]
Verdict = Literal["EQUIVALENT", "DIFFERENT", "INCONCLUSIVE", "NOT TESTED", "ERROR"]

FORMAT = 2
NOT_COVERED = (
    "Half kernels of other devices are not run. Emulated half precision computes every operation"
    " in float32 and rounds what goes in and comes out.",
    "The gate (the same target twice, bit for bit) is not run.",
    "Gradients and updates are not replayed (L0d dtype manifest, L1a gradients, L1b replay, L1c"
    " half): a difference too small for the loss of these windows is not seen, such as decay on"
    " biases.",
    "Results over several seeds (L3) are not compared; the evaluation is only reported.",
    "Data parallelism, resume and other devices are not run.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process: which target, what for, how it ended, what it traced, its own checks (L0b)."""

    name: str
    target: str
    role: Role
    execution: Execution = "native"
    outcome: Outcome
    rows: tuple[Row, ...] = ()
    checks: tuple[Check, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the trace itself stays in its own file."""
        outcome = asdict(self.outcome)
        outcome["seconds"] = round(self.outcome.seconds, 2)
        if self.outcome.complete:
            del outcome["log_tail"]  # progress with speeds, different every time
        return {
            "name": self.name,
            "target": self.target,
            "role": self.role,
            "execution": self.execution,
            "windows": len(self.rows),
            "skipped": sum(row.skipped for row in self.rows),
            "outcome": outcome,
            "checks": [check.to_json() for check in self.checks],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One window in which two traces differ, whole rows for the report."""

    run: Role
    ours: Row
    reference: Row

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "run": self.run,
            "target": self.ours.to_json(),
            "reference": self.reference.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The judgement of one target against the reference."""

    target: str
    reference: str
    verdict: Verdict
    wording: str
    checks: tuple[Check, ...] = ()
    fault_checks: tuple[Check, ...] = ()
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "target": self.target,
            "reference": self.reference,
            "verdict": self.verdict,
            "wording": self.wording,
            "checks": [check.to_json() for check in self.checks],
            "fault_checks": [check.to_json() for check in self.fault_checks],
            "differences": [difference.to_json() for difference in self.differences],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """Everything one parity run found. `reference` is None if no target came to an end."""

    recipe: str
    dtype: Dtype
    device: str
    windows: int
    threads: int
    reference: str | None
    requested_reference: str
    faults: tuple[str, ...]
    runs: tuple[Run, ...]
    pairs: tuple[Pair, ...]
    envelope: Envelope | None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return any(run.outcome.kind == "interrupted" for run in self.runs)

    def main_runs(self) -> list[Run]:
        """The plain runs, one per target."""
        return [run for run in self.runs if run.role == "main"]

    def execution(self) -> dict[str, Execution]:
        """Return how half precision was computed, by target."""
        return {run.target: run.execution for run in self.main_runs()}

    def verdicts(self) -> dict[Verdict, int]:
        """Return how many pairs got which verdict."""
        return dict(Counter(pair.verdict for pair in self.pairs))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for report.json; free of time stamps and of machine paths."""
        envelope = None
        if self.envelope:
            envelope = {
                "twins": self.envelope.twins,
                "horizon": self.envelope.horizon,
                "spread": [json_number(size) for size in self.envelope.spread],
            }
        return {
            "format": FORMAT,
            "recipe": self.recipe,
            "compute_dtype": self.dtype,
            "device": self.device,
            "execution": self.execution(),
            "windows": self.windows,
            "threads": self.threads,
            "reference": self.reference,
            "requested_reference": self.requested_reference,
            "faults": list(self.faults),
            "pairs": [pair.to_json() for pair in self.pairs],
            "runs": [run.to_json() for run in self.runs],
            "envelope": envelope,
            "levels": dict(LEVELS),
            "not_covered": list(NOT_COVERED),
        }
