"""The section `tracking`: what it accepts, what it derives, and the lines it emits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe, Tracking
from crosscast.recipe.tracking import Mlflow, Wandb
from crosscast.recipe.yaml_text import recipe_text
from crosscast.targets.capability import leaves
from crosscast_parity.recipes.derived import comparable
from crosscast_parity.toy.running import of_step
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from frameworks.emitted_script import tiny_recipe
from recipe_texts import build, problems_of, text_of
from tiers import cases

ALL = ("tensorboard", "mlflow", "wandb", "trackio")
EVERYWHERE: dict[str, Any] = dict.fromkeys(ALL, True)
CALLS = {
    "tensorboard": ("add_scalar(", "tf.summary.scalar("),
    "mlflow": ("mlflow.log_metrics(",),
    "wandb": ("self.wandb.log(",),
    "trackio": ("trackio.log(",),
}
TARGETS = ("torch", "torch@1.8", "tensorflow", "tensorflow@2.10", "paddle", "paddle@fleet", "jax")
QUICK = ("torch", "tensorflow", "paddle", "jax")


def script(recipe: Recipe, target: str) -> str:
    (compiled,) = compile_recipe(recipe, [target])
    return compiled.files["train.py"].text


def test_true_stands_for_the_name_of_the_recipe() -> None:
    tracking = build(
        text_of(tracking="{wandb: true, mlflow: {name: first}, trackio: false}")
    ).tracking
    name = build(text_of()).name
    assert tracking.wandb == Wandb(project=name, name=name)
    assert tracking.mlflow == Mlflow(experiment=name, name="first")
    assert tracking.trackio is None
    assert tracking.tensorboard is None


@pytest.mark.parametrize("text", ["{}", "{wandb: false}", "{tensorboard: null}"])
def test_nothing_asked_for_is_no_section(text: str) -> None:
    recipe = build(text_of(tracking=text))
    assert recipe == build(text_of())
    assert "tracking" not in recipe_text(recipe)
    assert not [path for path, _ in leaves(recipe) if path.startswith("tracking")]


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        ("true", "CC103", "tracking"),
        ("{tensorboard: 1}", "CC103", "tracking.tensorboard"),
        ("{tensorboard: runs}", "CC103", "tracking.tensorboard"),
        ("{comet: true}", "CC101", "tracking.comet"),
        ("{wandb: {projekt: a}}", "CC101", "tracking.wandb.projekt"),
        ("{wandb: {project: a/b}}", "CC104", "tracking.wandb.project"),
        ("{mlflow: {name: 3}}", "CC103", "tracking.mlflow.name"),
        ("{mlflow: {experiment: ''}}", "CC104", "tracking.mlflow.experiment"),
        ("{trackio: {name: null}}", "CC103", "tracking.trackio.name"),
        ('{trackio: {name: "a\\nb"}}', "CC104", "tracking.trackio.name"),
        (f"{{trackio: {{name: {'a' * 129}}}}}", "CC104", "tracking.trackio.name"),
    ],
)
def test_anything_else_is_refused(text: str, code: str, path: str) -> None:
    (problem,) = problems_of(text_of(tracking=text))
    assert (problem.code, problem.path) == (code, path)
    assert problem.span is not None


def test_a_near_miss_is_named() -> None:
    (problem,) = problems_of(text_of(tracking="{wandb: {projekt: a}}"))
    assert "project" in problem.hint


def test_a_recipe_is_written_with_what_was_derived() -> None:
    recipe = tiny_recipe(tracking=EVERYWHERE)
    assert build(recipe_text(recipe)) == recipe


def test_tracking_changes_no_training() -> None:
    plain, tracked = tiny_recipe(), tiny_recipe(tracking=EVERYWHERE)
    assert recipe_hash(plain) == recipe_hash(tracked)
    assert comparable(tracked) == (plain, ())


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_nothing_is_imported_unless_asked_for(target: str) -> None:
    plain = script(tiny_recipe(), target)
    assert not any(word in plain for word in ("racking", "TRACKING", "ensorboard", *ALL[1:]))
    for name in ALL:
        text = script(tiny_recipe(tracking={name: True}), target)
        others = [other for other in ALL if other != name]
        assert any(call in text for call in CALLS[name])
        assert not any(call in text for other in others for call in CALLS[other])
        assert [other for other in others if f"import {other}" in text] == []


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_only_tracking_differs(target: str) -> None:
    plain, tracked = (
        Counter(line.strip() for line in script(recipe, target).splitlines())
        for recipe in (tiny_recipe(), tiny_recipe(tracking=EVERYWHERE))
    )
    assert plain - tracked == {"return run.finish(state, evaluate)": 1}


def test_texts_are_data() -> None:
    title = '""" {{ x }} it\'s \u56fe'
    recipe = tiny_recipe(tracking={"mlflow": {"experiment": title, "name": title}})
    values: dict[str, Any] = {}
    text = script(recipe, "torch")
    start = text.index("TRACKING = {")
    exec(text[start : text.index("}\n", text.index("mlflow.name", start)) + 2], values)
    assert values["TRACKING"] == {"mlflow.experiment": title, "mlflow.name": title}


