"""Programs of TensorFlow 1 compute under tf.compat.v1 what they computed in TensorFlow 1.15.

With CROSSCAST_TENSORFLOW_1_15 naming a Python that has TensorFlow 1.15, they also run there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import run_python
from frameworks.tensorflow1_programs import PROGRAMS
from tiers import Lazy, cases, exhaustive

pytestmark = pytest.mark.tensorflow

OLD = pytest.mark.skipif(
    "CROSSCAST_TENSORFLOW_1_15" not in os.environ,
    reason="needs TensorFlow 1.15: let CROSSCAST_TENSORFLOW_1_15 name its Python (docs/testing.md)",
)
SCALES = ["dynamic_scale", "exponential_scale", "fixed_scale", "rewrite"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Lazy[Any]:
    """What the migrated programs print."""

    def run(name: str) -> Any:
        folder = tmp_path_factory.mktemp(name)
        migrated = migrate_in_place(
            [Source("train.py", PROGRAMS[name])], codemods_to("tf.compat.v1")
        )
        assert not migrated.refusals
        assert not migrated.problems
        for file, text in (migrated.texts | migrated.added).items():
            (folder / file).write_text(text)
        return run_python(folder / "train.py", "tensorflow", folder / "out")

    return Lazy(run)


@OLD
@exhaustive("needs TensorFlow 1.15")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_the_same_as_in_tensorflow_1(
    found: Lazy[Any], name: str, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAMS[name])
    expected = run_python(program, "tensorflow@1.15", tmp_path / "out")
    # The order of sums in float16 differs.
    assert_close(found[name], expected, 5e-3 if name in SCALES else 2e-5)


def assert_close(actual: Any, expected: Any, relative: float) -> None:
    """Compare nested JSON; numbers may differ by rounding."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key in expected:
            assert_close(actual[key], expected[key], relative)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, two in zip(actual, expected, strict=True):
            assert_close(one, two, relative)
    elif isinstance(expected, float):
        np.testing.assert_allclose(actual, expected, rtol=relative, atol=relative / 10)
    else:
        assert actual == expected


@exhaustive("more programs; `make test` runs the loss scale of one")
@pytest.mark.parametrize("name", ["layers", "cells"])
def test_a_program_trains(found: Lazy[Any], name: str) -> None:
    losses = found[name]
    assert len(losses) >= 20
    assert losses[19] < losses[0]


@exhaustive("starts two sessions for every phase")
def test_an_estimator_trains_on_from_its_checkpoint(found: Lazy[Any]) -> None:
    losses, (first, last), rows, names = found["estimator"]
    assert len(losses) == 20
    assert sum(losses[-2:]) < sum(losses[:2])
    assert first["global_step"] == 20
    assert last["global_step"] == 22
    assert len(rows) == 8
    assert "dense/kernel" in names


@exhaustive("starts two sessions")
def test_a_tpu_estimator_passes_the_batch_size(found: Lazy[Any]) -> None:
    assert found["tpu"]["global_step"] == 20
    assert found["tpu"]["mean"] == pytest.approx(found["tpu"]["loss"], rel=1e-5)


@pytest.mark.parametrize(
    "name", cases(SCALES, quick=["dynamic_scale"], reason="more kinds of loss scales")
)
def test_a_loss_scale_skips_and_adapts(found: Lazy[Any], name: str) -> None:
    steps = [step for _, step, *_ in found[name]]
    scales = [scale for _, _, scale, _ in found[name]]
    weights = [kernel for *_, kernel in found[name]]
    skipped = [number for number in range(1, 24) if steps[number] == steps[number - 1]]
    assert {5, 6, 13} <= set(skipped)
    for number in range(1, 24):
        assert (weights[number] == weights[number - 1]) == (number in skipped)
    lower = [number for number in range(1, 24) if scales[number] < scales[number - 1]]
    assert (
        lower
        == {
            "dynamic_scale": skipped,
            "rewrite": skipped,
            "exponential_scale": [number for number in skipped if number in lower],
            "fixed_scale": [],
        }[name]
    )
    assert np.isfinite(weights[-1]).all()


@exhaustive("starts TensorFlow")
def test_hparams_parse(found: Lazy[Any]) -> None:
    values, total, present, absent, again = found["hparams"]
    assert values["layers"] == [8, 2, 1]
    assert values["deep"] is True
    assert values["name"] == "y z"
    assert values["steps"] == 9
    assert (total, present, absent) == (4.0, True, 5)
    assert again == values


@exhaustive("starts TensorFlow")
def test_mnist_is_read_in_batches(found: Lazy[Any]) -> None:
    batches, epochs, count, validation, labels = found["mnist"]
    assert [len(images) for images, _ in batches] == [17] * 5 + [4]
    assert (epochs, count, len(validation), len(labels)) == (2, 42, 8, 10)
