"""Differential testing from the command line: `make fuzz`, with flags in `FUZZ="..."`.

Draws recipes and courses of runs, lets the emitted steps of all targets run them, and holds every
window against the reference. A mismatch is shrunk, written to files, and reported with the command
that runs it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from crosscast.targets.capability import Verdict
from fuzz.cases import Case, cases, load
from fuzz.differ import Bench, Outcome, examine

SHRINK_SECONDS = 120.0
FAILURES = Path("build/fuzz")
Key = tuple[str, str]
"""Target and kind of problem."""


class Found(Exception):
    """Tells Hypothesis that a case still shows the problem."""


@dataclass
class Tally:
    """What became of all cases on one target."""

    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    ran: int = 0
    undecided: int = 0
    beyond: int = 0
    problems: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    used: float = 0.0
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count one case."""
        self.verdicts[outcome.verdict] += 1
        self.ran += outcome.ran
        self.undecided += outcome.undecided
        self.beyond += outcome.beyond
        self.problems += bool(outcome.problems)
        for code in outcome.codes:
            self.codes[code] = self.codes.get(code, 0) + 1
        self.used = max(self.used, outcome.used)
        self.seconds += outcome.seconds

    def line(self, target: str) -> str:
        """Return the summary."""
        total = sum(self.verdicts.values())
        refused = self.verdicts[Verdict.UNSUPPORTED]
        counts = ", ".join(f"{n} {v}" for v, n in self.verdicts.items() if v != "unsupported")
        codes = ", ".join(f"{code} {count}" for code, count in sorted(self.codes.items()))
        return (
            f"{target}: {total} recipes: {counts}, {refused} refused ({refused / total:.1%}"
            f"{': ' + codes if codes else ''}); {self.ran} ran, {self.beyond} of them compared up"
            f" to an unchecked overflow, {self.undecided} up to a skip that one ulp decides; at"
            f" most {self.used:.0%} of the bound used; {self.problems} mismatches;"
            f" {self.seconds:.0f} s"
        )


@dataclass
class Session:
    """Everything one invocation collects."""

    bench: Bench
    targets: Sequence[str]
    tallies: dict[str, Tally]
    failures: dict[Key, Case] = field(default_factory=dict)
    details: dict[Key, str] = field(default_factory=dict)
    seen: dict[tuple[str, str], list[Outcome]] = field(default_factory=dict)

    def examine(self, case: Case) -> list[Outcome]:
        """Run a case on all targets and take note."""
        outcomes = examine(self.bench, case, self.targets)
        self.seen[case.texts()] = outcomes
        for outcome in outcomes:
            self.tallies[outcome.target].add(outcome)
            if outcome.problems:
                key = (outcome.target, outcome.kind)
                if key not in self.failures:
                    print(f"{key[0]}: {outcome.problems[0]}", flush=True)
                self.failures.setdefault(key, case)
                self.details.setdefault(key, "\n".join(outcome.problems[:5]))
        return outcomes

    def shows(self, case: Case, key: Key) -> bool:
        """Whether a case has a problem of that kind."""
        known = self.seen.get(case.texts())
        outcomes = known or examine(self.bench, case, [key[0]])
        self.seen.setdefault(case.texts(), outcomes)
        return any(
            (outcome.target, outcome.kind) == key for outcome in outcomes if outcome.problems
        )


def draw(count: int, number: int, phases: Sequence[Phase], body: Callable[[Case], None]) -> None:
    """Call `body` with `count` cases; the same number gives the same cases."""
    quiet = settings(
        max_examples=count,
        phases=phases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    seed(number)(quiet(given(cases())(body)))()


def shrink(session: Session, key: Key, count: int, number: int) -> Case:
    """Return the smallest case with a problem that can be found in some time."""
    best, until = session.failures[key], time.monotonic() + SHRINK_SECONDS

    def body(case: Case) -> None:
        nonlocal best
        if time.monotonic() < until and session.shows(case, key):
            if sum(map(len, case.texts())) <= sum(map(len, best.texts())):
                best = case
            raise Found

    # Besides Found: when the time is over, the last case no longer fails, and Hypothesis says so.
    with suppress(Exception):
        draw(count, number, (Phase.generate, Phase.shrink), body)
    return best


def fuzz(session: Session, count: int, number: int) -> None:
    """Run that many cases and report every kind of problem once."""
    began, done = time.monotonic(), 0

    def body(case: Case) -> None:
        nonlocal done
        session.examine(case)
        done += 1
        if done % 25 == 0:
            problems = sum(tally.problems for tally in session.tallies.values())
            spent = time.monotonic() - began
            print(f"{done} of {count} recipes, {problems} mismatches, {spent:.0f} s", flush=True)

    draw(count, number, (Phase.generate,), body)
    for index, key in enumerate(list(session.failures), start=1):
        print(f"\nmismatch {index} on {key[0]}:\n{session.details[key]}", flush=True)
        smallest = shrink(session, key, count, number)
        recipe, faults = smallest.save(FAILURES, f"{key[0].replace('@', '-')}-{number}-{index}")
        print(f"the smallest recipe that shows it:\n{smallest.texts()[0]}")
        print(f'again: make fuzz FUZZ="--targets {key[0]} --recipe {recipe} --faults {faults}"')


def again(session: Session, case: Case) -> None:
    """Run one case and print what differs."""
    for outcome in session.examine(case):
        for problem in outcome.problems:
            print(f"{outcome.target}: {problem}")


def main() -> int:
    """Run and return 1 if anything differed."""
    parser = argparse.ArgumentParser(description=__doc__, prog="fuzz.run")
    parser.add_argument("--examples", type=int, default=300, help="recipes to draw")
    parser.add_argument(
        "--targets", default="torch,tensorflow,paddle,jax", help="with commas between"
    )
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="for PyTorch")
    parser.add_argument("--seed", type=int, default=0, help="the same gives the same recipes")
    parser.add_argument("--recipe", type=Path, help="run this recipe instead, with --faults")
    parser.add_argument("--faults", type=Path, help="the course of its run")
    flags = parser.parse_args()
    if bool(flags.recipe) != bool(flags.faults):
        parser.error("--recipe and --faults go together")
    targets = flags.targets.split(",")
    bench = Bench(gpu=flags.device == "gpu")
    session = Session(bench, targets, {target: Tally() for target in targets})
    try:
        if flags.recipe:
            again(session, load(flags.recipe, flags.faults))
        else:
            fuzz(session, flags.examples, flags.seed)
    finally:
        bench.stop()
    print()
    for target, tally in session.tallies.items():
        print(tally.line(target))
    return int(bool(session.failures))


if __name__ == "__main__":
    sys.exit(main())
