"""Compute the checks of a stage from its runs, for single programs and for pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Literal

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import harness_of
from crosscast_parity.checks.check import Check, relative
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.main_end import end_of_main
from crosscast_parity.compare.running_statistics import after_short_run
from crosscast_parity.inputs.custom import TWIN as MOVED_OF_CUSTOM
from crosscast_parity.inside.masks import FILE as MASKS
from crosscast_parity.judge.judgement_data import CHECKS, COMPARED
from crosscast_parity.judge.records import Difference, TensorErrors
from crosscast_parity.levels.dtypes import check_dtypes, check_later_types, left_in_half
from crosscast_parity.levels.envelope import MOVED, Envelope, measure_envelope
from crosscast_parity.levels.evaluation import check_evaluations
from crosscast_parity.levels.files import check_checkpoint, check_files, check_status
from crosscast_parity.levels.gate import check_gate, check_resumed
from crosscast_parity.levels.losses import report_evaluation
from crosscast_parity.levels.machine import check_faults, check_machine
from crosscast_parity.levels.masks import compare_masks, places_of_dropout
from crosscast_parity.levels.model import compare_models
from crosscast_parity.levels.operation_types import compare_operations
from crosscast_parity.levels.repeated import Repeated, Rounding
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.levels.resumed import check_restored
from crosscast_parity.levels.rows import check_counts
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.levels.traces import COLUMNS, GRAD_NORM, compare_traces
from crosscast_parity.planning.runs import STEPS, fuses_attention, repeated_by_gate
from crosscast_parity.recordings.masks import GivenMasks, read_masks
from crosscast_parity.recordings.resumed import FILE as RESUMED
from crosscast_parity.recordings.resumed import read_resumed
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.toy.checks import check_steps, untested_steps

SHOWN_DIFFERENCES = 3


def own_checks(result: StageResult, contestant: str) -> tuple[Check, ...]:
    """Check a program against its recipe, without anybody else: gate, L0b, L0d, L1b, L1d."""
    checks: list[Check] = [*_gate(result, contestant)]
    if result.stage.toy and (contestant, STEPS) not in result.finished:
        toy_checks = untested_steps("the harness cannot give it the toy")
        checks += [replace(check, stage=result.stage.name) for check in toy_checks]
    for finished in result.all_of(contestant):
        checks += run_checks(result, finished)
    return tuple(checks)


def run_checks(result: StageResult, finished: FinishedRun) -> tuple[Check, ...]:
    """Check one run of a stage by itself against its recipe: L0b, L0d, L1b, L1d."""
    if finished.run.needless:
        return tuple(_stamped(_needless(finished), finished))
    if not finished.run.outcome.complete:
        return ()
    if finished.spec.toy:
        return tuple(_stamped(_steps(result, finished), finished))
    checks = (*_machine(result, finished), *_check_files(result, finished))
    if finished.spec.record:
        checks += _recorded(result, finished)
    return tuple(_stamped(checks, finished))


def _needless(finished: FinishedRun) -> tuple[Check, ...]:
    words = finished.run.outcome.message
    if finished.spec.toy:
        return untested_steps(words)
    return (Check(level="L0a", name="faults", result="not tested", wording=words),)


def _steps(result: StageResult, finished: FinishedRun) -> tuple[Check, ...]:
    """Compare what a script made of the toy with the reference interpreter."""
    recipe, framework = finished.spec.recipe, result.frameworks[finished.spec.contestant]
    inputs = {"recipe": recipe, "framework": framework, "windows": result.stage.windows}

    def judged() -> tuple[Check, ...]:
        return check_steps(recipe, result.stage, framework, finished.folder)

    recall = result.judgements.recall
    return _guarded("L1b", lambda: recall(CHECKS, "steps", [finished.folder], inputs, judged))


def _gate(result: StageResult, contestant: str) -> Iterator[Check]:
    again = result.of(contestant, "gate")
    first = result.of(contestant, repeated_by_gate(result.recipes[contestant]))
    if not again or not first:
        return
    runs = (Repeated(first.run.rows, first.folder), Repeated(again.run.rows, again.folder))
    known = harness_of(result.frameworks.get(contestant, ""))
    allowed = known is not None and not known.repeats_bits
    rounding = Rounding(again.spec.dtype, again.spec.weights, allowed)
    if again.spec.resume:
        yield from _stamped(check_resumed(*runs, again.spec.resume, rounding), again)
    else:
        yield from _stamped(check_gate(*runs, rounding), again)
        why = "only a script that was compiled here is resumed"
        untested = Check(level="L1d", name="resume", result="not tested", wording=why)
        yield from _stamped([untested], again)


def _machine(result: StageResult, finished: FinishedRun) -> tuple[Check, ...]:
    spec, trace = finished.spec, finished.run.rows
    checks = check_machine(canonical_plan(spec.recipe), trace)
    rows = result.train_rows(finished)
    if rows is not None:
        checks = (*checks, *check_counts(spec.recipe, rows, trace))
    if spec.faults:
        checks = (*checks, *check_faults(spec.faults, trace, finished.injected))
    return checks


def _check_files(result: StageResult, finished: FinishedRun) -> tuple[Check, ...]:
    """Check the files that a run leaves, and the evaluation that it reports of them."""
    spec, status = finished.spec, finished.run.outcome.status
    if status is None or status.status != "finished":
        return ()

    def files() -> tuple[Check, ...]:
        rows, plan = finished.run.rows, canonical_plan(spec.recipe)
        whole = result.everything(finished).windows if spec.record else ()
        checks = list(check_files(finished.folder, rows, whole, result.counters(finished)))
        if spec.resume:
            checks.append(check_restored(read_resumed(finished.folder / RESUMED), plan, rows))
        if not spec.checkpoint:
            return tuple(checks)
        seen = result.observation(finished).windows if spec.record else ()
        return (*checks, *check_checkpoint(finished.folder, plan, rows, seen))

    def evaluation() -> tuple[Check, ...]:
        return tuple(check_evaluations(spec.recipe, finished.folder, spec.evaluated, status.eval))

    recall, inputs = result.judgements.recall, result.judgement_inputs(recipe=spec.recipe)
    folders = [finished.folder]
    return (
        check_status(finished.run.rows, status.windows, status.updates),
        *_guarded("L1d", lambda: recall(CHECKS, "files", folders, inputs, files)),
        *_guarded("L1d", lambda: recall(CHECKS, "evaluation", folders, inputs, evaluation)),
    )


def _recorded(result: StageResult, finished: FinishedRun) -> tuple[Check, ...]:
    recipe, emulated = finished.spec.recipe, finished.run.execution == "emulated"
    if not finished.spec.autocast or finished.spec.repeat:
        return _replayed(result, finished, recipe)

    def judged() -> tuple[Check, ...]:
        observation = result.observation(finished)
        if not finished.spec.starts:
            return (check_later_types(recipe, observation),)
        return check_dtypes(recipe, observation, emulated=emulated, fused=fused)

    target = result.emitted.get(finished.spec.contestant, "")
    fused = bool(target) and fuses_attention(target, recipe)
    inputs = result.judgement_inputs(recipe=recipe, emulated=emulated, fused=fused)
    recall = result.judgements.recall
    dtypes = _guarded("L0d", lambda: recall(CHECKS, "types", [finished.folder], inputs, judged))
    return (*dtypes, *_replayed(result, finished, recipe))


def _replayed(result: StageResult, finished: FinishedRun, recipe: Recipe) -> tuple[Check, ...]:
    def judged() -> tuple[Check, ...]:
        return replay_run(recipe, result.observation(finished))

    recall, inputs = result.judgements.recall, result.judgement_inputs(recipe=recipe)
    return _guarded("L1b", lambda: recall(CHECKS, "replay", [finished.folder], inputs, judged))


def _guarded(level: Level, check: Callable[[], tuple[Check, ...]]) -> tuple[Check, ...]:
    """Recordings come from another program: their problems are reported, not raised."""
    try:
        return check()
    except DiagnosticError as error:
        diagnostic = error.diagnostics[0]
        words = f"{diagnostic.code} {diagnostic.message}"
        return (Check(level=level, name="recording", result="not tested", wording=words),)


def _stamped(checks: Iterable[Check], finished: FinishedRun) -> list[Check]:
    return [replace(check, stage=finished.spec.stage, run=finished.spec.name) for check in checks]


def stage_envelope(result: StageResult, reference: str) -> Envelope | None:
    """Measure the noise of the reference's own loss in a stage.

    There is none where it was not asked for: of paired seeds only the ends are compared.
    """
    main = result.of(reference, "main")
    if main is None or result.stage.seed is not None:
        return None
    twins = result.twins(reference)
    exact = twins.pop("twin-float32", None)
    noise = [twin.run.rows for twin in twins.values() if not twin.spec.record]
    # An overflow moves the half run onto another path: then float32 says nothing about its noise.
    calm = not any(row.skipped for row in main.run.rows)
    kin = [exact.run.rows] if exact and calm else []
    return measure_envelope(
        main.run.rows,
        noise,
        kin,
        exact=exact.run.rows if exact else (),
        moved=MOVED if result.custom is None else MOVED_OF_CUSTOM,
    )


def pair_checks(
    result: StageResult, contestant: str, reference: str, envelope: Envelope | None
) -> tuple[tuple[Check, ...], dict[str, TensorErrors], tuple[Difference, ...]]:
    """Compare a program with the reference: L0a, L0c, L1a, L1c, L2.

    For a stage that is an L3 pair only L0a: the effect of noise on its losses is unknown.

    Returns:
        The checks, the errors of the first gradients by `stage/run`, the first differing rows.
    """
    ends_only = result.stage.seed is not None
    envelope = None if ends_only else envelope
    checks: list[Check] = []
    errors: dict[str, TensorErrors] = {}
    differences: list[Difference] = []
    if result.stage.toy:  # every program trains the toy of its own recipe
        return (), errors, ()
    for finished in result.all_of(contestant):
        spec, other = finished.spec, result.of(reference, finished.spec.name)
        if not finished.run.outcome.complete or other is None or spec.repeat or spec.alone:
            continue
        if not spec.autocast:
            left = _left_in_half(result, finished) or _left_in_half(result, other)
            if left:
                checks += _stamped([untested("L1a", "model in float32", left)], finished)
                continue
        compared = _compared(finished, other, envelope)
        masks = _masks(result, finished, other)
        checks += _stamped(masks, finished)
        apart = any(check.result in ("unclear", "not tested") for check in masks)
        if ends_only or apart:
            compared = tuple(check for check in compared if check.level in ("L0a", "result"))
        if apart:  # with other masks neither losses nor gradients can be compared
            checks += _stamped(compared, finished)
            continue
        if spec.name == "main" and envelope is not None:
            end = partial(end_of_main, result, finished, other, envelope)
            compared = (*compared, *_guarded("L2", lambda end=end: tuple(end())))  # type: ignore[misc]
        differences += _differences(finished, other, envelope)
        if spec.record and spec.recipe != other.spec.recipe:
            compared = (*compared, *_by_their_recipe(result, finished, other))
        if spec.starts:
            more, sizes = _models(result, finished, other)
            compared = (*compared, *more, *_operations(result, finished, other))
            if sizes:
                errors[f"{spec.stage}/{spec.name}"] = sizes
        checks += _stamped(compared, finished)
    return tuple(checks), errors, tuple(differences)


def _masks(result: StageResult, ours: FinishedRun, other: FinishedRun) -> tuple[Check, ...]:
    if ours.spec.masks is None or other.spec.masks is None:
        return ()
    emitted = ours.spec.contestant in result.emitted
    places = places_of_dropout(ours.spec.recipe) if emitted else None

    def read(run: FinishedRun) -> GivenMasks | None:
        return read_masks(run.folder / MASKS)

    return _guarded("L0a", lambda: (compare_masks(read(ours), read(other), places),))


def _by_their_recipe(
    result: StageResult, finished: FinishedRun, other: FinishedRun
) -> tuple[Check, ...]:
    """Compute our recorded windows again under the recipe of the reference.

    Each program may follow its own recipe exactly, while too few windows show the difference.
    """
    replayed = _replayed(result, finished, other.spec.recipe)
    return tuple(replace(c, name=f"{c.name}, by the reference's recipe") for c in replayed)


def _compared(
    finished: FinishedRun, other: FinishedRun, envelope: Envelope | None
) -> tuple[Check, ...]:
    dtype = finished.spec.dtype
    plain = finished.spec.name == "main"
    noise = envelope or Envelope((), 0, 0)
    if not plain:
        # These have no perturbed runs: noise grows in them as fast as in the main one.
        length = len(other.run.rows)
        horizon = min(length, envelope.horizon) if envelope else length
        norms = envelope.norms if envelope else ()
        noise = Envelope((0.0,) * length, horizon, 0, norms)
    end = _end(finished, other)
    ours, theirs, grows = finished.run.rows, other.run.rows, plain and bool(noise.spread)
    checks = compare_traces(ours, theirs, noise, dtype=dtype, trajectory=grows)
    return (end, *checks, *(_evaluation(finished, other) if plain else ()))


def _end(finished: FinishedRun, other: FinishedRun) -> Check:
    a, b = finished.run.outcome, other.run.outcome
    same = a.kind == b.kind
    return Check(
        level="L0a",
        name="end",
        result="pass" if same else "fail",
        wording=a.kind if same else f"{a.kind} ({a.message}), reference {b.kind} ({b.message})",
    )


def _evaluation(finished: FinishedRun, other: FinishedRun) -> tuple[Check, ...]:
    a, b = finished.run.outcome.status, other.run.outcome.status
    return report_evaluation(a.eval if a else None, b.eval if b else None)


def _models(
    result: StageResult, finished: FinishedRun, other: FinishedRun
) -> tuple[tuple[Check, ...], TensorErrors]:
    stressed = finished.spec.name.endswith("stress")
    init: Literal["initial", "stress"] = "stress" if stressed else "initial"
    dtype = finished.spec.dtype
    level: Level = "L1a" if dtype == "float32" else "L1c"
    sizes: TensorErrors = {}
    near: list[tuple[FinishedRun, FinishedRun]] = []
    if result.custom is not None:
        # In float32 weights are shifted, of the reference; half precision is held against float32.
        measured = [other] if dtype == "float32" else [other, finished]
        shifted = [(run, result.shifted(run)) for run in measured]
        near = [(run, moved) for run, moved in shifted if moved is not None]
        if len(near) < len(measured):
            words = "how much the gradients amplify rounding was not measured"
            return (untested(level, f"first gradients, {init}", words),), {}

    def judged() -> tuple[tuple[Check, ...], TensorErrors]:
        ours, theirs = result.canonical(finished), result.canonical(other)
        pairs = [(result.canonical(run), result.canonical(moved)) for run, moved in near]
        return compare_models(ours, theirs, dtype=dtype, init=init, near=pairs)

    def compared() -> tuple[Check, ...]:
        nonlocal sizes
        folders = [run.folder for run in (finished, other, *(moved for _, moved in near))]
        inputs = result.judgement_inputs(dtype=dtype, init=init)
        checks, sizes = result.judgements.recall(COMPARED, "models", folders, inputs, judged)
        moved = near[0][1] if near else None
        return (*checks, *after_short_run(result, finished, other, moved))

    return _guarded(level, compared), sizes


def _operations(
    result: StageResult, finished: FinishedRun, other: FinishedRun
) -> tuple[Check, ...]:
    """Compare the types of a custom model's operations; those of BERT are the recipe's."""
    half, dtypes = finished.spec.recipe.half, finished.spec.recipe.precision
    if result.custom is None or not half or other.spec.recipe.precision != dtypes:
        return ()
    if not finished.spec.autocast:
        return ()

    def judged() -> tuple[Check, ...]:
        both = (result.observation(run).manifest for run in (finished, other))
        return compare_operations(*both)

    recall, folders = result.judgements.recall, [finished.folder, other.folder]
    return _guarded(
        "L0d", lambda: recall(CHECKS, "operations", folders, result.judgement_inputs(), judged)
    )


def _left_in_half(result: StageResult, finished: FinishedRun) -> str:
    """Return why a run with autocast switched off is not in float32; empty if it is."""
    try:
        why = left_in_half(result.observation(finished).manifest)
    except DiagnosticError as error:
        diagnostic = error.diagnostics[0]
        why = f"{diagnostic.code} {diagnostic.message}"
    return f"{finished.spec.contestant}: {why}" if why else ""


def _differences(
    finished: FinishedRun, other: FinishedRun, envelope: Envelope | None
) -> Iterator[Difference]:
    """The first windows whose rows differ in a column that is compared."""
    horizon = envelope.horizon if envelope else 0
    differences = (
        Difference(stage=finished.spec.stage, run=finished.spec.name, ours=a, reference=b)
        for a, b in zip(finished.run.rows, other.run.rows, strict=False)
        if a.skipped != b.skipped
        or any(
            relative(column.value(a), column.value(b)) > column.limit
            for column in (*COLUMNS, *((GRAD_NORM,) if a.window < horizon else ()))
        )
    )
    return islice(differences, SHOWN_DIFFERENCES)
