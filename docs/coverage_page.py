"""The docs page about what a comparison covers, made from the table of checks and the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from crosscast.recipe.document import Recipe
from crosscast_parity.checks.kinds import LEVELS, NEEDS, ON, Kind, On
from crosscast_parity.checks.table import GAPS, KINDS
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.judge.verdict import EXPECTED, NEEDED
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.overflows import choose_faults
from crosscast_parity.planning.runs import RunSpec, Stage, plain_runs
from crosscast_parity.planning.stages import (
    DEPTHS,
    make_stages,
    own_stage,
    own_toy_stage,
    toy_stages,
)

Made = tuple[Stage, RunSpec]
OWN = "your own script"
TWINS = 3

LOOKED_AT: Mapping[On, Callable[[Stage, RunSpec], bool]] = {
    "every run": lambda stage, spec: not spec.toy,
    "recorded": lambda stage, spec: bool(spec.record),
    "types": lambda stage, spec: spec.starts and spec.autocast and not spec.faults,
    "late": lambda stage, spec: bool(spec.record) and not (spec.starts or spec.repeat),
    "float32": lambda stage, spec: _model(spec) and spec.dtype == "float32",
    "half": lambda stage, spec: _model(spec) and spec.dtype != "float32",
    "autocast off": lambda stage, spec: not spec.autocast,
    "checkpoint": lambda stage, spec: spec.checkpoint,
    "repeated": lambda stage, spec: bool(spec.repeat),
    "resumed": lambda stage, spec: bool(spec.resume),
    "traced": lambda stage, spec: not (spec.repeat or spec.alone or spec.toy),
    "compared": lambda stage, spec: (
        LOOKED_AT["traced"](stage, spec) and not LOOKED_AT["seeds"](stage, spec)
    ),
    "ends": lambda stage, spec: spec.name == "main",
    "main": lambda stage, spec: (
        LOOKED_AT["ends"](stage, spec) and not LOOKED_AT["seeds"](stage, spec)
    ),
    "faults": lambda stage, spec: bool(spec.faults),
    "toy": lambda stage, spec: spec.toy,
    "seeds": lambda stage, spec: stage.seed is not None,
    "recipes": lambda stage, spec: False,
}
"""Whether `compare.stage_checks` makes the checks of a kind of run of one."""


def _model(spec: RunSpec) -> bool:
    return spec.starts and not spec.faults


def runs_of(recipe: Recipe, check: str) -> list[Made]:
    """Return the runs of a comparison by its `--check`, or of a script of the user's own."""
    emitted = Contestant(name="torch", target="torch", recipe=recipe)
    if check == OWN:
        emitted = Contestant(name="own", target="torch", recipe=recipe, script=Path("train.py"))
        stages = [own_stage(recipe, None, TWINS), own_toy_stage(recipe)]
    else:
        depth = next(depth for depth in DEPTHS if depth == check)
        stages = [*make_stages(recipe, depth, windows=None, twins=TWINS), *toy_stages()]
    nowhere = Inputs.of_toy(Path())
    found = []
    for stage in stages:
        derived = stage.derive(recipe)
        faults = choose_faults(derived, None) if derived.scaling_on else ()
        specs = plain_runs(emitted, derived, stage, nowhere, faults, emulated=True)
        found += [(stage, spec) for spec in specs]
    return found


