"""From the runs of a stage to checks, on made-up traces: what is judged in which run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crosscast.data.synthetic import nli_synthetic
from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.stage_checks import own_checks, pair_checks, stage_envelope
from crosscast_parity.exercise.recorded_runs import recorded_runs
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.inside.inject import Fault
from crosscast_parity.judge.records import Run
from crosscast_parity.judge.verdict import summary
from crosscast_parity.levels.envelope import Envelope, measure_envelope
from crosscast_parity.levels.traces import compare_traces
from crosscast_parity.planning.runs import RunSpec
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.processes.process import Outcome, OutcomeKind
from crosscast_parity.processes.sessions import Finished
from crosscast_parity.recordings.status import Evaluation, Status
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.runs.outcomes import FinishedRun, StageResult, gather
from parity_fakes import good_rows, make_recipe

NOWHERE = Path("nowhere")
EVALUATION = Evaluation(loss=0.5, accuracy=0.9)


def changed(windows: range | list[int], change: Callable[[TraceRow], TraceRow]) -> list[TraceRow]:
    return [change(row) if row.window in windows else row for row in good_rows()]


def spec_of(recipe: Recipe, run: str, train: Path = NOWHERE, **more: Any) -> RunSpec:
    inputs = Inputs(
        train=train,
        brief=NOWHERE,
        eval=NOWHERE,
        few=NOWHERE,
        held=NOWHERE,
        weights=NOWHERE,
        stress=NOWHERE,
        twins=(),
    )
    return RunSpec(
        contestant="paddle",
        stage="model",
        name=run,
        variant="main",
        recipe=recipe,
        inputs=inputs,
        weights=NOWHERE,
        **({"windows": 40} | more),
    )


def stage_of(
    runs: Mapping[tuple[str, str], Sequence[TraceRow]],
    *,
    recipe: Recipe | None = None,
    seed: int | None = None,
    train: Path = NOWHERE,
) -> StageResult:
    """A stage with runs by contestant and name; `seed`: it is a pair of L3."""
    recipe = recipe or make_recipe(data={"train_rows": 640})
    (stage,) = make_stages(recipe, "model", windows=40, twins=3)
    stage = replace(stage, seed=seed)
    names = ("torch", "paddle")
    frameworks = dict(zip(names, names, strict=True))
    result = StageResult(stage, dict.fromkeys(names, recipe), (), frameworks)
    status = Status(status="finished", eval=EVALUATION)
    for (name, run), rows in runs.items():
        spec = replace(spec_of(recipe, run, train), contestant=name)
        if run == "faults":
            spec = replace(spec, faults=(Fault(2, 0, "inf"),))
        made = Run(
            contestant=name,
            stage=stage.name,
            name=run,
            outcome=Outcome(kind="finished", message="", status=status),
            rows=tuple(rows),
        )
        result.finished[name, run] = FinishedRun(spec=spec, run=made, folder=NOWHERE)
    return result


def failed(checks: Sequence[Check]) -> set[tuple[str, str]]:
    return {(check.level, check.name) for check in checks if check.result == "fail"}


LATE = changed(range(20, 40), lambda r: replace(r, loss=3.0, grad_norm=9.0))
"""A run that has come far from the good one, as every run does after enough windows."""


def test_of_paired_seeds_only_the_machine_is_compared() -> None:
    first_off = [replace(LATE[0], loss=9.9), *LATE[1:]]
    runs = {("torch", "main"): good_rows(), ("paddle", "main"): first_off}
    result = stage_of(runs, seed=7)
    assert stage_envelope(result, "torch") is None
    for envelope in (None, measure_envelope(good_rows(), [])):
        checks, _, differences = pair_checks(result, "paddle", "torch", envelope)
        assert {check.level for check in checks} == {"L0a", "result"}
        assert {check.result for check in checks} == {"pass", "info"}
        assert differences == ()
    plain = stage_of(runs)
    checks, _, _ = pair_checks(plain, "paddle", "torch", stage_envelope(plain, "torch"))
    assert ("L0c", "gradient norm") in failed(checks)


def masks_of(path: Path, *rates: float, lost: Sequence[str] = ()) -> Path:
    """Return the folder of a run whose dropout calls had such rates."""
    path.mkdir()
    calls = [{"module": f"d{n}", "shape": [2, 4], "rate": rate} for n, rate in enumerate(rates)]
    document = {"calls": calls, "out_of_reach": list(lost)}
    (path / "masks.json").write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("rates", "lost", "result"),
    [
        ((0.1, 0.1), (), "pass"),
        ((0.1, 0.2), (), "fail"),
        ((0.1,), (), "unclear"),
        ((0.1, 0.1), ("lstm",), "not tested"),
    ],
)
def test_with_other_masks_losses_are_not_compared(
    rates: tuple[float, ...], lost: tuple[str, ...], result: str, tmp_path: Path
) -> None:
    recipe = make_recipe(data={"train_rows": 640}, model={"dropout": 0.1})
    found = stage_of({("torch", "main"): good_rows(), ("paddle", "main"): LATE}, recipe=recipe)
    folders = {
        "torch": masks_of(tmp_path / "torch", 0.1, 0.1),
        "paddle": masks_of(tmp_path / "paddle", *rates, lost=lost),
    }
    for (name, run), made in list(found.finished.items()):
        found.finished[name, run] = replace(made, folder=folders[name])
    checks, _, differences = pair_checks(found, "paddle", "torch", stage_envelope(found, "torch"))
    (dropout,) = (check for check in checks if check.name == "dropout")
    assert dropout.result == result
    compared = result in ("pass", "fail")
    assert {check.level for check in checks} > {"L0a"}
    assert ("L0c" in {check.level for check in checks}) == compared
    assert bool(differences) == compared


def test_of_paired_seeds_the_machine_still_counts() -> None:
    rows = changed([6], lambda r: replace(r, rows=12))
    result = stage_of({("torch", "main"): good_rows(), ("paddle", "main"): rows}, seed=7)
    checks, _, differences = pair_checks(result, "paddle", "torch", None)
    assert failed(checks) == {("L0a", "rows")}
    assert [d.ours.window for d in differences] == [6]


@pytest.mark.parametrize(("horizon", "result"), [(20, "pass"), (40, "fail")])
def test_norms_of_the_run_with_faults_are_compared_up_to_the_horizon(
    horizon: int, result: str
) -> None:
    made = stage_of({("torch", "faults"): good_rows(), ("paddle", "faults"): LATE})
    envelope = Envelope((0.0,) * 40, horizon, 3)
    checks, _, _ = pair_checks(made, "paddle", "torch", envelope)
    assert next(c for c in checks if c.level == "L0c").result == result
    alone, _, _ = pair_checks(made, "paddle", "torch", None)
    assert failed(alone) == {("L0c", "gradient norm")}


@pytest.mark.parametrize(("rows", "result"), [(640, "pass"), (632, "fail")])
def test_rows_of_a_file_are_counted(tmp_path: Path, rows: int, result: str) -> None:
    path = tmp_path / "train.npz"
    nli_synthetic(rows, 16, 64, 0).save(path)
    recipe = of_files(path)
    runs = {("paddle", "main"): good_rows(), ("paddle", "faults"): good_rows()}
    stage = stage_of(runs, recipe=recipe, train=path)
    checks = own_checks(stage, "paddle")
    counted = [c for c in checks if c.name == "rows of a window"]
    assert [c.result for c in counted] == [result] * 2
    assert {seen.train_rows for seen in recorded_runs(stage, "paddle")} == {rows}


def test_rows_are_read_once_in_a_stage(tmp_path: Path) -> None:
    path = tmp_path / "train.npz"
    nli_synthetic(640, 16, 64, 0).save(path)
    stage = stage_of({("paddle", "main"): good_rows()}, recipe=of_files(path), train=path)
    assert any(c.name == "rows of a window" for c in own_checks(stage, "paddle"))
    path.unlink()
    assert recorded_runs(stage, "paddle")[0].train_rows == 640


def test_rows_of_a_file_that_is_gone_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    stage = stage_of({("paddle", "main"): good_rows()}, recipe=of_files(path), train=path)
    assert not any(c.name == "rows of a window" for c in own_checks(stage, "paddle"))
    assert recorded_runs(stage, "paddle")[0].train_rows is None


def of_files(path: Path) -> Recipe:
    document = make_recipe().model_dump(mode="json")
    document["data"] = {"source": "npz", "train": str(path), "eval": str(path)}
    document["data"]["sequence_length"] = 16
    return Recipe.model_validate_json(json.dumps(document))


LOST = [
    ("loss", {"loss": None}),
    ("gradient norm", {"grad_norm": None}),
    ("loss", {"loss": None, "grad_norm": None}),
]


def compared(
    ours: list[TraceRow], reference: list[TraceRow], *, trajectory: bool = True
) -> dict[str, Check]:
    envelope = measure_envelope(reference, [reference] * 3)
    checks = compare_traces(ours, reference, envelope, dtype="bfloat16", trajectory=trajectory)
    return {check.name: check for check in checks}


@pytest.mark.parametrize(("what", "values"), LOST)
@pytest.mark.parametrize("trajectory", [True, False])
def test_two_runs_that_diverge_do_not_agree(
    what: str, values: dict[str, Any], trajectory: bool
) -> None:
    gone = changed(range(25, 40), lambda r: replace(r, **values))
    found = compared(gone, gone, trajectory=trajectory)
    assert found["divergence"].result == "unclear"
    assert found["divergence"].wording == f"both diverged in window 25: {what} not finite"
    assert found["divergence"].window == 25
    assert found["gradient norm"].result == "pass"
    assert found["gradient norm"].wording == "equal in 25 windows"
    if trajectory:
        assert "over 25 windows" in found["trajectory"].wording


def test_windows_without_numbers_are_none_of_the_twenty() -> None:
    gone = changed(range(5, 40), lambda r: replace(r, loss=None))
    found = compared(gone, gone)
    assert found["trajectory"].result == "unclear"
    assert "over 5 windows" in found["trajectory"].wording
    assert "lower the learning rate" in found["trajectory"].wording
    never = changed(range(40), lambda r: replace(r, loss=None))
    assert compared(never, never)["first loss"].result == "unclear"


@pytest.mark.parametrize(("what", "values"), LOST)
def test_one_run_that_diverges_alone_is_different(what: str, values: dict[str, Any]) -> None:
    gone = changed(range(25, 40), lambda r: replace(r, **values))
    name = "trajectory" if what == "loss" else what
    # The twins of a reference that diverges diverge as well.
    for ours, reference in ((gone, good_rows()), (good_rows(), gone)):
        found = compared(ours, reference)
        assert "divergence" not in found
        assert (found[name].result, found[name].window) == ("fail", 25)


def test_losses_of_skipped_windows_may_be_lost() -> None:
    rows = [
        replace(r, loss=None, grad_norm=None) if r.skipped else r
        for r in good_rows(skipped=[3, 30])
    ]
    found = compared(rows, rows)
    assert "divergence" not in found
    assert {check.result for check in found.values()} == {"pass"}


def test_a_spread_without_end_excuses_nothing() -> None:
    kin = changed(range(25, 40), lambda r: replace(r, loss=None))
    envelope = measure_envelope(good_rows(), [good_rows()] * 3, [kin])
    assert envelope.horizon == 25


def gathered(tmp_path: Path, rows: int, kind: OutcomeKind, *, stated: int | None) -> Outcome:
    """What is made of a run of `rows` windows that was asked for 40."""
    lines = [json.dumps(row.to_json()) for row in good_rows(rows)]
    (tmp_path / "trace.jsonl").write_text("".join(line + "\n" for line in lines))
    status = Status(status="finished" if kind == "finished" else "stopped", windows=stated)
    outcome = Outcome(kind=kind, message="", status=status)
    finished = Finished(outcome, tmp_path)
    return gather(spec_of(make_recipe(), "main"), finished, "native", cached=False).run.outcome


@pytest.mark.parametrize("rows", [39, 38, 0])
def test_fewer_windows_than_asked_are_a_failed_run(tmp_path: Path, rows: int) -> None:
    for stated in (rows, None):
        outcome = gathered(tmp_path, rows, "finished", stated=stated)
        assert outcome.kind == "failed"
        assert outcome.message == f"the trace has {rows} rows, 40 windows were asked for"


def test_runs_that_stop_may_be_shorter(tmp_path: Path) -> None:
    assert gathered(tmp_path, 39, "stopped", stated=39).kind == "stopped"
    assert gathered(tmp_path, 40, "finished", stated=40).kind == "finished"
    contradicted = gathered(tmp_path, 39, "stopped", stated=40)
    assert contradicted.kind == "failed"
    assert "status.json says 40 windows" in contradicted.message


def test_the_sentence_names_levels_where_nothing_was_looked_at() -> None:
    names: dict[Level, str] = {"L0a": "rows", "L0b": "scale", "L0d": "operations"}
    names |= {"L1b": "loss factor", "L2": "loss"}

    def passed(level: Level) -> Check:
        name = names.get(level, "first loss")
        return Check(level=level, name=name, result="pass", wording="fine")

    levels = tuple(names)
    assert summary(list(map(passed, levels))) == "trace exact, not tested: L1a"
    idle = Check(level="L1a", name="model in float32", result="not tested", wording="half")
    assert summary([*map(passed, levels), idle]) == "trace exact, not tested: L1a"
    assert summary([*map(passed, levels), passed("L1a")]) == "trace exact"
    found = [*map(passed, levels), passed("L1a"), idle]
    assert summary(found) == "trace exact, not tested: L1a model in float32"