def test_requirements_name_what_is_imported() -> None:
    (compiled,) = compile_recipe(tiny_recipe(tracking=EVERYWHERE), ["paddle"])
    lines = compiled.files["requirements.txt"].text.split()
    assert {"tensorboardX", "mlflow", "wandb", "trackio"} <= set(lines)


def test_a_step_has_no_run_to_track() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(tiny_recipe(tracking={"wandb": True}), ["torch"], form="step")
    errors = [d for d in caught.value.diagnostics if d.severity is Severity.ERROR]
    assert [(d.code, d.path) for d in errors] == [("CC212", "tracking")]


@pytest.mark.parametrize(
    ("target", "code"),
    [("paddle@lark", "CC386"), ("transformers", "CC333"), ("lightning", "CC333")],
)
def test_programs_of_others_are_not_silent(target: str, code: str) -> None:
    recipe = tiny_recipe(tracking={"wandb": True})
    try:
        (compiled,) = compile_recipe(recipe, [target])
        found = compiled.diagnostics
    except DiagnosticError as error:
        found = tuple(error.diagnostics)
    assert [d.code for d in found if d.path.startswith("tracking")] == [code]


READ_BACK = [*((target, ALL) for target in TARGETS), *(("torch", (name,)) for name in ALL)]


@pytest.mark.parametrize(("target", "names"), READ_BACK)
def test_an_emitted_script_is_read_back(target: str, names: tuple[str, ...]) -> None:
    recipe = tiny_recipe(tracking=dict.fromkeys(names, True))
    (compiled,) = compile_recipe(recipe, [target])
    sources = [Source(path, f.text) for path, f in compiled.files.items() if path.endswith(".py")]
    lifted = lift(analyse(sources))
    assert lifted.recipe is not None, lifted.diagnostics
    assert lifted.recipe.tracking == recipe.tracking


def test_a_tracker_that_was_taken_out_is_not_read() -> None:
    (compiled,) = compile_recipe(tiny_recipe(tracking=EVERYWHERE), ["torch"])
    text = compiled.files["train.py"].text.replace(
        "        mlflow.log_metrics(values, step=step)\n", ""
    )
    lifted = lift(analyse([Source("train.py", text)]))
    assert lifted.recipe is not None
    assert lifted.recipe.tracking.mlflow is None
    assert lifted.recipe.tracking.wandb is not None
    quiet = text.replace("with Tracking(run) as tracking:", "with contextlib.nullcontext():")
    lifted = lift(analyse([Source("train.py", quiet)]))
    assert lifted.recipe is not None
    assert lifted.recipe.tracking == Tracking()


def test_runs_of_a_comparison_report_nowhere() -> None:
    tracked = tiny_recipe(tracking=EVERYWHERE)
    (compiled,) = compile_recipe(of_step(tracked), ["torch"], form="step")
    assert "step.py" in compiled.files
    assert tracked.without_tracking() == tiny_recipe()
