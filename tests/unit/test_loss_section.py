"""The section `loss`: what is derived, its text, its fingerprint, and how it is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.recipe.document import CrossEntropy
from crosscast.recipe.yaml_text import recipe_text
from crosscast_reading.lift.recipe_diff import differences, side_of
from frameworks.emitted_script import tiny_recipe
from recipe_texts import build, problems_of, recipe_of, text_of

OWN = {
    "model": "{kind: custom, factory: {torch: 'a:b'}}",
    "data": "{source: npz, train: a, eval: b}",
}


def test_a_recipe_without_the_section_means_a_plain_cross_entropy() -> None:
    recipe = recipe_of()
    assert recipe.loss == CrossEntropy()
    assert recipe_of(loss="{}") == recipe
    assert recipe_of(loss="{kind: cross_entropy, target: labels, class_weights: []}") == recipe


@pytest.mark.parametrize(
    ("changes", "fingerprint"), [({}, "7bee8f6d6284bcf6"), (OWN, "48d68d4f49e9a553")]
)
def test_the_fingerprint_is_that_of_the_time_before_the_section(
    changes: dict[str, str], fingerprint: str
) -> None:
    assert recipe_hash(recipe_of(**changes)) == fingerprint
    assert recipe_hash(recipe_of(**changes, loss="{}")) == fingerprint
    assert recipe_hash(recipe_of(**changes, loss="{label_smoothing: 0.1}")) != fingerprint


LOSSES = (
    "{label_smoothing: 0.1}",
    "{target: ids, class_weights: [0.5, 1, 1e-30]}",
    "{kind: mse, target: y}",
    "{kind: binary_cross_entropy}",
    "{kind: custom, function: {torch: 'a.b:c', paddle: 'd:e'}}",
)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_written_out_loads_back_as_the_same(loss: str) -> None:
    recipe = recipe_of(**OWN, loss=loss)
    text = recipe_text(recipe)
    assert build(text) == recipe
    assert recipe_text(build(text)) == text


def test_every_value_of_a_loss_is_written_out() -> None:
    text = recipe_text(recipe_of(loss="{label_smoothing: 0.1}"))
    section = text.partition("\nloss:\n")[2].partition("\nbatch:")[0]
    assert section.splitlines() == [
        "  kind: cross_entropy",
        "  target: labels",
        "  label_smoothing: 0.1",
        "  class_weights: []",
    ]


def diff(folder: Path, left: str, right: str) -> dict[str, tuple[object, object]]:
    sides = []
    for name, loss in (("left", left), ("right", right)):
        path = folder / f"{name}.yaml"
        path.write_text(text_of(**OWN, loss=loss))
        sides.append(side_of(str(path), {}))
    return {d.path: (d.left, d.right) for d in differences(*sides) if d.state == "different"}


def test_losses_are_compared_field_by_field(tmp_path: Path) -> None:
    assert diff(tmp_path, "{}", "{kind: cross_entropy}") == {}
    assert diff(tmp_path, "{}", "{label_smoothing: 0.1}") == {"loss.label_smoothing": (0.0, 0.1)}
    found = diff(tmp_path, "{class_weights: [1, 2]}", "{class_weights: [2, 1]}")
    assert found == {"loss.class_weights": ([1, 2], [2, 1])}
    assert diff(tmp_path, "{kind: mse}", "{kind: binary_cross_entropy}") == {
        "loss.kind": ("mse", "binary_cross_entropy")
    }


def test_functions_of_other_frameworks_are_no_difference(tmp_path: Path) -> None:
    left = "{kind: custom, function: {torch: 'a:b'}}"
    assert diff(tmp_path, left, "{kind: custom, function: {paddle: 'a:b'}}") == {}
    assert diff(tmp_path, left, "{kind: custom, function: {torch: 'a:c'}}") == {
        "loss.function.torch": ("a:b", "a:c")
    }


@pytest.mark.parametrize(
    ("factory", "function", "lines"),
    [
        ("own:build_model", "own:own_losses", ["from own import build_model, own_losses"]),
        (
            "own:net",
            "own:errors",
            ["from own import errors as own_losses", "from own import net as build_model"],
        ),
        (
            "zoo:build_model",
            "losses:own_losses",
            ["from losses import own_losses", "from zoo import build_model"],
        ),
    ],
)
def test_functions_are_imported_as_a_sorter_would(
    factory: str, function: str, lines: list[str]
) -> None:
    recipe = tiny_recipe(
        model={"kind": "custom", "factory": {"torch": factory}},
        loss={"kind": "custom", "function": {"torch": function}},
    )
    (compiled,) = compile_recipe(recipe, ["torch"])
    text = compiled.files["train.py"].text
    own = ("from own ", "from zoo ", "from losses ")
    assert [line for line in text.splitlines() if line.startswith(own)] == lines


METRICS = {"mae": {"torch": "own.metrics:mae"}, "F1": {"torch": "metrics:of_classes"}}


def test_metrics_are_functions_in_a_constant() -> None:
    recipe = tiny_recipe(metrics={"custom": METRICS})
    (compiled,) = compile_recipe(recipe, ["torch"])
    text = compiled.files["train.py"].text
    assert 'METRICS = {"mae": metric_mae, "F1": metric_F1}\n' in text
    assert "from metrics import of_classes as metric_F1\n" in text
    assert "from own.metrics import mae as metric_mae\n" in text
    many = {f"m{number}": {"torch": "metrics:m"} for number in range(6)}
    (compiled,) = compile_recipe(tiny_recipe(metrics={"custom": many}), ["torch"])
    assert 'METRICS = {\n    "m0": metric_m0,\n' in compiled.files["train.py"].text


def test_metrics_change_no_training() -> None:
    plain, measured = tiny_recipe(), tiny_recipe(metrics={"custom": METRICS})
    assert recipe_hash(plain) == recipe_hash(measured)
    assert "metrics" not in recipe_text(plain)
    assert build(recipe_text(measured)) == measured


@pytest.mark.parametrize("name", ["loss", "accuracy", "ema_f1"])
def test_a_metric_has_a_name_of_its_own(name: str) -> None:
    (problem,) = problems_of(text_of(metrics=f"{{custom: {{{name}: {{torch: 'a:b'}}}}}}"))
    assert (problem.code, problem.path) == ("CC214", f"metrics.custom.{name}")


@pytest.mark.parametrize(
    ("custom", "path"),
    [
        ("{f 1: {torch: 'a:b'}}", "metrics.custom"),
        ("{f1: {}}", "metrics.custom.f1"),
        ("{f1: {torch: 'train:b'}}", "metrics.custom.f1.torch"),
        ("{f1: {torch: b}}", "metrics.custom.f1.torch"),
    ],
)
def test_a_metric_needs_a_function_that_can_be_imported(custom: str, path: str) -> None:
    (problem,) = problems_of(text_of(metrics=f"{{custom: {custom}}}"))
    assert (problem.code, problem.path[: len(path)]) == ("CC104", path)


def test_a_step_has_no_evaluation() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(tiny_recipe(metrics={"custom": METRICS}), ["torch"], form="step")
    errors = [d for d in caught.value.diagnostics if d.severity is Severity.ERROR]
    assert [(d.code, d.path) for d in errors] == [("CC212", "metrics")]
