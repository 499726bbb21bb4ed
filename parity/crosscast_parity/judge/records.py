"""Records of a comparison: programs, runs, pairs and the report, also as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check, json_number
from crosscast_parity.checks.kinds import LEVELS, Level
from crosscast_parity.checks.table import GAPS
from crosscast_parity.levels.envelope import Envelope
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.runs import STEPS
from crosscast_parity.processes.process import Outcome
from crosscast_parity.recordings.trace import TraceRow

ComparisonVerdict = Literal["EQUIVALENT", "DIFFERENT", "INCONCLUSIVE", "NOT TESTED", "ERROR"]
TensorErrors = Mapping[str, float]
"""Relative error of the first gradient, by parameter."""

FORMAT = 3
REFUSED = {"faults": "faults need the functions", STEPS: "the toy "}
"""How a session begins to say that a script has no place for faults or for the toy, by run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training of one program; `cached` if it was made by an earlier comparison."""

    contestant: str
    stage: str
    name: str
    execution: Execution = "native"
    outcome: Outcome
    rows: tuple[TraceRow, ...] = ()
    cached: bool = False
    folder: Path | None = field(default=None, compare=False)
    """Where its files are; no part of report.json."""

    @property
    def needless(self) -> bool:
        """Whether the script has no place for what the run gives it: no error."""
        begins = REFUSED.get(self.name)
        return (
            begins is not None
            and self.outcome.kind == "cannot_run"
            and self.outcome.message.startswith(begins)
        )

    @property
    def title(self) -> str:
        """What it is called in messages: `torch tiny/main`."""
        return f"{self.contestant} {self.stage}/{self.name}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the trace itself stays in its own file."""
        outcome = asdict(self.outcome)
        outcome["seconds"] = round(self.outcome.seconds, 2)
        if self.outcome.complete:
            del outcome["log_tail"]  # progress with speeds, different every time
        return {
            "contestant": self.contestant,
            "stage": self.stage,
            "name": self.name,
            "execution": self.execution,
            "windows": len(self.rows),
            "skipped": sum(row.skipped for row in self.rows),
            "cached": self.cached,
            "outcome": outcome,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One window in which two traces differ, whole rows for the report."""

    stage: str
    run: str
    ours: TraceRow
    reference: TraceRow

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "stage": self.stage,
            "run": self.run,
            "ours": self.ours.to_json(),
            "reference": self.reference.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A program that took part, and its checks that need no other program."""

    name: str
    target: str
    framework: str
    recipe: str
    execution: Execution = "native"
    script: str = ""
    """Short hash of its main script and model; a path if it is a user's own."""
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "target": self.target,
            "framework": self.framework,
            "recipe": self.recipe,
            "execution": self.execution,
            "script": self.script,
            "device": self.device,
            "versions": dict(self.versions),
            "checks": [check.to_json() for check in self.checks],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The judgement of one program against the reference.

    `tensor_errors`: of the first gradient, by `stage/run`. `differences`: first differing rows.
    """

    contestant: str
    reference: str
    verdict: ComparisonVerdict
    wording: str
    checks: tuple[Check, ...] = ()
    differences: tuple[Difference, ...] = ()
    tensor_errors: Mapping[str, TensorErrors] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "contestant": self.contestant,
            "reference": self.reference,
            "verdict": self.verdict,
            "wording": self.wording,
            "checks": [check.to_json() for check in self.checks],
            "differences": [difference.to_json() for difference in self.differences],
            "tensor_errors": {
                run: {name: json_number(size) for name, size in errors.items()}
                for run, errors in self.tensor_errors.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One size, seed and precision that was compared."""

    name: str
    title: str
    dtype: Dtype
    windows: int
    weights: int
    eval_rows: int | None = None
    faults: tuple[str, ...] = ()
    seed: int | None = None
    envelope: Envelope | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        envelope = None
        if self.envelope:
            envelope = {
                "twins": self.envelope.twins,
                "horizon": self.envelope.horizon,
                "spread": [json_number(size) for size in self.envelope.spread],
            }
        return {
            "name": self.name,
            "title": self.title,
            "compute_dtype": self.dtype,
            "windows": self.windows,
            "weights": self.weights,
            "eval_rows": self.eval_rows,
            "faults": list(self.faults),
            "seed": self.seed,
            "envelope": envelope,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldExercise:
    """Whether the runs could have shown a wrong value of a recipe's field, and how."""

    field: str
    exercised: bool
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionStep:
    """One set of changed fields that was tried, and the gap that was left.

    `gap`: 1 for every check that fails, and by how many powers of ten it is over its limit; 0 if
    nothing was left. `level`: level and name of the check that `value` and `limit` are of.
    """

    changes: tuple[str, ...]
    gap: float
    level: str
    value: float | None = None
    limit: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        document = {key: json_number(value) for key, value in asdict(self).items()}
        return document | {"changes": list(self.changes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionRecord:
    """What explains a difference: a smallest set of fields, or none, with all that was tried."""

    contestant: str
    reference: str
    fields: tuple[str, ...]
    wording: str
    steps: tuple[BisectionStep, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "contestant": self.contestant,
            "reference": self.reference,
            "fields": list(self.fields),
            "wording": self.wording,
            "steps": [step.to_json() for step in self.steps],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRecord:
    """A bug that the self-test planted: the level that must detect it, and the levels that did."""

    program: str
    title: str
    level: Level
    seen: tuple[Level, ...]

    @property
    def caught(self) -> bool:
        """Whether its own level saw it."""
        return self.level in self.seen

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "seen": list(self.seen), "caught": self.caught}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """Everything one comparison found. `reference` is None if no program came to an end."""

    recipe: str
    check: str
    device: str
    threads: int
    reference: str | None
    requested_reference: str
    entrants: tuple[Entrant, ...]
    stages: tuple[StageRecord, ...]
    runs: tuple[Run, ...]
    pairs: tuple[Pair, ...]
    stress: tuple[str, ...] = ()
    """What `--stress` changed in the recipe, in words."""
    left_out: tuple[str, ...] = ()
    """What of the recipe was not run, in words."""
    exercise: tuple[FieldExercise, ...] = ()
    by_design: tuple[str, ...] = ()
    """Of the fields that were not exercised, those that cannot make the programs differ."""
    bisections: tuple[BisectionRecord, ...] = ()
    self_test: tuple[CanaryRecord, ...] = ()
    command: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return any(run.outcome.kind == "interrupted" for run in self.runs)

    def runs_of(self, stage: str, name: str) -> dict[str, Run]:
        """Return the runs of one name, by contestant."""
        runs = (run for run in self.runs if (run.stage, run.name) == (stage, name))
        return {run.contestant: run for run in runs}

    def entrant(self, name: str) -> Entrant:
        """Return a program by its name."""
        return next(entrant for entrant in self.entrants if entrant.name == name)

    def verdicts(self) -> dict[ComparisonVerdict, int]:
        """Return how many pairs got which verdict."""
        return dict(Counter(pair.verdict for pair in self.pairs))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for report.json; free of time stamps and of machine paths."""
        return {
            "format": FORMAT,
            "recipe": self.recipe,
            "check": self.check,
            "device": self.device,
            "threads": self.threads,
            "reference": self.reference,
            "requested_reference": self.requested_reference,
            "entrants": [entrant.to_json() for entrant in self.entrants],
            "stages": [stage.to_json() for stage in self.stages],
            "pairs": [pair.to_json() for pair in self.pairs],
            "runs": [run.to_json() for run in self.runs],
            "stress": list(self.stress),
            "left_out": list(self.left_out),
            "exercise": [field.to_json() for field in self.exercise],
            "bisections": [bisection.to_json() for bisection in self.bisections],
            "self_test": [canary.to_json() for canary in self.self_test],
            "levels": dict(LEVELS),
            "not_covered": [gap.what for gap in GAPS],
            "command": self.command,
        }
