"""What the lint rules about JAX say is what the installed releases do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    answer: dict[str, Any] = run_python(Path(__file__).with_name("traps.py"), "jax")
    return answer


def test_a_clip_behind_adam_changes_nothing(found: dict[str, Any]) -> None:
    assert found["clip behind"] == found["no clip"]
    assert found["clip before"][1] != pytest.approx(found["no clip"][1], rel=0.1)


def test_a_decay_behind_the_rate_makes_weights_grow(found: dict[str, Any]) -> None:
    assert found["decay behind"] == pytest.approx([0.1])


def test_a_positive_factor_goes_along_the_gradient(found: dict[str, Any]) -> None:
    assert found["positive"] == pytest.approx([1e-3])


def test_a_clip_outside_of_multi_steps_sees_micro_batches(found: dict[str, Any]) -> None:
    """The mean of 3 and -1 is 1, of the clipped ones 0."""
    assert found["outside"] == [0.0, 0.0]
    assert found["inside"] == [0.0, -1.0]


def test_some_updates_need_the_weights(found: dict[str, Any]) -> None:
    errors = found["without weights"]
    assert {name for name, error in errors.items() if not error} == {"adam", "sgd"}
    assert set(errors.values()) == {"ValueError", "TypeError", ""}


def test_without_its_state_adam_takes_its_first_step_again(found: dict[str, Any]) -> None:
    assert found["lost"] == pytest.approx([-1e-3, 1e-3])
    assert found["kept"][1] != pytest.approx(found["lost"][1], rel=0.1)


def test_a_loss_scale_hands_an_overflow_on(found: dict[str, Any]) -> None:
    gradient, scale = found["overflow"]
    assert not math.isfinite(gradient)
    assert scale == 2.0**15


def test_masks_are_true_for_what_decays(found: dict[str, Any]) -> None:
    assert found["masked"] == [0.0, 0.5]


def test_the_length_of_a_schedule_counts_its_warm_up(found: dict[str, Any]) -> None:
    assert found["rates"] == pytest.approx([1.0, 0.75, 0.0])


def test_an_optimizer_of_nnx_wants_the_model(found: dict[str, Any]) -> None:
    assert found["nnx"] == ["TypeError", "TypeError", ""]


def test_new_weights_are_returned_and_the_old_ones_stay(found: dict[str, Any]) -> None:
    assert found["dropped"] == [1.0, 1.0, 0.0, 0.0]


def test_devices_under_pmap_join_nothing_by_themselves(found: dict[str, Any]) -> None:
    assert found["apart"] == [0.0, -2.0]
    assert found["joined"] == [-1.0, -1.0]
