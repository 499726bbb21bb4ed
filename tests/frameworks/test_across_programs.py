"""Six programs are carried whole: what they are migrated to makes the same updates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from across_programs import PROGRAMS, UPDATES, scaled
from carried_models import weights_of
from crosscast.messages.output import write_files
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from frameworks.subprocesses import TESTS, run_python
from tiers import cases

RUN = TESTS / "frameworks" / "run_across.py"
BOUND = 1e-6
"""Of the difference of a loss, as a share of it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for every program, with its data, weights, and what it was migrated to."""
    root = tmp_path_factory.mktemp("across")
    for program in PROGRAMS:
        place = root / program.name
        place.mkdir()
        program.prepared(place)
        targets = ["torch", "tensorflow", "paddle", "jax"]
        length = {"schedule.total_steps": UPDATES}
        source = Source("train.py", program.text)
        across = migrate_across([source], targets, settings=length)
        assert across.model is not None
        assert across.model.network is not None
        weights = scaled(weights_of(across.model.network))
        np.savez(place / "weights.npz", **weights)  # type: ignore[arg-type]  # the names are no options
        write_files(place / "out", across.files)
    return root


@pytest.fixture(scope="module")
def losses(folder: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = run_python(RUN, "torch", "source", folder)
    return found


@pytest.mark.parametrize(
    "target",
    cases(["torch", "tensorflow", "paddle", "jax"], [], "six programs in every framework"),
)
def test_every_update_is_that_of_the_original(
    target: str, folder: Path, losses: dict[str, list[float]]
) -> None:
    found: dict[str, list[float]] = run_python(RUN, target, target, folder, timeout=900)
    assert found.keys() == losses.keys()
    for name, wanted in losses.items():
        assert len(wanted) == UPDATES, name
        np.testing.assert_allclose(found[name], wanted, rtol=BOUND, atol=0, err_msg=name)
