"""Models that are carried to another framework compute what those of the source do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from carried_models import BACKENDS, CASES, SEQUENCES, Case, weights_of
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.writing import written
from frameworks.subprocesses import TESTS, run_python
from tiers import cases

PROGRAM = TESTS / "frameworks" / "run_carried_models.py"
BOUND = 2e-5
"""Of a difference, as a share of the largest number; float32 in another order."""
SMALL = 1e-2
"""A smaller sum keeps the rounding of its terms: a gradient of 1e-3 was off by 3e-8."""


def prepared(folder: Path, text: str, case: Case, *, own: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(text)
    np.savez(folder / "weights.npz", **weights_of(case.network()))  # type: ignore[arg-type]
    np.savez(folder / "inputs.npz", **case.arrays())  # type: ignore[arg-type]
    if own:
        (folder / "own").touch()


def differences(found: Path, wanted: Path) -> dict[str, float]:
    """Return the difference of every array, as a share of its largest number."""
    mine, theirs = np.load(found), np.load(wanted)
    assert set(mine) == set(theirs)
    return {
        name: float(abs(mine[name] - theirs[name]).max() / max(abs(theirs[name]).max(), SMALL))
        for name in mine
    }


def readable() -> list[Case]:
    return [case for case in CASES if set(case.refused) != set(BACKENDS)]


def compare(folder: Path, chosen: list[Case], source: str, target: str) -> None:
    """Compare the models of cases of one framework with what was written for another."""
    names = []
    for case in chosen:
        if target in case.refused:
            with pytest.raises(UnreadableError, match=case.refused[target]):
                written(case.network(), target)
            continue
        text = written(case.network(), target)
        prepared(folder / "source" / case.name, case.module, case, own=False)
        prepared(folder / "target" / case.name, text, case, own=True)
        names.append(case.name)
    run_python(PROGRAM, source, source, folder / "source")
    run_python(PROGRAM, target, target, folder / "target")
    found = {
        name: differences(
            folder / "target" / name / "found.npz", folder / "source" / name / "found.npz"
        )
        for name in names
    }
    worst = {name: max(each.items(), key=lambda pair: pair[1]) for name, each in found.items()}
    assert {name: pair for name, pair in worst.items() if pair[1] > BOUND} == {}
    assert names


PAIRS = [
    *(("torch", "tensorflow"), ("torch", "paddle"), ("tensorflow", "torch")),
    *(("tensorflow", "paddle"), ("paddle", "torch"), ("paddle", "tensorflow"), ("torch", "torch")),
    *(("torch", "jax"), ("tensorflow", "jax"), ("paddle", "jax"), ("jax", "torch")),
    *(("jax", "tensorflow"), ("jax", "paddle"), ("jax", "jax")),
]


@pytest.mark.parametrize(
    ("source", "target"),
    cases(
        PAIRS,
        [("tensorflow", "torch"), ("torch", "jax")],
        "models in every direction between frameworks",
    ),
)
def test_a_carried_model_computes_the_same(source: str, target: str, tmp_path: Path) -> None:
    chosen = [case for case in readable() if case.framework == source and case not in SEQUENCES]
    compare(tmp_path, chosen, source, target)


@pytest.mark.parametrize(
    ("source", "target"), cases(PAIRS, [], "attention and recurrent layers in every direction")
)
def test_a_carried_model_of_sequences_computes_the_same(
    source: str, target: str, tmp_path: Path
) -> None:
    chosen = [case for case in SEQUENCES if case.framework == source]
    compare(tmp_path, chosen, source, target)
