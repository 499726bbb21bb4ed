"""Plant bugs in the scripts of a framework and let the quick check look at them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS, Level
from crosscast_parity.compare.harness import OnProgress, compare, ignore
from crosscast_parity.judge.records import Pair, ParityReport, Run
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import TRAJECTORY, make_stages, toy_stages
from crosscast_parity.recipes.derived import with_seed
from crosscast_parity.runs.workspace import CompileTo
from crosscast_parity.self_test.mutation import Mutation, apply
from mutants.practice import T_TEST, alarms, means_differ

RECIPE = Path(__file__).with_name("recipe.yaml")
REFERENCE, CLEAN = "torch", "clean"
QUICK = "tiny"
"""Stage of the quick check that a small recipe has, besides those of the toy."""
AT_ONCE = 6
"""Bugs of one comparison: they share processes, and memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What saw a bug. `first`: the lowest failed check in words. `practice`: rules that saw it.

    `levels`: of the quick check. `seeds`: what the paired seeds said, if there were any.
    """

    name: str
    levels: tuple[Level, ...]
    verdict: str
    first: str
    practice: tuple[str, ...]
    seeds: str = ""


@cache
def load_recipe() -> Recipe:
    """Return the recipe that all bugs are planted in the scripts of."""
    return load(str(RECIPE))


def quick_stages(recipe: Recipe, twins: int) -> list[Stage]:
    """Return the stages of the quick check, with `--stress`, on a small model and on the toy."""
    quick = make_stages(recipe, "quick", windows=None, twins=twins, stress=True)
    return [*quick[:1], *toy_stages()]


class Plant:
    """Edits the emitted folders of a program and remembers whether a bug is in one of them."""

    def __init__(self, bug: Mutation) -> None:
        self.bug = bug
        self.planted = False

    def __call__(self, folder: Path) -> None:
        self.planted |= apply(self.bug, folder)


class Laboratory:
    """One framework's scripts and the clean reference; all bugs share the reference's runs."""

    def __init__(
        self,
        framework: str,
        options: Options,
        compile_to: CompileTo,
        *,
        seeds: int = 0,
        by_parts: bool = False,
        on_progress: OnProgress = ignore,
    ) -> None:
        self.recipe = load_recipe()
        self.framework = framework
        self._options = replace(options, stress=True, reference=REFERENCE)
        self._compile_to = compile_to
        self._on_progress = on_progress
        self._stages = [*quick_stages(self.recipe, options.twins), *_seed_stages(seeds)]
        self._by_parts = by_parts
        self._kept: set[str] = set()

    def clean(self) -> Trial:
        """Try the script as it was emitted; whatever sees a bug in it gives a false alarm."""
        report = self._compare([], self._stages)
        self._kept = self._stored()
        return trial_of(report, CLEAN)

    def trials(self, bugs: Sequence[Mutation], *, keep: bool) -> Iterator[Trial]:
        """Try bugs.

        By parts, a bug goes through the toy, then the course of the small model, then the whole
        check, and stops where it is seen: its levels are those of that part.

        Args:
            bugs: what to plant, one at a time.
            keep: leave the recordings of the runs on disk, which are large.

        Raises:
            RuntimeError: a bug was planted in no script.
        """
        for stages in self._parts() if self._by_parts else ():
            seen = set()
            for trial in self._tried(bugs, stages, keep=keep):
                if trial.levels:
                    seen.add(trial.name)
                    yield trial
            bugs = [bug for bug in bugs if bug.name not in seen]
        yield from self._tried(bugs, self._stages, keep=keep)

    def _parts(self) -> Iterator[Sequence[Stage]]:
        yield toy_stages()
        yield [replace(self._stages[0], parts=TRAJECTORY)]

    def _tried(
        self, bugs: Sequence[Mutation], stages: Sequence[Stage], *, keep: bool
    ) -> Iterator[Trial]:
        for start in range(0, len(bugs), AT_ONCE):
            plants = [Plant(bug) for bug in bugs[start : start + AT_ONCE]]
            report = self._compare(plants, stages)
            for plant in plants:
                # A part may lack the script that the bug is for.
                if not plant.planted and stages is self._stages:
                    raise RuntimeError(f"{self.framework}: {plant.bug.name} is in no script")
                yield trial_of(report, plant.bug.name)
            if not keep:
                self._clear()

    def _compare(self, plants: Sequence[Plant], stages: Sequence[Stage]) -> ParityReport:
        program = partial(Contestant, recipe=self.recipe)
        return compare(
            [
                program(name=REFERENCE, target="torch"),
                program(name=CLEAN, target=self.framework),
                *(
                    program(name=plant.bug.name, target=self.framework, edits=(plant,))
                    for plant in plants
                ),
            ],
            options=self._options,
            compile_to=self._compile_to,
            on_progress=self._on_progress,
            stages=stages,
        )

    def _stored(self) -> set[str]:
        return {path.name for path in self._runs.glob("*")}

    @property
    def _runs(self) -> Path:
        return self._options.cache or self._options.workdir / "runs"

    def _clear(self) -> None:
        for name in self._stored() - self._kept:
            shutil.rmtree(self._runs / name, ignore_errors=True)


def _seed_stages(count: int) -> list[Stage]:
    return [
        Stage(
            name=f"seed-{seed}",
            parts=frozenset({"trajectory"}),
            windows=64,
            derive=partial(with_seed, seed=seed),
            twins=0,
            seed=seed,
        )
        for seed in range(1, count + 1)
    ]


def trial_of(report: ParityReport, name: str) -> Trial:
    """Return the result of a comparison with a bug.

    Raises:
        KeyboardInterrupt: the comparison was stopped by the user.
    """
    if report.interrupted:
        raise KeyboardInterrupt
    pair = next(pair for pair in report.pairs if pair.contestant == name)
    # The stages of the paired seeds are no part of the quick check.
    seeded = {stage.name for stage in report.stages if stage.seed is not None}
    failed = [c for c in pair.checks if c.result == "fail" and c.stage not in {*seeded, ""}]
    found = {check.level for check in failed}
    # Common rules look at the course of the small model, where a bug of the toy was not planted.
    whole = any(stage.name == QUICK for stage in report.stages)
    alarmed = _alarms(report, name) if whole else ()
    practice = [*alarmed, *([T_TEST] if _t_test(report, name) else [])]
    return Trial(
        name=name,
        levels=tuple(level for level in LEVELS if level in found),
        verdict=pair.verdict,
        first=_words(failed[0]) if failed else pair.wording,
        practice=tuple(practice),
        seeds=_seeds(pair),
    )


def _words(check: Check) -> str:
    where = f"{check.stage}/{check.run}" if check.stage != QUICK else check.run
    return f"{check.level} {check.name} ({where}): {check.wording}"


def _alarms(report: ParityReport, name: str) -> tuple[str, ...]:
    runs = report.runs_of(QUICK, "main")
    return alarms(runs[name], runs[REFERENCE])


def _t_test(report: ParityReport, name: str) -> bool:
    ours, reference = (_final_losses(report, contestant) for contestant in (name, REFERENCE))
    return len(ours) > 1 and len(reference) > 1 and means_differ(ours, reference)


def _final_losses(report: ParityReport, name: str) -> list[float]:
    seeds = {stage.name for stage in report.stages if stage.seed is not None}
    seeded = [run for run in report.runs if run.contestant == name and run.stage in seeds]
    return [loss for loss in map(_final_loss, seeded) if loss is not None]


def _final_loss(run: Run) -> float | None:
    status = run.outcome.status
    return status.eval.loss if status and status.eval else None


def _seeds(pair: Pair) -> str:
    """Return `different`, `equivalent` or `inconclusive`; empty without seeds."""
    results = {check.result for check in pair.checks if check.level == "L3"}
    if not results - {"not tested"}:
        return ""
    return (
        "different"
        if "fail" in results
        else "equivalent"
        if results == {"pass"}
        else "inconclusive"
    )
