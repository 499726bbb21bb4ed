"""The harness in a folder of its own, on NumPy scripts with a bug each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast_parity.compare.command import exit_code
from crosscast_parity.compare.harness import OnProgress, compare, ignore
from crosscast_parity.judge.records import Pair, ParityReport, Run
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options, make_options
from crosscast_parity.report.files import write_report
from crosscast_parity.report.terminal import print_summary
from parity_fakes import make_recipe, write_fakes


def contestants(bugs: Mapping[str, str], recipe: Recipe) -> list[Contestant]:
    """Programs of no framework; the name of the target says which bug is in it."""
    return [Contestant(name=n, target=f"fake-{bug}", recipe=recipe) for n, bug in bugs.items()]


def compile_fakes(recipe: Recipe, targets: Sequence[str], folder: Path) -> None:
    """Write a program; it follows some fields of the recipe, and has the bug of its name."""
    (target,) = targets
    scaling = recipe.loss_scaling
    bug = target.removeprefix("fake-")
    if recipe.schedule.tick == "attempt":
        bug = "tick_on_skip"
    if recipe.accumulation.tail == "drop":
        bug = "tail_dropped"
    if scaling.mode != "dynamic":
        write_fakes(folder, {target: bug}, scaled=False)
        return
    init, interval = scaling.init_scale, scaling.growth_interval
    write_fakes(folder, {target: bug}, init=init, interval=interval)


def compare_and_report(
    programs: Sequence[Contestant], options: Options, on_progress: OnProgress = ignore
) -> int:
    """Compare fakes, write and print the report as the command does, return its exit code."""
    report = compare(programs, options=options, compile_to=compile_fakes, on_progress=on_progress)
    print_summary(report, files=[write_report(report, options.workdir)])
    return exit_code(report)


@dataclass
class Lab:
    """Runs the harness on fakes in a folder of its own; `cache`: that of the runs, if another."""

    folder: Path
    cache: Path | None = None

    def compare(
        self, bugs: Mapping[str, str], *, scaled: bool = True, windows: int = 24, **options: Any
    ) -> ParityReport:
        options = {"cache": self.cache, "check": "model", "windows": windows, **options}
        return compare(
            contestants(bugs, make_recipe(scaled=scaled)),
            options=make_options(self.folder, **options),
            compile_to=compile_fakes,
        )

    def command(self, bugs: Mapping[str, str], **options: Any) -> int:
        options = {"cache": self.cache, "check": "model", "windows": 24, **options}
        return compare_and_report(
            contestants(bugs, make_recipe()), make_options(self.folder, **options)
        )


def pair(report: ParityReport, name: str = "paddle") -> Pair:
    return next(pair for pair in report.pairs if pair.contestant == name)


def failed(found: Pair) -> set[str]:
    return {check.name for check in found.checks if check.result == "fail"}


def run(report: ParityReport, contestant: str, name: str = "main") -> Run:
    return report.runs_of("model", name)[contestant]


def names(report: ParityReport) -> set[str]:
    return {run.name for run in report.runs}
