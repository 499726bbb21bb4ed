"""The proof of a migration: the new script is run and held against the recipe of its source.

The recipe is the oracle, as in every comparison: counts and loss scale (L0b), types (L0d) and the
arithmetic of every update (L1b) are computed from it in NumPy and held against what the script
did. The model of a source is its user's; a BERT of 0.14 million weights stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crosscast.capability import leaves
from crosscast.diagnostics import DiagnosticError
from crosscast.recipe import BertModel, Recipe, SyntheticData
from crosscast_parity.contestants import Contestant
from crosscast_parity.harness import OnProgress, compare, ignore
from crosscast_parity.options import make_options
from crosscast_parity.records import ParityReport
from crosscast_parity.report import write_report
from crosscast_parity.stages import proof_stages
from crosscast_parity.variants import TINY_MODEL, changed
from crosscast_parity.workspace import CompileTo

Outcome = Literal["same", "different", "cannot be verified here"]
Verdict = Literal["same", "changed on purpose", "not comparable", "different"]
_ROWS = 512
_TOKENS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProof:
    """What the run says of one field of the recipe."""

    field: str
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of the run of one target's script."""

    target: str
    outcome: Outcome
    wording: str
    checks: tuple[str, ...] = ()
    fields: tuple[FieldProof, ...] = ()


def prove(
    recipe: Recipe,
    target: str,
    workdir: Path,
    *,
    compile_to: CompileTo,
    corrected: Mapping[str, str],
    unknown: Sequence[str],
    on_progress: OnProgress = ignore,
) -> Proof:
    """Run what is emitted for a target and hold it against the recipe, field by field.

    Args:
        recipe: of the source.
        target: what it was compiled to.
        workdir: for runs and the report of the comparison.
        compile_to: the compiler.
        corrected: fields that differ from the source on purpose, with what was corrected.
        unknown: fields that no source says.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: nothing could be written.
    """
    try:
        tested = stand_in(recipe)
        contestant = Contestant(name=target, target=target, recipe=tested)
        report = compare(
            [contestant],
            options=make_options(workdir, twins=0, reference=target),
            compile_to=compile_to,
            on_progress=on_progress,
            stages=proof_stages(tested),
        )
    except DiagnosticError as error:
        if any(one.code.startswith("CC5") or one.code == "CC708" for one in error.diagnostics):
            raise
        words = "; ".join(one.message for one in error.diagnostics)
        return Proof(target=target, outcome="cannot be verified here", wording=words)
    write_report(report, workdir)
    return _judged(recipe, target, report, corrected, unknown)


def stand_in(recipe: Recipe) -> Recipe:
    """Return the recipe with a model and rows that are there, where its own are not."""
    if isinstance(recipe.model, BertModel):
        return recipe
    model = {"kind": "bert", **TINY_MODEL, "dropout": 0.0}
    data = SyntheticData(
        source="synthetic", sequence_length=_TOKENS, train_rows=_ROWS, eval_rows=_ROWS
    )
    changes = {"model": model, "data": data.model_dump()}
    # Patterns of a group are names of the user's own parameters.
    return changed(recipe, changes | {"optimizer.groups": ()})


def _judged(
    recipe: Recipe,
    target: str,
    report: ParityReport,
    corrected: Mapping[str, str],
    unknown: Sequence[str],
) -> Proof:
    checks = report.entrant(target).checks
    bad = [run for run in report.runs if not run.outcome.complete and not run.needless]
    failing = [check for check in checks if check.result == "fail"]
    said = tuple(f"{one.level} {one.name}: {one.result}: {one.wording}" for one in checks)
    if bad and not failing:
        words = next((run.outcome.message for run in bad if run.outcome.message), "a run ended")
        missing = all(run.outcome.kind == "cannot_run" for run in bad)
        outcome: Outcome = "cannot be verified here" if missing else "different"
        return Proof(target=target, outcome=outcome, wording=words, checks=said)
    levels = {str(check.level) for check in failing}
    fields = tuple(_fields(recipe, report, corrected, unknown, levels))
    if failing:
        words = "; ".join(f"{one.level} {one.name}: {one.wording}" for one in failing[:3])
        return Proof(target=target, outcome="different", wording=words, checks=said, fields=fields)
    passed = sum(check.result == "pass" for check in checks)
    windows = sum(len(run.rows) for run in report.runs)
    skipped = sum(row.skipped for run in report.runs for row in run.rows)
    words = f"{passed} checks pass over {windows} windows, {skipped} of them overflowed"
    if not isinstance(recipe.model, BertModel):
        words += "; a BERT of 0.14 million weights stood in for your model"
    return Proof(target=target, outcome="same", wording=words, checks=said, fields=fields)


def _fields(
    recipe: Recipe,
    report: ParityReport,
    corrected: Mapping[str, str],
    unknown: Sequence[str],
    failing: set[str],
) -> Iterator[FieldProof]:
    known = {one.field.partition("[")[0]: one for one in report.exercise if not one.exercised}
    known |= {one.field.partition("[")[0]: one for one in report.exercise if one.exercised}
    own = not isinstance(recipe.model, BertModel)
    for path, _ in leaves(recipe):
        seen = known.get(path)
        if path in corrected:
            yield FieldProof(field=path, verdict="changed on purpose", why=corrected[path])
        elif own and path.startswith(("model.", "data.")):
            why = "the model and its rows are your own; a small BERT stood in for them"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        elif own and path.startswith("precision.ops."):
            why = "the types within your own model are yours"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        elif path in unknown:
            yield FieldProof(field=path, verdict="not comparable", why="no source says it")
        elif seen is None:
            why = "it has no effect beside the other fields"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        elif not seen.exercised:
            yield FieldProof(field=path, verdict="not comparable", why=f"not exercised: {seen.why}")
        elif any(seen.why.startswith(level) for level in failing):
            yield FieldProof(field=path, verdict="different", why=seen.why)
        else:
            yield FieldProof(field=path, verdict="same", why=seen.why)
