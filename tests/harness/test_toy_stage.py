"""Steps on the toy: comparison with the reference, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import crosscast_parity.toy.stage as stage_module
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form
from crosscast_parity.planning.stages import proof_stages
from crosscast_parity.processes.work_done import OnProgress, Progress, ignore
from crosscast_parity.recipes.derived import changed
from crosscast_parity.recipes.on_toy import for_toy
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.exercise import shown_on_toy
from crosscast_parity.toy.faults import PARAMETERS
from crosscast_parity.toy.model import make_toy
from crosscast_parity.toy.stage import CompileForm, OnToy, step_on_toy
from frameworks.emitted_script import FLOAT16, tiny_recipe
from tiers import cases, exhaustive
from toy_stand_in import stand_in_worker, write_step

HALF: dict[str, Any] = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic", "hysteresis": 2},
    "clipping": {"kind": "global_norm", "max_norm": 5.0},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1},
    "ema": {"decay": 0.9},
}


@pytest.fixture(autouse=True)
def without_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_module, "Worker", stand_in_worker)


def compiler(changes: dict[str, Any] | None = None, before: str = "") -> CompileForm:
    """A compiler whose steps mean a recipe with other values."""

    def compile_to(
        recipe: Recipe, targets: Sequence[str], directory: Path, *, form: Form = "script"
    ) -> None:
        assert form == "step"
        write_step(changed(recipe, changes or {}), targets, directory, before)

    return compile_to


def on_toy(
    folder: Path,
    compile_to: CompileForm,
    recipe: Recipe | None = None,
    on_progress: OnProgress = ignore,
) -> OnToy:
    recipe = recipe or tiny_recipe(**HALF)
    return step_on_toy(recipe, "torch", folder, compile_to=compile_to, on_progress=on_progress)


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnToy, list[Progress]]:
    """A step that does what the recipe says, with a development build of its framework."""
    events: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage_module, "Worker", partial(stand_in_worker, version="0.0.0"))
        folder = tmp_path_factory.mktemp("right")
        return on_toy(folder, compiler(), on_progress=events.append), events


@pytest.fixture(scope="module")
def other_betas(tmp_path_factory: pytest.TempPathFactory) -> OnToy:
    """A step of another recipe. Most of the time its cause is sought."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage_module, "Worker", stand_in_worker)
        changed_betas = compiler({"optimizer.betas": (0.9, 0.99)})
        return on_toy(tmp_path_factory.mktemp("betas"), changed_betas)


def results(toy: OnToy) -> dict[str, str]:
    return {f"{check.level} {check.run}": check.result for check in toy.checks}


ALL_PASS = dict.fromkeys(("L0b active", "L1b active", "L0b own-values", "L1b own-values"), "pass")


def test_a_step_that_does_what_the_recipe_says_passes(right: tuple[OnToy, list[Progress]]) -> None:
    toy, events = right
    assert results(toy) == ALL_PASS
    assert [len(run.seen.rows) for run in toy.runs] == [64, 64]
    assert all(sum(row["skipped"] for row in run.seen.rows) >= 4 for run in toy.runs)
    assert "of them overflowed" in toy.checks[0].wording
    assert [run.kind for run in events] == ["started", "ended"] * 2
    assert all(run.outcome.kind == "finished" for run in events if run.outcome)


OTHERS: dict[str, dict[str, Any]] = {
    "lamb": {"optimizer": {"name": "lamb", "learning_rate": 0.01}},
    "full": HALF | {"precision": {**FLOAT16, "mode": "full"}},
    "token": {"accumulation": {"normalize_by": "token"}},
    "carry": {"accumulation": {"tail": "carry"}},
    "static": HALF | {"loss_scaling": {"mode": "static", "scale": 2.0**20}},
    "processes": {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}},
}


@pytest.mark.parametrize(
    "name", cases(OTHERS, quick=["full", "token", "processes"], reason="more recipes on the toy")
)
def test_other_recipes_pass_too(tmp_path: Path, name: str) -> None:
    assert results(on_toy(tmp_path, compiler(), tiny_recipe(**OTHERS[name]))) == ALL_PASS


def test_a_wrong_state_machine_is_named_by_window_and_column(tmp_path: Path) -> None:
    toy = on_toy(tmp_path, compiler({"loss_scaling.hysteresis": 1}))
    failing = next(check for check in toy.checks if check.run == "active")
    assert (failing.level, failing.result) == ("L0b", "fail")
    assert failing.wording.startswith("window 0: the scaler's counter bad is 0, expected 1")
    assert failing.window == 0
    assert results(toy)["L1b active"] == "unclear"


def test_a_wrong_update_is_named_by_window_and_tensor(other_betas: OnToy) -> None:
    assert results(other_betas)["L0b active"] == "unclear"
    failing = next(check for check in other_betas.checks if check.result == "fail")
    assert failing.level == "L1b"
    # Window 0 overflows, the first moments come after it.
    assert failing.wording.startswith("window 1: exp_avg_sq/kernel[0, 0] is ")
    assert ", expected " in failing.wording


def test_a_step_that_raises_fails_with_its_words(tmp_path: Path) -> None:
    toy = on_toy(tmp_path, compiler(before="1 / 0"))
    assert results(toy) == {"L0b active": "fail", "L0b own-values": "fail"}
    assert toy.checks[0].wording == "the step raised: ZeroDivisionError: division by zero"


def test_a_step_that_ends_its_process_fails(tmp_path: Path) -> None:
    toy = on_toy(tmp_path, compiler(before="import os; os._exit(3)"))
    assert toy.checks[0].wording.startswith("ended with exit code 3")
    assert len(toy.checks) == 2, "another process makes the second run"


