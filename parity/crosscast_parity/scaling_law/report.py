"""The report: records, JSON, and a table within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crosscast.messages.text_tables import layout
from crosscast_parity.checks.check import Check, json_number
from crosscast_parity.processes.process import Outcome
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.shapes import Shape

ScalingVerdict = Literal["EQUAL", "DIFFERENT", "INCONCLUSIVE", "NOT TESTED", "ERROR"]
WIDTH = 80
SHOWN = 4
"""Failed checks that are shown of a run; JSON has them all."""
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("data", ("data", "rows", "micro-batches")),
    ("trace", ("end", "skipped", "updates", "scale", "learning rate", "scale by the recipe",
               "overflows skipped")),
    ("agree", ("processes agree on the trace", "processes hold the same state")),
    ("loss", ("loss",)),
    ("norm", ("gradient norm",)),
    ("state", ("weights", "moments", "averages")),
)  # fmt: skip
"""Columns of the table and the checks that stand behind each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeReport:
    """One run held against the reference of its scene."""

    scene: str
    shape: Shape
    outcome: Outcome
    checks: tuple[Check, ...]
    cause: str

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that show a difference."""
        return tuple(check for check in self.checks if check.result == "fail")

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "scene": self.scene,
            "processes": self.shape.processes,
            "steps": self.shape.steps,
            "micro_batch_size": self.shape.micro,
            "outcome": self.outcome.kind,
            "message": self.outcome.message,
            "seconds": round(self.outcome.seconds, 3),
            "checks": [check.to_json() for check in self.checks],
            "cause": self.cause,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetReport:
    """What came of a target.

    `wording`: the verdict in a sentence. `code`: of the diagnostic, where it was not tested.
    `horizon`: windows that were compared.
    """

    target: str
    verdict: ScalingVerdict
    wording: str
    code: str = ""
    half: str = ""
    horizon: int = 0
    runs: tuple[ShapeReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "target": self.target,
            "verdict": self.verdict,
            "wording": self.wording,
            "code": self.code,
            "half_precision": self.half,
            "compared_windows": self.horizon,
            "runs": [run.to_json() for run in self.runs],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingReport:
    """The whole answer of `check-scaling`."""

    name: str
    subject: Subject
    targets: tuple[TargetReport, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the keys are described in docs/reference/scaling-law.md."""
        first, *others = self.subject.shapes
        return {
            "version": 1,
            "recipe": self.name,
            "windows": self.subject.windows,
            "reference": str(first),
            "shapes": [str(shape) for shape in others],
            "changes": list(self.subject.changes),
            "exemptions": [
                {
                    "kind": exemption.kind,
                    "rows": exemption.rows,
                    "shape": str(exemption.shape),
                    "words": exemption.words,
                }
                for exemption in self.subject.exemptions
            ],
            "targets": [target.to_json() for target in self.targets],
        }

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of at most 80 columns."""
        for target in self.targets:
            yield from _target(target, self.subject)
        for exemption in self.subject.exemptions:
            yield from _wrapped(f"not the same by design: {exemption.words}")
        for words in self.subject.changes:
            yield from _wrapped(f"changed: {words}")


def _target(target: TargetReport, subject: Subject) -> Iterator[str]:
    yield f"{target.target}: {target.verdict}"
    yield from _wrapped(target.wording, "  ")
    if not target.runs:
        return
    yield from _wrapped(f"against {subject.shapes[0]}, {subject.windows} windows:", "  ")
    columns = ("run", *(name for name, _ in GROUPS))
    rows = [(f"{r.scene}: {r.shape}", *_cells(r.checks)) for r in target.runs]
    table = layout(columns, rows)
    yield from (f"  {line}".rstrip() for line in (*table.head, *table.rows))
    for run in target.runs:
        for check in run.failed[:SHOWN]:
            yield from _wrapped(f"{run.scene}, {run.shape}: {check.name}: {check.wording}", "  ")
        if len(run.failed) > SHOWN:
            yield f"    and {len(run.failed) - SHOWN} more: see --json"
        if run.cause:
            yield from _wrapped(f"likely cause: {run.cause}", "    ")


def _cells(checks: Sequence[Check]) -> Iterator[str]:
    """Yield for every column FAIL, `equal`, or the worst share of a limit."""
    for _, names in GROUPS:
        judged = [check for check in checks if check.name in names and check.result != "info"]
        shares = [c.value for c in judged if c.limit == 1.0 and c.value is not None]
        if not judged:
            yield "-"
        elif any(check.result == "fail" for check in judged):
            yield "FAIL"
        elif all(check.result == "unclear" for check in judged):
            yield "?"
        else:
            yield f"{json_number(max(shares)):.2g}" if shares else "equal"


def _wrapped(text: str, indent: str = "") -> list[str]:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return textwrap.wrap(
        plain,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )
