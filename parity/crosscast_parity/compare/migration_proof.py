"""The proof of a migration: run the emitted script and compare it with the recipe of its source.

The recipe is the oracle, as in every comparison. First the step of the script is run beside the
reference interpreter on a toy, every window of it (`toy.stage`). Then the script itself trains a
small BERT: counts and loss scale (L0b), types (L0d) and the arithmetic of updates (L1b) are
computed from the recipe in NumPy and held against what it did. The model of a source is its
user's; a BERT of 0.14 million weights stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import BertModel, CrossEntropy, Recipe, SyntheticData
from crosscast.targets.capability import leaves
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.harness import OnProgress, compare, ignore
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.judge.verdict import place
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.stages import proof_stages
from crosscast_parity.recipes.derived import TINY_MODEL, changed
from crosscast_parity.recipes.on_toy import for_toy
from crosscast_parity.report.files import write_report
from crosscast_parity.toy.exercise import shown_on_toy
from crosscast_parity.toy.stage import STAGE, CompileForm, OnToy, ToyRun, step_on_toy

Outcome = Literal["same", "different", "cannot be verified here"]
ProofVerdict = Literal["same", "changed on purpose", "not comparable", "different"]
_ROWS = 512
_TOKENS = 24
_BERT = "BERT"
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProof:
    """What the run says of one field of the recipe."""

    field: str
    verdict: ProofVerdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProof:
    """What came of one stage: of the step on the toy, or of the script with a small BERT."""

    stage: str
    outcome: Outcome
    wording: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of the runs of what was emitted for one target."""

    target: str
    outcome: Outcome
    wording: str
    stages: tuple[StageProof, ...] = ()
    checks: tuple[str, ...] = ()
    fields: tuple[FieldProof, ...] = ()


def prove(
    recipe: Recipe,
    target: str,
    workdir: Path,
    *,
    compile_to: CompileForm,
    corrected: Mapping[str, str],
    unknown: Sequence[str],
    on_progress: OnProgress = ignore,
) -> Proof:
    """Run what is emitted for a target and hold it against the recipe, field by field.

    Args:
        recipe: of the source.
        target: what it was compiled to.
        workdir: for runs and the report of the comparison.
        compile_to: the compiler, for scripts and for steps.
        corrected: fields that differ from the source on purpose, with what was corrected.
        unknown: fields that no source says.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: nothing could be written.
    """
    # Side by side: the toy is one process, which would leave the other cores idle.
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = pool.submit(_on_toy, recipe, target, workdir / STAGE, compile_to, on_progress)
        report, bert_proof = _on_bert(recipe, target, workdir, compile_to, on_progress)
        toy, toy_proof = waiting.result()
    stages = (toy_proof, bert_proof)
    checks = list(toy.checks)
    fields: tuple[FieldProof, ...] = ()
    if report is not None:
        checks += report.entrant(target).checks
        if bert_proof.outcome == "same" or _failing(report.entrant(target).checks):
            failing = {str(check.level) for check in _failing(checks)}
            fields = tuple(_fields(recipe, report, toy.runs, corrected, unknown, failing))
    outcome = bert_proof.outcome
    if toy_proof.outcome == "different":
        outcome = "different"
    return Proof(
        target=target,
        outcome=outcome,
        wording="; ".join(f"{stage.stage}: {stage.wording}" for stage in stages),
        stages=stages,
        checks=tuple(f"{place(check)}: {check.result}: {check.wording}" for check in checks),
        fields=fields,
    )


def stand_in(recipe: Recipe) -> Recipe:
    """Return the recipe with a model and rows that are there, where its own are not."""
    if isinstance(recipe.model, BertModel):
        return recipe
    model = {"kind": "bert", **TINY_MODEL, "dropout": 0.0}
    data = SyntheticData(
        source="synthetic", sequence_length=_TOKENS, train_rows=_ROWS, eval_rows=_ROWS
    )
    loss = CrossEntropy().model_dump()  # of the stand-in; nothing of the step depends on it
    changes = {"model": model, "data": data.model_dump(), "loss": loss}
    # Patterns of a group are names of the user's own parameters.
    return changed(recipe, changes | {"optimizer.groups": ()})


