"""Keras programs of TensorFlow 1 compute in Keras 3 what they computed in TensorFlow 1.15."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import run_python
from frameworks.tensorflow1_keras_programs import NAMED, PROGRAMS
from frameworks.test_tensorflow1 import OLD, assert_close
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow


def migrated(name: str, folder: Path) -> Any:
    """What a migrated program prints."""
    found = migrate_in_place([Source("train.py", PROGRAMS[name])], codemods_to("keras3"))
    assert tuple(refusal.message for refusal in found.refusals) == NAMED.get(name, ())
    assert not found.problems
    (folder / "train.py").write_text(found.texts["train.py"])
    return run_python(folder / "train.py", "tensorflow")


@OLD
@exhaustive("needs TensorFlow 1.15")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_the_same_as_in_tensorflow_1(name: str, tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(PROGRAMS[name])
    expected = run_python(program, "tensorflow@1.15")
    assert_close(migrated(name, tmp_path), expected, 2e-5)


def test_a_program_trains(tmp_path: Path) -> None:
    losses, steps = migrated("eager", tmp_path)
    assert losses[-1] < losses[1]  # of the same rows
    assert steps == len(losses)
