"""Is every condition of the lint rules and the readers needed? Remove one at a time and run tests.

    python benchmarks/needed_conditions [MODULE ...] [--sample 40 --seed 1] [--most 250]

MODULE is a file or a folder below translator/crosscast_reading; all of `lint` and `readers` if none
is given. Modules are rewritten in memory so that each condition can be removed by a switch. Every
test is run once to record in which tests the removal changes anything; then a forked process for
each condition runs these tests without it, fastest first, until one fails. Recordings and results
are in build/needed-conditions: an interrupted run continues there. `equivalent.json` lists
conditions whose removal cannot be noticed, with reasons.

The exit status is 1 if the removal of a condition is not noticed.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from conditions import Condition
from loading import install
from records import Journal, Recording, Result
from runner import Runner
from switch import SWITCH
from table import page, report

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "translator" / "crosscast_reading"
ROOMS = ("lint", "readers")
TESTED = (*ROOMS, "readings", "lift", "migrate", "pysource", "trainstep")
TESTS = [f"tests/unit/{room}" for room in TESTED]
BUILD = ROOT / "build" / "needed-conditions"
PAGE = ROOT / "docs" / "measurements" / "needed-conditions.md"
EQUIVALENT = Path(__file__).with_name("equivalent.json")
SLOW = 10
"""How many times the recorded CPU time of its tests a process may use, and 5 seconds."""


def python_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def sources() -> list[Path]:
    """Return what decides about a recording besides the test files."""
    folders = [ROOT / "translator", ROOT / "backends", Path(__file__).parent]
    return [*sorted((ROOT / "tests").glob("*.py")), *(f for d in folders for f in python_files(d))]


def wanted(modules: Sequence[str], sample: int, seed: int) -> list[int]:
    """Return the numbers of the conditions to remove."""
    known = set(json.loads(EQUIVALENT.read_text(encoding="utf-8")))
    numbers = [
        number
        for number, condition in enumerate(SWITCH.conditions)
        if condition.key not in known
        and any((PACKAGE / condition.module).is_relative_to(PACKAGE / part) for part in modules)
    ]
    if not sample:
        return numbers
    return sorted(random.Random(seed).sample(numbers, min(sample, len(numbers))))


def run_pytest(files: Iterable[str], runner: Runner) -> None:
    """Collect the tests of files and hand them to a runner."""
    options = ["-p", "no:cacheprovider", "-qq", "-s", "-m", "not exhaustive", "--no-summary"]
    pytest.main([*options, f"--rootdir={ROOT}", *(str(ROOT / name) for name in files)], [runner])


def test_files(parts: Sequence[str]) -> list[str]:
    return [
        file.relative_to(ROOT).as_posix()
        for part in parts
        for file in python_files(ROOT / part)
        if file.name.startswith("test_")
    ]


def record(runner: Runner, recording: Recording, files: Sequence[str]) -> None:
    """Record test files."""
    for done, (name, found) in enumerate(runner.record(600.0), 1):
        if found is None:
            print(f"  {name}: its process ended early; left out", file=sys.stderr)
            continue
        for test in found.failed:
            print(f"  {test} fails by itself; left out", file=sys.stderr)
        recording.add(name, found, SWITCH.conditions)
        print(f"  recorded {done}/{len(files)} {name}", file=sys.stderr)


class Trials:
    """Removes conditions and collects what came of it."""

    def __init__(self, recording: Recording, journal: Journal, most: int) -> None:
        self.results: dict[int, Result] = {}
        self._journal = journal
        self._reached = recording.reached()
        self._tests = recording.tests(most)

    def open(self, numbers: Iterable[int]) -> list[int]:
        """Return the conditions that must be tried; the results of the others are known."""
        left = []
        for number in numbers:
            condition = SWITCH.conditions[number]
            tests = self._tests.get(condition.key, {})
            if not tests:
                reached = condition.key in self._reached
                self.results[number] = Result(condition.key, "same" if reached else "unreached")
            elif known := self._journal.find(condition, tests):
                self.results[number] = known
            else:
                left.append(number)
        return left

    def files(self, numbers: Iterable[int]) -> list[str]:
        """Return the test files that conditions need."""
        keys = {SWITCH.conditions[number].key for number in numbers}
        tests = {test for key in keys for test in self._tests[key]}
        return sorted({test.partition("::")[0] for test in tests})

    def _works(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sequence[str], float]]:
        for number in numbers:
            tests = self._tests[SWITCH.conditions[number].key]
            limit = 5 + SLOW * sum(tests.values())
            yield number, list(tests), limit

    def run(self, runner: Runner, numbers: Sequence[int]) -> None:
        """Try conditions."""
        for done, ended in enumerate(runner.notice(self._works(numbers)), 1):
            number = int(ended.name)
            condition = SWITCH.conditions[number]
            tests = self._tests[condition.key]
            by = ended.failure or ended.result
            basis = self._journal.basis(condition, [by] if "::" in by else tests)
            result = Result(condition.key, "noticed" if by else "passed", by, len(tests), basis)
            self.results[number] = result
            self._journal.add(result)
            if not by:
                print(f"  {done}/{len(numbers)} not noticed: {condition.key}", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=ROOMS, metavar="MODULE")
    parser.add_argument("--sample", type=int, default=0, help="remove that many, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files or folders of tests")
    parser.add_argument(
        "--most", type=int, default=0, help="run only that many tests for a condition, the fastest"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--older-recordings",
        action="store_true",
        help="use what tests did with other sources; for repeated runs while you write tests",
    )
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the forked processes, too
    install(PACKAGE, [file for room in ROOMS for file in python_files(PACKAGE / room)])
    recording = Recording(BUILD / "recorded.json", ROOT, sources())
    files = recording.stale(test_files(chosen.tests), other_sources=chosen.older_recordings)
    if files:
        run_pytest(files, Runner(lambda runner: record(runner, recording, files), chosen.jobs))
    trials = Trials(recording, Journal(BUILD / "results.jsonl", PACKAGE, ROOT), chosen.most)
    numbers = wanted(chosen.modules, chosen.sample, chosen.seed)
    left = trials.open(numbers)
    if left:
        run_pytest(trials.files(left), Runner(lambda runner: trials.run(runner, left), chosen.jobs))
    tried: list[tuple[Condition, Result]] = [
        (SWITCH.conditions[number], trials.results[number]) for number in numbers
    ]
    print(report(tried))
    if chosen.docs:
        PAGE.write_text(page(tried, chosen.sample, chosen.seed, chosen.most), encoding="utf-8")
    return int(any(result.outcome != "noticed" for _, result in tried))


if __name__ == "__main__":
    sys.exit(main())
