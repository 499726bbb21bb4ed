"""Edits of emitted files: exact, whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.harness import Edit
from crosscast_parity.self_test.mutation import Mutation, apply

SCRIPT = "RATE = 1\nEPS = 2\nstep(RATE)\n"


def bug(*forms: tuple[Edit, ...], needs: str = "") -> Mutation:
    return Mutation(name="b", title="t", field="", expected=("L0a",), forms=forms, needs=needs)


def folder(tmp_path: Path, name: str, train: str, model: str | None = None) -> Path:
    place = tmp_path / name
    place.mkdir()
    (place / "train.py").write_text(train)
    if model is not None:
        (place / "model.py").write_text(model)
    return place


def test_edits_of_both_files_are_made(tmp_path: Path) -> None:
    place = folder(tmp_path, "a", SCRIPT, "x\n")
    both = (Edit("EPS = 2", "EPS = 3"), Edit("x", "y", file="model.py"))
    assert apply(bug(both), place)
    assert (place / "train.py").read_text() == SCRIPT.replace("EPS = 2", "EPS = 3")
    assert (place / "model.py").read_text() == "y\n"


def test_a_file_in_a_folder_is_edited(tmp_path: Path) -> None:
    place = folder(tmp_path, "a", SCRIPT)
    (place / "runtime").mkdir()
    (place / "runtime" / "rows.py").write_text("seed\n")
    both = (Edit("EPS = 2", "EPS = 3"), Edit("seed", "0", file="runtime/rows.py"))
    assert apply(bug(both), place)
    assert (place / "runtime" / "rows.py").read_text() == "0\n"
    with pytest.raises(DiagnosticError, match="CC734"):
        apply(bug((Edit("EPS", "E"), Edit("seed", "1", file="runtime/rows.py"))), place)


def test_a_script_without_the_text_stays(tmp_path: Path) -> None:
    place = folder(tmp_path, "a", SCRIPT)
    assert not apply(bug((Edit("SCALE", "1"),)), place)
    assert (place / "train.py").read_text() == SCRIPT


def test_the_first_form_that_fits_is_used() -> None:
    forms = ((Edit("SCALE", "a"),), (Edit("EPS", "b"),), (Edit("RATE = 1", "c"),))
    assert bug(*forms).mutate({"train.py": SCRIPT}) == {"train.py": SCRIPT.replace("EPS", "b")}


def test_a_text_must_occur_as_often_as_stated() -> None:
    assert bug((Edit("RATE", "R", times=2),)).mutate({"train.py": SCRIPT})
    for times in (1, 3):
        with pytest.raises(DiagnosticError, match=r"CC734.*RATE.* 2 times"):
            bug((Edit("RATE", "R", times=times),)).mutate({"train.py": SCRIPT})


def test_a_text_may_occur_more_often() -> None:
    for times in (1, 2):
        edit = Edit("RATE", "R", times=times, or_more=True)
        assert "RATE" not in bug((edit,)).mutate({"train.py": SCRIPT})["train.py"]
    with pytest.raises(DiagnosticError, match=r"CC734.*RATE.* 2 times"):
        bug((Edit("RATE", "R", times=3, or_more=True),)).mutate({"train.py": SCRIPT})


def test_a_form_that_fits_in_part_is_refused_and_nothing_written(tmp_path: Path) -> None:
    place = folder(tmp_path, "a", SCRIPT, "x\n")
    with pytest.raises(DiagnosticError, match="CC734"):
        apply(bug((Edit("EPS", "E"), Edit("gone", "y", file="model.py"))), place)
    assert (place / "train.py").read_text() == SCRIPT


def test_scripts_without_what_a_bug_needs_are_left_alone() -> None:
    assert not bug((Edit("EPS", "E"),), needs="SCALE").mutate({"train.py": SCRIPT})
    assert bug((Edit("EPS", "E"),), needs="RATE").mutate({"train.py": SCRIPT})


def test_a_model_tells_of_its_variant_as_well() -> None:
    texts = {"train.py": SCRIPT, "model.py": "HALF = float16\n"}
    assert bug((Edit("EPS", "E"),), needs="HALF").mutate(texts)
    assert not bug((Edit("EPS", "E"),), needs="HALF").mutate(texts | {"model.py": "x\n"})
    elsewhere = {"train.py": SCRIPT, "runtime/run.py": "HALF\n"}
    assert not bug((Edit("EPS", "E"),), needs="HALF").mutate(elsewhere)
