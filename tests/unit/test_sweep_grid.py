"""Sweeps: seeds, settings and the grid that they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.sweep.grid import make_grid, parse_seeds, parse_settings
from sweep_fakes import points, small, write_recipe


def refused(error: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return error.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("texts", "seeds"),
    [
        (["3"], (3,)),
        (["0-4"], (0, 1, 2, 3, 4)),
        (["1,2,7-9"], (1, 2, 7, 8, 9)),
        (["5-5", "1"], (5, 1)),
        ([" 1 , 2 "], (1, 2)),
    ],
)
def test_seeds(texts: list[str], seeds: tuple[int, ...]) -> None:
    assert parse_seeds(texts) == seeds


@pytest.mark.parametrize(
    "text", ["", "a", "1,,2", "-1", "4-1", "1-", "1.5", "0-99999999", "1,1", "0-3,2", "²", "1-2-3"]
)
def test_what_is_no_list_of_seeds_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        parse_seeds([text])
    assert refused(error) == "CC728"


def test_settings_are_read_as_in_a_recipe() -> None:
    axes = parse_settings(
        ["optimizer.learning_rate=1e-3", "optimizer.learning_rate=3e-4", "clipping={kind: none}"]
    )
    assert axes == {"optimizer.learning_rate": [0.001, 0.0003], "clipping": [{"kind": "none"}]}
    assert parse_settings(["x=no", "y=true", "z=[0.9, 0.99]"]) == {
        "x": ["no"],
        "y": [True],
        "z": [(0.9, 0.99)],
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("learning_rate", "CC728"),
        ("=1", "CC728"),
        ("a..b=1", "CC728"),
        ("a.0=1", "CC728"),
        ("seed=3", "CC728"),
        ("a=", "CC015"),
        ("a={b: 1", "CC006"),
        ("a=!!python/none x", "CC009"),
    ],
)
def test_what_is_no_setting_is_refused(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        parse_settings([text])
    assert refused(error) == code


def test_the_same_value_twice_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="twice"):
        parse_settings(["a=1e-3", "a=0.001"])


def test_the_grid_is_the_product_with_whole_pairs_first(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (3, 4), optimizer__learning_rate=[0.1, 0.2])
    assert [str(point) for point in grid[:4]] == [
        "fake optimizer.learning_rate=0.1 a seed 3",
        "fake optimizer.learning_rate=0.1 b seed 3",
        "fake optimizer.learning_rate=0.2 a seed 3",
        "fake optimizer.learning_rate=0.2 b seed 3",
    ]
    assert len(grid) == 8
    assert {point.recipe.seed for point in grid[4:]} == {4}
    assert {point.base.seed for point in grid} == {5}  # the task stays that of the file
    assert [point.recipe.optimizer.learning_rate for point in grid[:3]] == [0.1, 0.1, 0.2]


def test_without_seeds_a_recipe_has_its_own(tmp_path: Path) -> None:
    files = [write_recipe(tmp_path), write_recipe(tmp_path, name="other", seed=9)]
    assert [p.recipe.seed for p in make_grid(files, ["a"])] == [5, 9]


def test_a_setting_may_make_a_section(tmp_path: Path) -> None:
    (point,) = points(tmp_path, seeds=(), clipping__kind=["global_norm"], clipping__max_norm=[0.5])
    assert point.recipe.clipping.model_dump()["max_norm"] == 0.5


def test_what_is_derived_follows_a_setting(tmp_path: Path) -> None:
    (point,) = points(tmp_path, seeds=(), batch__global_batch_size=[32])
    assert point.recipe.accumulation.steps == 4


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("optimizer.learning_rat", 1e-3, "CC101"),
        ("optimizer.learning_rate", -1, "CC104"),
        ("optimizer.learning_rate", "fast", "CC103"),
        ("batch.global_batch_size", 17, "CC201"),
        ("name.of", "x", "CC728"),
        ("optimizer.learning_rate.of", 1, "CC728"),
    ],
)
def test_a_setting_is_checked_as_a_recipe_is(
    tmp_path: Path, path: str, value: object, code: str
) -> None:
    with pytest.raises(DiagnosticError) as error:
        make_grid([write_recipe(tmp_path)], ["a"], (), {path: [value]})
    assert code in {d.code for d in error.value.diagnostics}


def test_seeds_are_checked_as_a_recipe_is(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as error:
        points(tmp_path, seeds=(9_999_999_999,))
    assert error.value.diagnostics[0].path == "seed"


def test_two_recipes_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    files = [write_recipe(tmp_path), write_recipe(tmp_path / "again")]
    with pytest.raises(DiagnosticError, match="same name"):
        make_grid(files, ["a"])


def test_a_grid_beyond_reason_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="10002 cells"):
        make_grid([write_recipe(tmp_path)], ["a", "b", "c"], range(3334))


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as error:
        make_grid([str(tmp_path / "none.yaml")], ["a"])
    assert refused(error) == "CC001"


def test_the_stand_in_recipe_is_what_the_tests_think() -> None:
    assert small(name="x")["name"] == "x"
