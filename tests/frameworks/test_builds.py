"""Models of programs without data are built for real: what is refused, what is not accused."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from crosscast_parity.side_by_side.building import Built, build
from crosscast_parity.side_by_side.running import Limits, Program
from frameworks import built_programs
from frameworks.subprocesses import require


def built(folder: Path, framework: str, programs: Mapping[str, str]) -> Built:
    require(framework)
    built_programs.write(folder, programs)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    program = Program(
        framework=framework,
        python=sys.executable,
        folder=folder,
        script="train.py",
        arguments=(),
        texts={},
    )
    found = build(program, Limits(seconds=300.0))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert found.ended == ""
    refused = {(place.file, place.line): place.words for place in found.raises}
    expected = built_programs.marked(programs)
    assert {place: words for place, words in refused.items() if place not in expected} == {}
    for place, word in expected.items():
        assert word in refused.get(place, ""), place
    return found


def places(found: Built, kind: str) -> dict[tuple[str, int], str]:
    return {(place.file, place.line): place.words for place in getattr(found, kind)}


@pytest.mark.tensorflow
def test_keras(tmp_path: Path) -> None:
    found = built(tmp_path, "tensorflow", built_programs.programs_of("tensorflow"))
    steps, untested = places(found, "steps"), places(found, "not_tested")
    optimizers_part = "the optimizer's part of a step"
    assert steps["used_optimizer.py", 13] == optimizers_part
    assert [line for file, line in steps if file == "new_optimizers.py"] == [10, 14, 21, 24, 30]
    assert steps["subclassed.py", 15] == "a step"
    assert untested["subclassed.py", 21] == "no step is made: its train_step is its own"
    assert untested["subclassed.py", 24] == "no step is made: no input of the model is known"
    assert untested["subclassed.py", 22] == "Net: no input of it is known"
    assert "No such file" in untested["used_optimizer.py", 4]
    assert "gone" in untested["used_optimizer.py", 2]
    assert places(found, "models")["wrapped.py", 7] == "Functional"


@pytest.mark.torch
def test_pytorch(tmp_path: Path) -> None:
    found = built(tmp_path, "torch", built_programs.programs_of("torch"))
    assert places(found, "steps")["right.py", 34] == "a step"
    assert places(found, "models") == {("right.py", 40): "Net", ("no_gradients.py", 4): "Linear"}
    assert ("no_gradients.py", 11) not in places(found, "steps")
    assert places(found, "not_tested")["no_gradients.py", 11] == "no step is made: no gradients"
    assert (
        places(found, "not_tested")["bad_shapes.py", 12] == "Net: its forward pass is not reached"
    )


@pytest.mark.paddle
def test_paddle(tmp_path: Path) -> None:
    found = built(tmp_path, "paddle", built_programs.programs_of("paddle"))
    steps = places(found, "steps")
    assert steps == {("right.py", 13): "a step", ("static.py", 9): "the graph of a step"}
    assert places(found, "models") == {("right.py", 7): "Sequential"}
    assert places(found, "not_tested")["no_gradients.py", 9] == "no step is made: no gradients"


BUILDERS = """\
import keras
def good(width=3):
    inputs = keras.Input((width,))
    return keras.Model(inputs, keras.layers.Dense(2)(inputs))
def bad(width=3):
    inputs = keras.Input((width,))
    return keras.Model(inputs, keras.layers.Reshape((5,))(inputs))  # raises total size
def needs(width):
    inputs = keras.Input((width,))
    return keras.Model(inputs, keras.layers.Dense(2)(inputs))
def remove_all(folder="."):
    open("gone", "w").write("made by a function that makes no model")
"""


@pytest.mark.tensorflow
def test_builders_of_a_module_that_makes_no_model_are_called(tmp_path: Path) -> None:
    require("tensorflow")
    (tmp_path / "models.py").write_text(BUILDERS)
    program = Program(
        framework="tensorflow",
        python=sys.executable,
        folder=tmp_path,
        script="models.py",
        arguments=(),
        texts={},
    )
    found = build(program, Limits(seconds=300.0))
    assert places(found, "models") == {("models.py", 4): "Functional"}
    assert [place.line for place in found.raises] == [7]
    assert places(found, "not_tested") == {("models.py", 8): "needs needs arguments"}
