"""Which fields of a recipe the runs on the toy have shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast.plan.canonical import canonical_plan
from crosscast.variations.table import paths_of, shown, variations
from crosscast_parity.toy.causes import OF_THE_TOY
from crosscast_parity.toy.compare import compare
from crosscast_parity.toy.running import of_step
from crosscast_parity.toy.stage import STAGE, ToyRun


def shown_on_toy(runs: Sequence[ToyRun], path: str) -> str:
    """Say how a run tells the value of a field from another one; empty where none does.

    As in `crosscast_parity.exercise`: what a step did is held against recipes with other values in
    the field, until one does not fit.

    Args:
        runs: of one target; runs that differ from their own recipe are ignored.
        path: of the field.
    """
    if path.startswith(OF_THE_TOY):
        return ""
    for run in runs:
        if not run.report.differences:
            for words in _told_apart(run, path):
                return words
    return ""


def _told_apart(run: ToyRun, path: str) -> Iterator[str]:
    own = canonical_plan(run.recipe)
    for known in paths_of(run.recipe):
        if known != path and not (
            known.startswith(f"{path}.") and known[len(path) + 1 :].isdigit()
        ):
            continue
        for variation in variations(run.recipe, known):
            plan = canonical_plan(of_step(variation.recipe))
            if plan == own:
                continue
            for first in compare(plan, run.toy, run.seen, run.framework).differences[:1]:
                value = shown(variation.value)
                where = f"{first.level} {first.what} of {STAGE}/{run.name}"
                yield f"{where}: {value} instead would differ in window {first.window}"