def test_an_answer_that_nobody_waited_for_is_not_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    worker = stand_in_worker("torch")
    worker.send({"action": "windows", "folder": str(tmp_path / "nothing")})
    with monkeypatch.context() as patched:
        patched.setattr("selectors.DefaultSelector.select", interrupt)
        with pytest.raises(KeyboardInterrupt):
            worker.receive()
    assert worker.ask({"action": "version"}) == {"version": "2.13.0"}
    worker.stop()


def test_a_step_that_hangs_is_not_called_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_module, "TIMEOUT", 0.5)
    toy = on_toy(tmp_path, compiler(before="import time; time.sleep(60)"))
    assert results(toy) == {"L0b active": "unclear", "L0b own-values": "unclear"}
    assert toy.checks[0].wording == "no answer in 0.5 seconds"


def test_a_version_that_the_target_is_not_for_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_module, "Worker", partial(stand_in_worker, version="1.9.0+cpu"))
    toy = on_toy(tmp_path, compiler())
    assert toy.unable == "the step is for PyTorch 2.4 or newer, not for 1.9.0+cpu"
    assert toy.checks == ()


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def worker(target: str) -> Any:
        found = stand_in_worker(target)
        found.program = "toy_needs_a_package"
        return found

    (tmp_path / "toy_needs_a_package.py").write_text("import framework_of_nobody\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(stage_module, "Worker", worker)
    toy = on_toy(tmp_path / "steps", compiler())
    assert toy.unable == "the Python package framework_of_nobody is not installed"


def test_a_framework_that_the_harness_does_not_know_is_said(tmp_path: Path) -> None:
    recipe = tiny_recipe(**HALF)
    toy = step_on_toy(recipe, "mxnet", tmp_path, compile_to=compiler(), on_progress=ignore)
    assert toy.unable == "the harness has no toy model for mxnet"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    def compile_to(
        recipe: Recipe, targets: Sequence[str], directory: Path, *, form: Form = "script"
    ) -> None:
        raise PermissionError(13, "no", str(directory))

    with pytest.raises(DiagnosticError, match="CC708"):
        on_toy(tmp_path, compile_to)


# what is given


def test_overflows_reach_every_parameter_and_every_place_of_a_window() -> None:
    recipe = tiny_recipe(**HALF)
    stage = proof_stages(recipe)[0]
    derived = stage.derive(recipe)
    course = course_of(derived, stage)
    assert {fault.parameter for fault in course.faults} == set(PARAMETERS)
    assert {fault.micro_batch for fault in course.faults} >= {0, 2, 3}
    sizes = {len(window) for window in course.windows}
    assert 4 in sizes, "full windows"
    assert min(sizes) < 4, "short ones"
    assert any(window[-1] < window[0] for window in course.windows), "a short micro-batch"


def test_without_loss_scaling_nothing_overflows() -> None:
    recipe = tiny_recipe()
    for stage in proof_stages(recipe):
        course = course_of(stage.derive(recipe), stage)
        assert course.faults == ()
        assert course.surges == {}


@pytest.mark.parametrize("scale", [1.0, 1024.0, 65536.0, 2.0**24, 2.0**40])
def test_gradients_are_finite_in_half_at_the_first_scale(scale: float) -> None:
    recipe = tiny_recipe(**HALF | {"loss_scaling": {"mode": "dynamic", "init_scale": scale}})
    stage = proof_stages(recipe)[1]
    derived = stage.derive(recipe)
    toy = make_toy(derived, course_of(derived, stage))
    for window in (0, 2, 3, 4):  # between two overflows
        for work in toy.work(window):
            gradients = work.run(toy.parameters).gradients
            assert all(abs(array * scale).max() < 65504 for array in gradients.values())
    surging = toy.work(9)[0].run(toy.parameters).gradients
    assert max(abs(array * scale).max() for array in surging.values()) > 65504


# fields


def test_a_field_is_shown_by_a_value_that_would_not_fit(
    right: tuple[OnToy, list[Progress]],
) -> None:
    runs = right[0].runs
    wording = shown_on_toy(runs, "loss_scaling.hysteresis")
    assert wording.startswith("L0b ")
    assert "of toy/active: 3 instead would differ in window " in wording
    assert shown_on_toy(runs, "optimizer.betas").startswith("L1b exp_avg/")
    assert shown_on_toy(runs, "ema.decay").startswith("L1b ema/")


def test_what_a_step_does_not_decide_is_not_shown(right: tuple[OnToy, list[Progress]]) -> None:
    for path in ("precision.compute_dtype", "batch.micro_batch_size", "seed"):
        assert shown_on_toy(right[0].runs, path) == "", path


def test_a_step_that_differs_shows_no_field(other_betas: OnToy) -> None:
    assert shown_on_toy(other_betas.runs, "optimizer.betas") == ""


@exhaustive("groups on the toy in a comparison")
def test_groups_hold_parameters_of_the_toy(tmp_path: Path) -> None:
    group = {"parameters": ["head.*"], "weight_decay": 0.0, "rate_factor": 10.0}
    groups = tiny_recipe(optimizer={**HALF["optimizer"], "groups": [group] * 4}).optimizer.groups
    mine = for_toy(groups)
    assert len(mine) == 3
    assert {group.rate_factor for group in mine} == {10.0}
    recipe = changed(tiny_recipe(**HALF), {"optimizer.groups": mine[:1]})
    toy = on_toy(tmp_path, compiler(), recipe)
    assert results(toy) == ALL_PASS
    assert shown_on_toy(toy.runs, "optimizer.groups").startswith("L1b ")
    other = on_toy(tmp_path / "other", compiler({"optimizer.groups": ()}), recipe)
    assert "fail" in results(other).values()
