"""The mutation score as plain data and as the page docs/measurements/mutation-score.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from crosscast_parity.checks.kinds import LEVELS, Level
from mutants.catalogue import BUGS
from mutants.explained import SURVIVORS
from mutants.practice import T_TEST, titles
from mutants.trials import CLEAN, Trial

Trials = Mapping[str, Sequence[Trial]]
"""By framework; the clean script is one of them."""
TRAINCHECK = (
    "TrainCheck 0.2.0 has no row. It traces the emitted PyTorch script if its docstring and its",
    "`__future__` import are removed (24 s of CPU time for 5 windows, 57 s for 20), but its",
    "inference of invariants had not finished after 99 s and 161 s of CPU time and was stopped.",
)
SHOWN: tuple[Level, ...] = tuple(level for level in LEVELS if level not in ("L3", "result"))


def to_json(trials: Trials) -> dict[str, Any]:
    """Return plain data, free of time stamps and of machine paths."""
    return {
        framework: {
            "bugs": [_plain(trial) for trial in found if trial.name != CLEAN],
            "clean": [asdict(trial) for trial in found if trial.name == CLEAN],
        }
        for framework, found in trials.items()
    }


def _plain(trial: Trial) -> dict[str, Any]:
    bug = BUGS[trial.name]
    words = {"title": bug.title, "field": bug.field, "expected": list(bug.expected)}
    return asdict(trial) | words | {"caught": bool(trial.levels)}


def survivors(found: Sequence[Trial]) -> list[Trial]:
    """Return the bugs that no level of the quick check saw."""
    return [trial for trial in found if trial.name != CLEAN and not trial.levels]


def unexpected(found: Sequence[Trial]) -> list[Trial]:
    """Return the caught bugs that a level which the catalogue names for them did not see."""
    return [
        trial
        for trial in found
        if trial.name != CLEAN
        and trial.levels
        and not set(BUGS[trial.name].expected) <= set(trial.levels)
    ]


def page(trials: Trials, planted: Mapping[str, int], *, by_parts: bool = False) -> str:
    """Return the page.

    Args:
        trials: what was tried with this version.
        planted: by framework, how many bugs there are; the others were not tried.
        by_parts: a bug ended at the first part that saw it. Then nothing is said of single levels
            and common rules, which did not look at most of them.
    """
    totals = _totals(trials, planted)
    compared = () if by_parts else _practice(trials)
    return "\n".join([*_head(by_parts), *totals, *compared, *_table(trials), *_rest(trials)])


def _head(by_parts: bool) -> Iterator[str]:
    yield "# Mutation score"
    yield ""
    yield "<!-- Written by `make mutants`; do not edit. -->"
    yield ""
    yield (
        "Translation bugs planted in the emitted files of every framework, and the checks that"
        " detected them. The reference is the unchanged script for PyTorch; half precision is"
        " emulated. The recipe is derived by `--stress` from `tests/mutants/recipe.yaml`; the check"
        " is the quick check. Bugs that were not tried with this version of scripts and checks have"
        " no cell."
    )
    yield ""
    if by_parts:
        yield (
            "Each bug was planted in the toy, then in the course of the small model, then in the"
            " whole quick check, and no further than where it was seen. The levels are those of"
            " that part; others might have seen it, too."
        )
        yield ""


def _totals(trials: Trials, planted: Mapping[str, int]) -> Iterator[str]:
    yield "| framework | bugs | tried | detected | score | clean script |"
    yield "|---|---|---|---|---|---|"
    for framework, found in trials.items():
        bugs = [trial for trial in found if trial.name != CLEAN]
        caught = sum(bool(bug.levels) for bug in bugs)
        clean = [trial for trial in found if trial.name == CLEAN]
        words = clean[0].verdict if clean else "-"
        share = f"{caught / len(bugs):.1%}" if bugs else "-"
        counts = f"{planted[framework]} | {len(bugs)} | {caught}"
        yield f"| {framework} | {counts} | {share} | {words} |"
    yield ""


def _practice(trials: Trials) -> Iterator[str]:
    """What single levels and common rules find on the same runs."""
    every = {
        name: [trial for trial in found if trial.name != CLEAN] for name, found in trials.items()
    }
    seeded = {name for name, found in every.items() if any(trial.seeds for trial in found)}
    yield "## Detected by"
    yield ""
    yield f"| | {' | '.join(every)} |"
    yield "|---|" + "---|" * len(every)
    for level in SHOWN:
        counts = (sum(level in trial.levels for trial in found) for found in every.values())
        yield f"| {level}: {LEVELS[level]} | {' | '.join(map(str, counts))} |"
    alone = (sum(len(trial.levels) == 1 for trial in found) for found in every.values())
    yield f"| one level only | {' | '.join(map(str, alone))} |"
    for rule, words in titles(bool(seeded)).items():
        cells = (
            str(sum(rule in trial.practice for trial in found))
            if rule != T_TEST or name in seeded
            else "not run"
            for name, found in every.items()
        )
        yield f"| common practice: {words} | {' | '.join(cells)} |"
    if seeded:
        cells = (
            str(sum(trial.seeds == "equivalent" for trial in found))
            if name in seeded
            else "not run"
            for name, found in every.items()
        )
        yield f"| called equivalent by paired seeds alone | {' | '.join(cells)} |"
    yield ""
    yield from TRAINCHECK
    yield ""


def _table(trials: Trials) -> Iterator[str]:
    yield "## Bugs"
    yield ""
    yield f"| bug | description | field | {' | '.join(trials)} |"
    yield "|---|---|---|" + "---|" * len(trials)
    by_name = {name: {trial.name: trial for trial in found} for name, found in trials.items()}
    for name, bug in BUGS.items():
        cells = [_cell(found.get(name)) for found in by_name.values()]
        if any(cells):
            field = f"`{bug.field}`" if bug.field else ""
            yield f"| `{name}` | {bug.title} | {field} | {' | '.join(cells)} |"
    yield ""


def _cell(trial: Trial | None) -> str:
    if trial is None:
        return ""
    return ", ".join(trial.levels) or f"**survives** ({trial.verdict})"


def _rest(trials: Trials) -> Iterator[str]:
    names = sorted({survivor.name for found in trials.values() for survivor in survivors(found)})
    if not names:
        return
    yield "## Survivors"
    yield ""
    for name in names:
        yield f"- `{name}`: {SURVIVORS.get(name, 'not explained yet')}"
    yield ""
