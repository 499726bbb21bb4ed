"""Compare findings of lint with labelled defects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from codes import AUDITED, MEANS
from corpus import Entry
from predicted import Prediction

SERIOUS = ("error", "warning")


@dataclass(frozen=True)
class Found:
    """One finding, as far as it is scored."""

    code: str
    severity: str
    file: str
    line: int
    message: str
    related: tuple[tuple[str, int], ...] = ()
    """The other places that it points to: file and line."""

    def lines_in(self, path: str) -> list[int]:
        """Return where it points to a file."""
        own = [self.line] if self.file == path else []
        return own + [line for file, line in self.related if file == path]


@dataclass
class Defects:
    """Counts of one run."""

    counts: Counter[str] = field(default_factory=Counter)
    clean_files: int = 0
    clean_alarms: int = 0
    files: int = 0
    alarmed: set[str] = field(default_factory=set)
    shown: list[tuple[str, str, str]] = field(default_factory=list)


def score_defects(entry: Entry, prediction: Prediction, into: Defects) -> None:
    """Add the findings in one entry."""
    into.files += 1
    findings: Sequence[Found] = [f for f in prediction.findings if f.file == entry.path]
    # Of two places that contradict each other, the labels name one and a rule the other.
    pointing = [f for f in prediction.findings if f.lines_in(entry.path)]
    matched: set[Found] = set()
    for bug in entry.data["bugs"]:
        hits = [f for f in pointing if _matches(f, entry.path, bug["code"], bug["lines"])]
        matched.update(hits)
        severity = bug["severity"]
        into.counts[f"{severity} total"] += 1
        into.counts[f"{severity} found"] += bool(hits)
        if not hits and severity != "info":
            text = f"missed {severity} {bug['code']} at {bug['lines']}: {bug['note']}"
            near = [f"{f.code}:{f.line}" for f in findings if bug["code"] in MEANS.get(f.code, ())]
            into.shown.append((entry.id, "defect", f"{text} {near or ''}"))
    serious = {b["severity"] for b in entry.data["bugs"]} & {"error", "warn"}
    clean = not serious
    into.clean_files += clean
    tolerated = set(entry.data["tolerated"])
    for finding in findings:
        if finding in matched or finding.severity not in SERIOUS:
            continue
        classes = set(MEANS.get(finding.code, ()))
        text = f"{finding.code} {finding.severity} line {finding.line}: {finding.message}"
        if classes & tolerated:
            continue
        if classes & AUDITED:
            into.counts["false alarms"] += 1
            into.clean_alarms += clean
            into.alarmed.add(entry.id)
            into.shown.append((entry.id, "false alarm", text))
        else:
            into.counts["to be judged"] += 1
            into.shown.append((entry.id, "to be judged", text))


def _matches(found: Found, path: str, code: str, lines: Sequence[int]) -> bool:
    if code not in MEANS.get(found.code, (found.code,)):
        return False
    # Within a file, a finding stands where it should.
    places = found.lines_in(path)[: 1 if found.file == path else None]
    return not lines or any(abs(place - line) <= 5 for place in places for line in lines)
