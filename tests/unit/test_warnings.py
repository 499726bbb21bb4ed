"""Warnings about recipes that are valid and probably not meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.cli import app
from crosscast.messages.diagnostics import Severity
from crosscast.recipe.warnings import notices
from recipe_texts import FLOAT16, recipe_of, text_of

OWN = {
    "model": "{kind: custom, factory: {torch: 'a:b'}}",
    "data": "{source: npz, train: a, eval: b}",
}


def grouped(*groups: str) -> str:
    return f"{{name: adamw, learning_rate: 1e-3, groups: [{', '.join(groups)}]}}"


def found(*groups: str) -> list[tuple[str, str]]:
    warnings = notices(recipe_of(optimizer=grouped(*groups)))
    assert {warning.code for warning in warnings} <= {"CC211"}
    assert {warning.severity for warning in warnings} <= {Severity.WARNING}
    return [(warning.path, warning.hint) for warning in warnings]


@pytest.mark.parametrize(
    "groups",
    [
        (),
        ("{parameters: ['*']}",),
        ("{parameters: ['classifier.*', 'bert.pooler.*']}", "{parameters: ['*.bias']}"),
        ("{parameters: ['bert.encoder.layer.[01].*']}",),
    ],
)
def test_groups_that_choose_something_are_fine(groups: tuple[str, ...]) -> None:
    assert found(*groups) == []


def test_a_misspelt_pattern_is_told() -> None:
    assert found("{parameters: ['clasifier.*', '*.bias']}") == [
        ("optimizer.groups.0.parameters.0", "did you mean classifier?")
    ]


def test_a_layer_that_is_not_there_is_told() -> None:  # tiny has two
    assert [path for path, _ in found("{parameters: ['bert.encoder.layer.2.*']}")] == [
        "optimizer.groups.0.parameters.0"
    ]


def test_a_group_behind_one_that_takes_all_is_told() -> None:
    assert [path for path, _ in found("{parameters: ['*']}", "{parameters: ['*.bias']}")] == [
        "optimizer.groups.1"
    ]


def test_names_of_other_models_are_not_known() -> None:
    recipe = recipe_of(optimizer=grouped("{parameters: ['no.such']}"), **OWN)
    assert notices(recipe) == []


@pytest.mark.parametrize("command", ["check", "compile"])
def test_commands_print_them_with_their_place(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(text_of(optimizer=grouped("{parameters: ['clasifier.*']}")))
    more = ["--to", "torch", "-o", str(tmp_path / "out")] if command == "compile" else []
    assert not app([command, str(file), *more], standalone_mode=False)
    text = capsys.readouterr().err
    assert f"{file}:7:" in text
    assert "warning CC211" in text
    assert "did you mean classifier?" in text


@pytest.mark.parametrize(
    ("scaling", "path"),
    [
        ("{mode: none}", "loss_scaling.mode"),
        ("{mode: static, scale: 0.5}", "loss_scaling.scale"),
        ("{mode: static, scale: 100.0}", "loss_scaling.scale"),
        ("{mode: dynamic, init_scale: 100.0}", "loss_scaling.init_scale"),
        ("{mode: static, scale: 1.0}", ""),
        ("{mode: static, scale: 128.0}", ""),
        ("{mode: dynamic}", ""),
    ],
)
def test_a_loss_scale_that_loses_gradients_is_told(scaling: str, path: str) -> None:
    found = notices(recipe_of(precision=FLOAT16, loss_scaling=scaling))
    assert [(diagnostic.code, diagnostic.path) for diagnostic in found] == (
        [("CC213", path)] if path else []
    )


@pytest.mark.parametrize("precision", ["{mode: none}", "{mode: mixed, compute_dtype: bfloat16}"])
def test_what_needs_no_loss_scale_is_not_told_to_have_one(precision: str) -> None:
    assert notices(recipe_of(precision=precision)) == []