def coverage_page(recipe: Recipe) -> str:
    """Return the docs page docs/reference/coverage.md.

    Args:
        recipe: whose runs are listed: in half precision with dynamic loss scaling, and of a model
            that a quick check makes smaller.
    """
    made = {check: runs_of(recipe, check) for check in (*DEPTHS, OWN)}
    lines = ["# What a comparison covers", ""]
    lines += ["Generated from the table of checks and the plan of the runs; do not edit.", ""]
    lines += _paragraphs(
        "**EQUIVALENT** says: in the runs below, on this machine, no check found a difference and"
        f" none was undecided. At least {' and '.join(sorted(NEEDED))} have passed. Whatever"
        " could not be checked is listed after `not tested:` in the same sentence, in particular"
        f" if {_listed(EXPECTED)} had nothing to look at. It does not say that two runs"
        " of any length end in the same numbers: rounding alone prevents that.",
        "**DIFFERENT** names the first check that failed, in the order of the levels below."
        " **INCONCLUSIVE** names one that could not decide.",
    )
    lines += ["## What no check looks at", "", *_table(("not covered", "instead"), _gaps())]
    lines += ["", "## Runs", ""]
    lines += _paragraphs(
        f"The runs of a {recipe.precision.compute_dtype} recipe with dynamic loss scaling whose"
        " model is too large for a quick check. A cell lists the stages, with the number of"
        " recorded and of trained windows. A float32 recipe has no half-precision runs; a recipe"
        " without loss scaling has no faults. `tiny` is a model with 0.14 million weights, `model`"
        " the recipe's.",
        "Of a recorded window, every gradient is checked and every weight before and after it; of"
        " the others, the row of the trace.",
    )
    lines += _table(("run", "trains", *made), _runs(made))
    lines += ["", "## Checks", ""]
    lines += _paragraphs(
        "A check of a run looks at all windows that the run has, or has recorded. A limit is the"
        " largest value that passes; *measured* are the largest values of correct programs. A"
        " recording that is damaged or missing makes the check `recording` of its level NOT TESTED."
        " If two programs follow different recipes, L1b is made with that of the reference, too.",
        "Which programs can be looked at:",
    )
    lines += [f"- *{need}*: {words}" for need, words in NEEDS.items()]
    lines += ["", "Which runs:", ""]
    lines += [f"- *{on}*: {words}{_names(on, made)}" for on, words in ON.items()]
    for level, title in LEVELS.items():
        kinds = [kind for kind in KINDS.values() if kind.level == level]
        lines += ["", f"### {level}: {title}", ""]
        head = ("check", "compares", "runs", "programs", "limit", "where it comes from")
        lines += _table((*head, "NOT TESTED"), map(_row, kinds))
    return "\n".join(lines) + "\n"


def _paragraphs(*texts: str) -> list[str]:
    return [line for text in texts for line in (*wrap(text, 100), "")]


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines]


def _listed(levels: Sequence[str]) -> str:
    return f"{', '.join(levels[:-1])} or {levels[-1]}"


def _gaps() -> Iterator[tuple[str, str]]:
    return ((gap.what, gap.instead) for gap in GAPS)


def _runs(made: Mapping[str, Sequence[Made]]) -> Iterator[list[str]]:
    specs = {spec.name: spec for runs in made.values() for _, spec in runs}
    for name, spec in specs.items():
        yield [name, _trains(spec), *(_stages(name, runs) for runs in made.values())]


def _trains(spec: RunSpec) -> str:
    """Return in words what tells a run from the others."""
    if spec.toy:
        return "the toy"
    words: list[str] = [spec.dtype]
    words += ["autocast off"] * (not spec.autocast)
    words += ["overflows injected"] * bool(spec.faults)
    words += ["repeats another run"] * bool(spec.repeat)
    words += ["dropout, for its evaluation"] * spec.alone
    return ", ".join(words)


def _stages(name: str, runs: Sequence[Made]) -> str:
    """Return the stages that have a run, alike ones together."""
    found: dict[str, int] = {}
    for stage, spec in runs:
        if spec.name == name:
            head = stage.name if stage.toy else stage.name.partition("-")[0]
            seen = "all" if stage.toy else len(spec.record)
            cell = f"{head} ({seen} of {spec.windows})"
            found[cell] = found.get(cell, 0) + 1
    return ", ".join(
        f"{count} times {cell}" if count > 1 else cell for cell, count in found.items()
    )


def _names(on: On, made: Mapping[str, Sequence[Made]]) -> str:
    pairs = (pair for runs in made.values() for pair in runs)
    names = dict.fromkeys(f"`{spec.name}`" for stage, spec in pairs if LOOKED_AT[on](stage, spec))
    return f" ({', '.join(names)})" if names else ""


def _row(kind: Kind) -> tuple[str, ...]:
    limit = f"{kind.limit:g}" if kind.limit else "" if kind.limit is None else "equal"
    if kind.by_type:
        limit = ", ".join(f"{size:g} ({dtype})" for dtype, size in kind.by_type.items())
    if kind.unit:
        limit = kind.unit if kind.limit == 1.0 else f"{limit} {kind.unit}".strip()
    name = kind.name
    return (name, kind.compares, kind.on, kind.needs, limit, kind.basis, kind.untested)
