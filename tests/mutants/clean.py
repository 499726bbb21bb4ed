"""The false alarms from the command line: `make false-alarms`, with flags in `ALARMS="..."`.

Compares correct programs with each other, over seeds, orders, recipes, types, threads, kernels,
emulation and rewritten scripts. Every failed check is a false alarm. Finished comparisons stay in
tests/mutants/results, so an interrupted matrix goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from crosscast_parity.checks.check import Check
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options, make_options
from crosscast_parity.planning.runs import Stage
from crosscast_parity.runs.kept_reference import stored_contestant
from mutants.alarms_page import page
from mutants.emitted import compile_to
from mutants.journal import RESULTS, Journal
from mutants.settings import FRAMEWORKS, Group, Program, Setting, groups
from mutants.trials import AT_ONCE, Plant, quick_stages

REFERENCE = "torch"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "false-alarms.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two correct programs. `alarms`: failed checks in words. `used`: of every limit, by check."""

    group: str
    setting: str
    framework: str
    verdict: str
    wording: str
    alarms: tuple[str, ...] = ()
    used: Mapping[str, float] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Make all comparisons; return 1 if one of them raised an alarm."""
    parser = argparse.ArgumentParser(prog="make false-alarms", description=__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="TEXT", help="groups with this text in their name")
    add("--settings", default="", metavar="TEXT", help="what is varied, with this text in its name")
    add("--frameworks", default="", metavar="F,...", help="only these beside the reference")
    add("--jobs", type=int, default=2, help="parallel processes")
    add("--output", type=Path, default=Path("build/false-alarms"))
    add("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    journal = Journal(RESULTS / "false-alarms.json", FRAMEWORKS)
    found: list[Comparison] = []
    for group in groups():
        if options.only in group.name:
            wanted = tuple(chosen for chosen in group.settings if options.settings in chosen.name)
            if options.frameworks:
                wanted = tuple(_only(wanted, options.frameworks.split(",")))
            chosen = replace(group, settings=wanted)
            found += _of_group(chosen, options.output, options.jobs, journal)
    plain = [asdict(trial) for trial in found]
    (options.output / "false-alarms.json").write_text(json.dumps(plain, indent=1) + "\n")
    text = page(plain)
    (options.output / "false-alarms.md").write_text(text)
    if options.docs:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return int(any(trial.alarms for trial in found))


def _only(settings: Sequence[Setting], frameworks: Sequence[str]) -> Iterator[Setting]:
    """Yield the settings that have one of these frameworks, without the others."""
    for setting in settings:
        kept = tuple(name for name in setting.frameworks if name in frameworks)
        if kept:
            yield replace(setting, frameworks=kept)


def _of_group(group: Group, output: Path, jobs: int, journal: Journal) -> Iterator[Comparison]:
    """Yield the comparisons of a group; make the reference only if one of them is missing."""
    keys = {
        setting.name: {"group": group.name, "setting": repr(setting), "recipe": repr(group.recipe)}
        for setting in group.settings
    }
    missing = [wanted for wanted in group.settings if journal.find(keys[wanted.name]) is None]
    if missing:
        with Bench(group, output / "work", jobs) as bench:
            for setting in missing:
                made = [asdict(trial) for trial in bench.compare(setting)]
                journal.add(keys[setting.name], {"comparisons": made})
    for setting in group.settings:
        known = journal.find(keys[setting.name])
        for plain in known["comparisons"] if known else ():
            yield Comparison(**{**plain, "alarms": tuple(plain["alarms"])})


class Bench:
    """A folder with the reference of a group; it is emptied afterwards."""

    def __init__(self, group: Group, folder: Path, jobs: int) -> None:
        self._group = group
        self._folder = folder
        self._options: Options = replace(make_options(folder, jobs=jobs), stress=True)

    def __enter__(self) -> Bench:
        shutil.rmtree(self._folder, ignore_errors=True)
        kept = replace(self._options, save_reference=self._folder / "kept")
        # A second program, without which the perturbed runs are not needed.
        twice = [self._program("torch", name) for name in (REFERENCE, "again")]
        compare(twice, options=kept, compile_to=compile_to, stages=self._stages)
        return self

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _stages(self) -> list[Stage]:
        return quick_stages(self._group.recipe, self._options.twins)

    def compare(self, setting: Setting) -> Iterator[Comparison]:
        """Compare the programs of a setting with the reference.

        Raises:
            RuntimeError: a rewrite fits no script.
        """
        programs = setting.programs
        for start in range(0, len(programs), AT_ONCE):
            yield from self._compare(setting, programs[start : start + AT_ONCE])

    def _compare(self, setting: Setting, programs: Sequence[Program]) -> Iterator[Comparison]:
        reference = stored_contestant(self._folder / "kept", ())
        plants = [Plant(rewrite) if rewrite else None for _, rewrite in programs]
        entrants = [
            self._program(framework, f"new-{framework}-{number}", plant)
            for number, ((framework, _), plant) in enumerate(zip(programs, plants, strict=True))
        ]
        report = compare(
            [reference, *entrants],
            options=replace(setting.apply(self._options), reference=reference.name),
            compile_to=compile_to,
            stages=self._stages,
        )
        if report.interrupted:
            raise KeyboardInterrupt
        for (framework, _), plant, pair in zip(programs, plants, report.pairs, strict=True):
            if plant and not plant.planted:
                raise RuntimeError(f"{framework}: {plant.bug.name} is in no script")
            varied = f"rewritten: {plant.bug.title}" if plant else setting.name
            trial = _comparison(self._group, varied, report, framework, pair)
            _tell(trial)
            yield trial

    def _program(self, target: str, name: str, plant: Plant | None = None) -> Contestant:
        edits = (plant,) if plant else ()
        return Contestant(name=name, target=target, recipe=self._group.recipe, edits=edits)


def _comparison(
    group: Group, varied: str, report: ParityReport, framework: str, pair: Pair
) -> Comparison:
    alarms = tuple(_words(check) for check in pair.checks if check.result == "fail")
    if report.reference != REFERENCE:
        alarms = (*alarms, "the reference came to no end")
    return Comparison(
        group=group.name,
        setting=varied,
        framework=framework,
        verdict=pair.verdict,
        wording=pair.wording,
        alarms=alarms,
        used=_used(pair.checks),
    )


def _used(checks: Sequence[Check]) -> dict[str, float]:
    """Return the largest share of its limit that every kind of check came to."""
    used: dict[str, float] = {}
    for check in checks:
        if check.limit and check.value is not None and math.isfinite(check.value):
            name = f"{check.level} {check.name}"
            used[name] = max(used.get(name, 0.0), check.value / check.limit)
    return used


def _words(check: Check) -> str:
    return f"{check.level} {check.name} ({check.run}): {check.wording}"


def _tell(comparison: Comparison) -> None:
    words = "; ".join(comparison.alarms) or "no alarm"
    where = f"{comparison.group}, {comparison.setting}, {comparison.framework}"
    print(f"{where}: {comparison.verdict}, {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