def _on_toy(
    recipe: Recipe,
    target: str,
    folder: Path,
    compile_to: CompileForm,
    on_progress: OnProgress,
) -> tuple[OnToy, StageProof]:
    """Run the step on the toy, where the recipe's groups hold other parameters."""
    groups = for_toy(recipe.optimizer.groups)
    tested = changed(stand_in(recipe), {"optimizer.groups": groups})
    try:
        toy = step_on_toy(tested, target, folder, compile_to=compile_to, on_progress=on_progress)
    except DiagnosticError as error:
        toy = OnToy(unable=_unless_writing(error))
    if toy.unable:
        words = f"not run: {toy.unable}"
        return toy, StageProof(stage=STAGE, outcome="cannot be verified here", wording=words)
    failing = _failing(toy.checks)
    if failing:
        return toy, StageProof(stage=STAGE, outcome="different", wording=_wording_of(failing))
    if not any(check.result == "pass" for check in toy.checks):
        words = f"nothing could be compared: {_wording_of(toy.checks)}".removesuffix(": ")
        return toy, StageProof(stage=STAGE, outcome="cannot be verified here", wording=words)
    rows = [row for run in toy.runs for row in run.seen.rows]
    skipped = sum(bool(row["skipped"]) for row in rows)
    words = f"{len(rows)} windows are as the reference has them, {skipped} of them overflowed"
    left = [check for check in toy.checks if check.result != "pass"]
    if left:
        words = f"{_wording_of(left)}; nothing differs"
    return toy, StageProof(stage=STAGE, outcome="same", wording=words)


def _on_bert(
    recipe: Recipe,
    target: str,
    workdir: Path,
    compile_to: CompileForm,
    on_progress: OnProgress,
) -> tuple[ParityReport | None, StageProof]:
    """Run the script through the levels of the harness that need no second program."""
    tested = stand_in(recipe)
    try:
        report = compare(
            [Contestant(name=target, target=target, recipe=tested)],
            options=make_options(workdir, twins=0, reference=target),
            compile_to=compile_to,
            on_progress=on_progress,
            stages=proof_stages(tested),
        )
    except DiagnosticError as error:
        words = _unless_writing(error)
        return None, StageProof(stage=_BERT, outcome="cannot be verified here", wording=words)
    write_report(report, workdir)
    outcome, words = _judged(target, report)
    if outcome == "same" and tested is not recipe:
        words += "; a model of 0.14 million weights replaced yours"
    return report, StageProof(stage=_BERT, outcome=outcome, wording=words)


def _unless_writing(error: DiagnosticError) -> str:
    """Return the refusal of a run; raise file errors again."""
    if any(
        diagnostic.code.startswith("CC5") or diagnostic.code == "CC708"
        for diagnostic in error.diagnostics
    ):
        raise error
    return "; ".join(diagnostic.message for diagnostic in error.diagnostics)


def _judged(target: str, report: ParityReport) -> tuple[Outcome, str]:
    checks = report.entrant(target).checks
    failing = _failing(checks)
    if failing:
        return "different", _wording_of(failing)
    bad = [run for run in report.runs if not run.outcome.complete and not run.needless]
    if bad:
        words = next((run.outcome.message for run in bad if run.outcome.message), "a run ended")
        missing = all(run.outcome.kind == "cannot_run" for run in bad)
        return ("cannot be verified here" if missing else "different"), words
    passed = sum(check.result == "pass" for check in checks)
    if not passed:
        words = f"nothing could be compared: {_wording_of(checks)}".removesuffix(": ")
        return "cannot be verified here", words
    count = sum(len(run.rows) for run in report.runs)
    skipped = sum(row.skipped for run in report.runs for row in run.rows)
    return "same", f"{passed} checks pass over {count} windows, {skipped} of them overflowed"


def _failing(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if check.result == "fail"]


def _wording_of(checks: Sequence[Check]) -> str:
    return "; ".join(f"{place(check)}: {check.wording}" for check in checks[:_SHOWN])


def _fields(
    recipe: Recipe,
    report: ParityReport,
    runs: Sequence[ToyRun],
    corrected: Mapping[str, str],
    unknown: Sequence[str],
    failing: set[str],
) -> Iterator[FieldProof]:
    known = {
        field.field.partition("[")[0]: field.why for field in report.exercise if not field.exercised
    }
    seen = {
        field.field.partition("[")[0]: field.why for field in report.exercise if field.exercised
    }
    own = not isinstance(recipe.model, BertModel)
    for path, _ in leaves(recipe):
        if path in corrected:
            yield FieldProof(field=path, verdict="changed on purpose", why=corrected[path])
        elif own and path.startswith(("model.", "data.")):
            why = "the model and its data are yours; a small BERT replaced them"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        elif own and path.startswith("precision.ops."):
            why = "your model defines its own types"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        elif path in unknown:
            yield FieldProof(field=path, verdict="not comparable", why="no source states it")
        elif why := seen.get(path) or shown_on_toy(runs, path):
            verdict: ProofVerdict = "different" if why.startswith(tuple(failing)) else "same"
            yield FieldProof(field=path, verdict=verdict, why=why)
        elif path in known:
            why = f"not exercised: {known[path]}"
            yield FieldProof(field=path, verdict="not comparable", why=why)
        else:
            why = "it has no effect with the values of other fields"
            yield FieldProof(field=path, verdict="not comparable", why=why)
