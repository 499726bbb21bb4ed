"""Programs of a comparison, as they are named on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.planning.contestants import (
    Contestant,
    check_names,
    of_targets,
    parse_contestant,
)
from parity_fakes import make_recipe


@pytest.mark.parametrize(
    "text",
    [
        "old",
        "old=",
        "=torch",
        "o ld=torch",
        "old=torch,python",
        "old=torch,python=",
        "old=torch,version=2",
        "old=torch,python=a,python=b",
        "old=torch,script=/nowhere/train.py",
        "old=torch,adapter=nobody",
        "old=paddle,adapter=accelerate",
    ],
)
def test_a_program_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_contestant(text, make_recipe(), lambda path: make_recipe(), {})
    assert caught.value.diagnostics[0].code == "CC707"


def test_programs_are_read_from_text(tmp_path: Path) -> None:
    recipe, other = make_recipe(), make_recipe(optimizer={"learning_rate": 0.1})
    script = tmp_path / "train.py"
    script.touch()

    def read(text: str) -> Contestant:
        return parse_contestant(text, recipe, lambda path: other, {"torch": "py"})

    assert read("old=torch@2.1,python=/a/b").python == "/a/b"
    assert read("mine=torch").python == "py"
    assert read("two=paddle,recipe=b.yaml").recipe == other
    assert read(f"own=none,script={script}").own
    assert read("hf=torch,adapter=transformers").adapter == "transformers"
    assert read("x=torch@2.1").framework == "torch"
    assert read("x=mindspore").framework == "none"


def test_names_are_used_once() -> None:
    two = of_targets(["torch", "paddle"], make_recipe(), {"torch": "py"})
    assert [contestant.python == "py" for contestant in two] == [True, False]
    check_names(two)
    for bad in ([*two, two[0]], []):
        with pytest.raises(DiagnosticError):
            check_names(bad)
