"""Whether the models of a program that cannot be run here at least build, and make a step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crosscast.messages.diagnostics import printable
from crosscast.targets.backend import harness_of
from crosscast_parity.processes.process import Outcome
from crosscast_parity.side_by_side.running import Limits, Program, laid_out, watched

RUNNER = "runner/crosscast_parity/inside/build.py"
MOST_BYTES = 64 << 20
Tested = Literal["builds", "raises", "not tested"]
_LISTED = 3
_DAMAGES = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)


@dataclass(frozen=True, slots=True)
class BuiltPlace:
    """A line of the program and what came of it."""

    file: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What came of building the models of a program (the records: `inside.build`)."""

    models: tuple[BuiltPlace, ...] = ()
    """Where models are made that build, and the names of their classes."""
    steps: tuple[BuiltPlace, ...] = ()
    """Where steps are made, and how much of one."""
    raises: tuple[BuiltPlace, ...] = ()
    """What the framework refuses."""
    not_tested: tuple[BuiltPlace, ...] = ()
    """Statements that could not be executed here, and models of which no input is known."""
    ended: str = ""
    """Why it ended before its end; empty if it did not."""

    @property
    def outcome(self) -> Tested:
        """What is known."""
        if self.raises:
            return "raises"
        return "builds" if self.models or self.steps else "not tested"

    @property
    def wording(self) -> str:
        """What is known, and what is not, in one line."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.raises:
            yield f"raises: {_listed(self.raises)}"
        if self.models:
            yield f"builds: {_listed(self.models)}"
        if self.steps:
            yield f"makes: {_listed(self.steps)}"
        if self.not_tested:
            yield f"NOT TESTED: {_listed(self.not_tested)}"
        if self.ended:
            yield f"ended early: {self.ended}"
        if not (self.models or self.steps or self.raises or self.not_tested or self.ended):
            yield "NOT TESTED: the script makes no model"

    def to_json(self) -> dict[str, Any]:
        """Return it for JSON."""
        kinds = {name: getattr(self, name) for name in _KINDS.values()}
        return {
            "outcome": self.outcome,
            "ended": self.ended,
            **{
                name: [{"file": p.file, "line": p.line, "words": p.words} for p in places]
                for name, places in kinds.items()
            },
        }


_KINDS = {"model": "models", "step": "steps", "raises": "raises", "skipped": "not_tested"}


def build(program: Program, limits: Limits) -> Built:
    """Run a program in a new copy of its folder, past what it misses.

    Args:
        program: what is run.
        limits: when it is ended.
    """
    harness = harness_of(program.framework)
    if harness is None or harness.updates is None or not harness.has("builds"):
        return Built(ended=f"models of {program.framework} cannot be watched")
    with laid_out(program) as laid:
        if isinstance(laid, str):
            return Built(ended=laid)
        records = laid.root / "build.jsonl"
        more = {"records": str(records), "folder": str(laid.copy)}
        outcome = watched(program, laid, RUNNER, more, limits)
        return _read(records, outcome)


def _read(records: Path, outcome: Outcome) -> Built:
    """Read what was written down, as untrusted data, as far as it goes."""
    kinds: dict[str, dict[BuiltPlace, None]] = {name: {} for name in _KINDS.values()}
    lines = outcome.log_tail.strip().splitlines()
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    ended = outcome.message or f"the process ended{last}"
    try:
        if records.is_symlink() or (records.exists() and not records.is_file()):
            raise ValueError("no file")
        with records.open("rb") as file:
            text = file.read(MOST_BYTES)
        for line in text.split(b"\n")[:-1]:
            record = json.loads(line)
            kind = record["kind"]
            if kind == "end":
                ended = str(record["words"])
                ended += last if ended.startswith("SystemExit") else ""
                continue
            why = str(record.get("why", ""))
            words = str(record.get("words") or record.get("how") or record["name"])
            words = f"{words}: {why}" if why else words
            name, number = printable(str(record["file"])), int(record["line"])
            place = BuiltPlace(name, number, printable(words))
            kinds["not_tested" if why else _KINDS[kind]][place] = None
    except FileNotFoundError:
        pass
    except _DAMAGES as error:
        ended = f"its records are damaged: {error!r}"[:300]
    return Built(ended=printable(ended), **{name: tuple(each) for name, each in kinds.items()})


def _listed(places: tuple[BuiltPlace, ...]) -> str:
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return "; ".join(map(str, places[:_LISTED])) + more
