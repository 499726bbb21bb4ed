"""Programs are carried whole: what they are migrated to makes the same updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from across_programs import PROGRAMS, UPDATES, scaled
from carried_models import weights_of
from crosscast.messages.output import write_files
from frameworks.subprocesses import TESTS, run_python
from tiers import Lazy, cases

RUN = TESTS / "frameworks" / "run_across.py"
BOUND = 1e-6
"""Of the difference of a loss, as a share of it."""


FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
PAIRS = [
    *(("torch", target) for target in FRAMEWORKS),
    *((s, t) for s in FRAMEWORKS[1:] for t in FRAMEWORKS if s != t),
]
"""Sources and targets."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("across")


@pytest.fixture(scope="module")
def folders(root: Path) -> Lazy[Path]:
    """Framework to a folder for every program, with data, weights, and what it was migrated to."""

    def made(framework: str) -> Path:
        for program in PROGRAMS:
            if program.framework != framework:
                continue
            place = root / framework / program.name
            place.mkdir(parents=True)
            program.prepared(place)
            across = program.migrated(FRAMEWORKS)
            assert across.model is not None
            assert across.model.network is not None
            weights: dict[str, Any] = scaled(weights_of(across.model.network))
            np.savez(place / "weights.npz", **weights)
            write_files(place / "out", across.files)
        return root / framework

    return Lazy(made)


@pytest.fixture(scope="module")
def losses(folders: Lazy[Path]) -> Lazy[dict[str, list[float]]]:
    """Framework to the losses of its programs."""
    return Lazy(lambda source: run_python(RUN, source, "source", folders[source], source))


@pytest.mark.parametrize(
    ("source", "target"), cases(PAIRS, [], "programs of every framework in the others")
)
def test_every_update_is_that_of_the_original(
    source: str,
    target: str,
    folders: Lazy[Path],
    losses: Lazy[dict[str, list[float]]],
) -> None:
    found: dict[str, list[float]] = run_python(RUN, target, target, folders[source], timeout=900)
    assert found.keys() == losses[source].keys()
    for name, wanted in losses[source].items():
        assert len(wanted) == UPDATES, name
        np.testing.assert_allclose(found[name], wanted, rtol=BOUND, atol=0, err_msg=name)
