"""`crosscast state` as it is called: what it prints and refuses; refusals leave nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.emit.compiler import compile_recipe
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast.state.data_position import data_position
from crosscast.state.naming import is_shipped
from crosscast.state.recipe_check import misfits
from crosscast.targets.backend import load_backend
from crosscast_torch.states.keys import PARTS
from named_tests import is_test
from runtime_texts import rows_module, settings_of
from state_files import DYNAMIC, HALF, OWN, own_state, saved, sections, small_recipe, state_of


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["state", *map(str, arguments)])


def codes(result: Result) -> list[str]:
    assert result.exit_code in (1, 2, 3), result.output
    return re.findall(r"error (CC\d+)", result.stderr)


def files(folder: Path, recipe: Recipe) -> tuple[Path, Path]:
    """Write a recipe and a state that fits it; return both."""
    path = folder / "recipe.yaml"
    path.write_text(recipe_text(recipe))
    return path, saved(folder / "checkpoint.safetensors", state_of(recipe))


def test_convert_writes_where_a_script_resumes_from(tmp_path: Path) -> None:
    recipe, source = files(tmp_path, small_recipe())
    done = run("convert", tmp_path, "--from", "torch", "--to", "paddle", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    written = tmp_path / "out" / "checkpoint.safetensors"
    assert f"written: {written}" in done.stdout
    assert sections(written) == sections(source)
    assert list((tmp_path / "out").iterdir()) == [written]
    again = run(
        *("convert", source, "--from", "paddle@2.6", "--to", "tensorflow"),
        *("-o", tmp_path / "x.safetensors", "--recipe", recipe, "--json"),
    )
    report = json.loads(again.stdout)
    assert report["output"] == str(tmp_path / "x.safetensors")
    assert report["counters"] == {"windows": 8, "updates": 8, "moments": 50}
    assert {"exp_avg", "exp_avg_sq"} == set(report["moments"])
    assert {row["verdict"] for row in report["parts"]} == {"carried", "left out"}
    assert report["diagnostics"] == []


def test_without_a_place_it_is_beside_the_source(tmp_path: Path) -> None:
    _, source = files(tmp_path, small_recipe())
    assert run("convert", source, "--from", "torch", "--to", "tensorflow").exit_code == 0
    assert (tmp_path / "checkpoint.tensorflow.safetensors").exists()


def test_show_says_where_the_data_are(tmp_path: Path) -> None:
    recipe, source = files(tmp_path, small_recipe(precision=HALF, loss_scaling=DYNAMIC))
    done = run("show", source, "--recipe", recipe, "--rows", 30)
    assert done.exit_code == 0, done.output
    assert "1024, 3 clean and 1 overflowed windows" in done.stdout
    assert "epoch 2, row 0 of 30, in the order default_rng([0, 2])" in done.stdout
    assert done.stderr == ""
    assert "note CC962" in run("show", source).stderr
    assert json.loads(run("show", source, "--json").stdout)["output"] is None


def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    _, source = files(tmp_path, small_recipe())
    before = source.read_bytes()
    there = tmp_path / "there.safetensors"
    there.write_text("mine")
    link = tmp_path / "link.safetensors"
    link.symlink_to(there)
    folder = tmp_path / "folder" / "checkpoint.safetensors"
    folder.mkdir(parents=True)
    convert = ("convert", source, "--from", "torch", "--to", "paddle")
    assert codes(run(*convert, "-o", there)) == ["CC501"]
    assert codes(run(*convert, "-o", link)) == ["CC503"]
    assert codes(run(*convert, "-o", link, "--force")) == ["CC503"]
    assert codes(run(*convert, "-o", folder.parent, "--force")) == ["CC502"]
    assert codes(run(*convert, "-o", source, "--force")) == ["CC969"]
    assert codes(run(*convert, "-o", there / "below")) == ["CC502"]
    assert codes(run(*convert, "-o", "nul\0.safetensors")) == ["CC504"]
    assert there.read_text() == "mine"
    assert source.read_bytes() == before
    assert run(*convert, "-o", there, "--force").exit_code == 0
    assert sections(there) == sections(source)


def test_refused_states_leave_nothing(tmp_path: Path) -> None:
    recipe = small_recipe()
    path, source = files(tmp_path, recipe)
    state = state_of(recipe)
    name = "classifier.weight"
    saved(source, state, weights={**state.weights, name: state.weights[name] * np.nan})
    out = tmp_path / "out"
    arguments = ("--from", "torch", "--to", "paddle", "-o", out, "--recipe", path)
    assert codes(run("convert", source, *arguments)) == ["CC961"]
    source.write_bytes(source.read_bytes()[:-1])
    assert codes(run("convert", source, *arguments)) == ["CC960"]
    assert codes(run("convert", tmp_path / "nothing", *arguments)) == ["CC001"]
    assert not out.exists()
    found = run("convert", source, *arguments, "--json")
    assert [load["code"] for load in json.loads(found.stdout)["diagnostics"]] == ["CC960"]


def test_targets_and_options_that_make_no_sense(tmp_path: Path) -> None:
    recipe, source = files(tmp_path, small_recipe())
    to = ("--to", "paddle", "-o", tmp_path / "o")
    assert codes(run("convert", source, "--from", "mxnet", *to)) == ["CC106"]
    assert codes(run("convert", source, "--from", "paddle@lark", *to)) == ["CC969"]
    assert codes(run("convert", source, "--from", "torch", *to, "--windows", 3)) == ["CC969"]
    assert codes(run("show", source, "--rows", 3)) == ["CC969"]
    assert codes(run("show", tmp_path / "x.pt")) == ["CC001"]
    assert codes(run("convert", tmp_path / "x.pt", "--from", "torch", *to)) == ["CC969"]
    assert codes(run("show", source, "--recipe", tmp_path / "none.yaml")) == ["CC001"]
    pickled = tmp_path / "x.pdparams"
    pickled.write_bytes(b"\x80\x04N.")
    assert codes(run("show", pickled, "--from", "paddle", "--recipe", recipe)) == ["CC963"]
    drop = small_recipe(accumulation="{steps: 2, tail: drop}")
    path, source = files(tmp_path, drop)
    assert codes(run("show", source, "--recipe", path, "--rows", 3)) == ["CC969"]
    saved(source, replace(state_of(drop), rows=52))
    assert codes(run("show", source, "--recipe", path, "--rows", 51)) == ["CC969"]
    shown = run("show", source, "--recipe", path)
    assert "next window: epoch" in shown.stdout
    assert " of 52, " in shown.stdout


def test_the_number_of_rows_is_carried_and_can_be_given(tmp_path: Path) -> None:
    recipe = small_recipe()
    path, source = files(tmp_path, recipe)
    convert = ("convert", source, "--from", "torch", "--to", "paddle", "--recipe", path)
    for number, more in enumerate(((), ("--rows", 52))):
        out = tmp_path / f"{number}.safetensors"
        assert run(*convert, "-o", out, *more).exit_code == 0
        header, _ = sections(out)
        counters = json.loads(header["__metadata__"]["counters"])
        assert counters.get("rows") == (52 if more else None)


def test_own_models_need_a_map_between_frameworks(tmp_path: Path) -> None:
    source = saved(tmp_path / "own.safetensors", own_state())
    out = ("-o", tmp_path / "out")
    assert codes(run("convert", source, "--from", "torch", "--to", "paddle", *out)) == ["CC964"]
    assert not (tmp_path / "out").exists()
    assert run("convert", source, "--from", "torch", "--to", "torch@2.1", *out).exit_code == 0
    layout = tmp_path / "map.json"
    layout.write_text('{"version": 1, "weights": {"fc.weight": {"to": "=", "layout": "transpose"},')
    with layout.open("a") as file:
        file.write(' "*": {"to": "="}}}')
    done = run(
        *("convert", source, "--from", "torch", "--to", "paddle", "--layout", layout),
        *("-o", tmp_path / "paddle"),
    )
    assert done.exit_code == 0, done.output
    assert "turned" in done.stdout


SCALED = {"precision": HALF, "loss_scaling": DYNAMIC}
MISFITS: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "another recipe": ({}, {"recipe": "0" * 16}, "was trained by 0000"),
    "no averages": ({"ema": "{decay: 0.9}"}, {"averages": {}}, "lacks averages"),
    "scale": (SCALED, {"scale": None}, "lacks a loss scale"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_states_of_another_recipe(name: str) -> None:
    fields, changes, words = MISFITS[name]
    recipe = small_recipe(**fields)
    found = list(misfits(replace(state_of(recipe), **changes), recipe))
    assert any(words in line for line in found), found


def test_what_fits_is_not_reported() -> None:
    for fields in (
        {},
        SCALED,
        {"ema": "{decay: 0.9}"},
        {"optimizer": "{name: adafactor, learning_rate: 1e-3}"},
        {"optimizer": "{name: sgd, learning_rate: 1e-3}"},
        {"precision": HALF, "loss_scaling": "{mode: static, scale: 1024}"},
    ):
        recipe = small_recipe(**fields)
        assert list(misfits(state_of(recipe), recipe)) == [], fields
        begun = replace(state_of(recipe, windows=2), updates=0, moments={})
        assert list(misfits(begun, recipe)) == [], fields


def test_every_misfit_is_told() -> None:
    recipe = small_recipe(**SCALED)
    state = state_of(recipe)
    assert state.scale is not None
    weights = dict(state.weights)
    weights["extra"] = weights.pop("classifier.bias")
    weights["classifier.weight"] = weights["classifier.weight"].T
    scale = replace(state.scale, scale=8192.0, good=5, bad=2)
    moments = {"momentum_buffer": state.moments["exp_avg"]}
    found = list(misfits(replace(state, weights=weights, scale=scale, moments=moments), recipe))
    assert len(found) == 9, found
    less = {s: {n: a for n, a in m.items() if "pooler" not in n} for s, m in state.moments.items()}
    (only,) = misfits(replace(state, moments=less), recipe)
    assert "weights without moments" in only
    static = small_recipe(precision=HALF, loss_scaling="{mode: static, scale: 512}")
    (only,) = misfits(replace(state_of(static), scale=state.scale), static)
    assert "1024, in the recipe constant 512" in only
    plain = small_recipe(model=OWN)
    (only,) = misfits(replace(own_state(), recipe=state.recipe), plain)
    assert "was trained by" in only


@pytest.mark.parametrize(
    ("tail", "shuffle", "windows", "words"),
    [
        ("flush_renormalized", True, 3, "epoch 0, row 24 of 30, in the order default_rng([0, 0])"),
        ("flush", False, 4, "epoch 1, row 0 of 30, in the order of the file"),
        ("drop", True, 3, "epoch 1, row 0 of 30"),
        ("carry", True, 4, "epoch 1, row 2 of 30"),
        ("carry", True, 0, "epoch 0, row 0 of 30"),
    ],
)
def test_position_in_the_data(tail: str, shuffle: bool, windows: int, words: str) -> None:
    data = (
        f"{{source: npz, train: t, eval: e, sequence_length: 5, shuffle: {str(shuffle).lower()}}}"
    )
    recipe = small_recipe(accumulation=f"{{steps: 2, tail: {tail}}}", data=data)
    assert words in str(data_position(recipe, 30, windows))


@pytest.mark.parametrize("tail", ["flush_renormalized", "flush", "drop", "carry"])
def test_positions_are_those_of_emitted_scripts(tail: str) -> None:
    recipe = small_recipe(accumulation=f"{{steps: 2, tail: {tail}}}")
    (compiled,) = compile_recipe(recipe, ["torch"])
    files = {path: file.text for path, file in compiled.files.items()}
    told, numbers = settings_of(files), rows_module(files).row_numbers
    for windows in range(9):
        (first, *_) = next(numbers(21, told, windows))
        at = data_position(recipe, 21, windows)
        assert at is not None
        order = np.random.default_rng([recipe.seed, at.epoch]).permutation(21)
        assert first[0] == order[at.row], windows


def test_the_page_has_the_tables_facts() -> None:
    path = Path(__file__).parents[2] / "docs" / "reference" / "state.md"
    page = path.read_text(encoding="utf-8")
    titles = {"torch": "PyTorch", "tensorflow": "TensorFlow", "paddle": "Paddle"}
    for name, title in titles.items():
        framework = load_backend(name).framework
        assert framework is not None
        weights = framework.weights
        assert f"| {title} | {weights.kernel} | {weights.own} |" in page
        assert is_test(weights.evidence), weights.evidence
    for key in ("model_state_dict", "optimizer_state_dict", "scaler", "amp", "model_ema"):
        assert any(key in names for names in PARTS.values())
        assert f"`{key}`" in page


def test_names_of_the_shipped_model_are_known() -> None:
    names = state_of(small_recipe()).weights
    assert is_shipped(names)
    assert not is_shipped([*names, "extra"])
    assert not is_shipped([])
    assert not is_shipped(["bert.encoder.layer.x.output.dense.weight"])
