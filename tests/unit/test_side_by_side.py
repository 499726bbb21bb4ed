"""Two recordings held against each other: what differs, what is shown, what cannot be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crosscast_parity.side_by_side.comparison import (
    FLOOR,
    Bounds,
    bounds_of,
    differences,
    first_of,
    floor_of,
    identical,
)
from crosscast_parity.side_by_side.recording import Clip, Recording, TensorSummary
from crosscast_parity.side_by_side.shown_fields import shown, shown_by_overflow
from recorded_runs import SETTINGS, SKIP, attempt, off, recording, times


def first(left: Recording, right: Recording, bounds: Bounds = Bounds()) -> tuple[int, str] | None:  # noqa: B008
    found = first_of(differences(left, right, bounds))
    return (found.update, found.what) if found else None


# comparing


def test_a_recording_is_identical_to_itself() -> None:
    assert identical(times(3), times(3))
    assert first(times(3), times(3)) is None


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("optimizer", {"optimizer": 1}),
        ("backwards", {"backwards": 1}),
        ("rate", {"settings": ({**SETTINGS, "lr": 0.2},)}),
        ("weight_decay", {"settings": ({**SETTINGS, "weight_decay": 0.0},)}),
        ("betas", {"settings": ({**SETTINGS, "betas": [0.8, 0.999]},)}),
        ("clipping", {"clips": (Clip(kind="value", limit=1.0, size=0.0),)}),
        ("tensors", {"changes": (TensorSummary(4, 0.2, 0.1),)}),
        ("tensors", {"changes": (TensorSummary(6, 0.2, 0.1), TensorSummary(2, 0.02, 0.01))}),
        ("gradients", {"gradients": (TensorSummary(4, 1.0, 0.5), TensorSummary(2, 0.2, 0.05))}),
        ("gradients", {"gradients": (TensorSummary(4, 1.0, -0.5), TensorSummary(2, 0.1, 0.05))}),
        ("gradients", {"gradients": (TensorSummary(4, 1.0, 0.5), None)}),
        (
            "gradients",
            {"gradients": (TensorSummary(4, float("nan"), 0.5), TensorSummary(2, 0.1, 0.05))},
        ),
        (
            "gradients",
            {"gradients": (TensorSummary(4, float("inf"), 0.5), TensorSummary(2, 0.1, 0.05))},
        ),
        ("changes", {"changes": (TensorSummary(4, 0.2, 0.1), TensorSummary(2, 0.02, 0.0100001))}),
    ],
)
def test_what_differs_is_named_with_its_update(what: str, changes: dict[str, Any]) -> None:
    other = recording(attempt(), attempt(), attempt(**changes))
    assert first(times(3), other) == (3, what)
    assert not identical(times(3), other)


def test_a_difference_in_the_last_bit_is_not_identical_and_no_difference() -> None:
    other = times(3, changes=(TensorSummary(4, 0.2, 0.1), TensorSummary(2, 0.02, 0.01 + 1e-12)))
    assert not identical(times(3), other)
    assert first(times(3), other) is None


def test_settings_of_another_class_may_mean_something_else() -> None:
    other = times(2, cls="FusedAdam", settings=({**SETTINGS, "weight_decay": 0.0},))
    assert first(times(2), other) is None
    assert first(times(2), times(2, cls="FusedAdam", settings=({"lr": 0.2, "tensors": 2},))) == (
        1,
        "rate",
    )


def test_groups_may_be_cut_otherwise() -> None:
    group = {**SETTINGS, "tensors": 1}
    assert first(times(2), times(2, settings=(group, group))) is None
    assert first(times(2), times(2, settings=(group, {**group, "lr": 0.2}))) == (1, "rate")


def test_fewer_updates_and_more_updates_differ() -> None:
    assert first(times(4), times(2)) == (3, "updates")
    assert first(times(2), times(4)) == (3, "updates")


def test_what_other_code_does_to_the_weights_differs_at_the_end() -> None:
    other = replace(times(2), final=(TensorSummary(4, 2.0, 1.0), TensorSummary(2, 0.3, 0.1)))
    assert first(times(2), other) == (2, "final")


def test_what_clipping_hides_differs() -> None:
    """Gradients that are all cut to one norm are the same, whatever they were."""
    left, right = (Clip(kind="global_norm", limit=0.5, size=size) for size in (2.0, 4.0))
    assert first(times(2, clips=(left,)), times(2, clips=(right,))) == (1, "norm")
    near = replace(left, size=2.0 + 1e-7)
    assert first(times(2, clips=(left,)), times(2, clips=(near,))) is None
    assert first(times(2, clips=(left,)), times(2, clips=(replace(left, size=float("inf")),))) is (
        None
    )


def test_a_missing_skip_differs() -> None:
    left = recording(attempt(scale=8.0), SKIP, attempt(scale=4.0))
    assert first(left, recording(attempt(scale=8.0), attempt(scale=8.0), attempt(scale=4.0))) == (
        2,
        "skips",
    )
    assert first(left, recording(attempt(scale=8.0), SKIP, attempt(scale=8.0))) == (2, "scale")
    assert first(left, left) is None


def test_a_step_that_no_scaler_makes_differs() -> None:
    assert first(times(2, scale=8.0), times(2)) == (1, "skips")
    assert first(times(2), times(2, scale=8.0)) is None


def test_skips_of_a_scaler_that_is_not_seen_are_merged() -> None:
    """Apex skips unseen: the backward passes of a skipped attempt come before the next update."""
    left = recording(attempt(), attempt(backwards=4))
    right = recording(attempt(scale=8.0), SKIP, attempt(scale=4.0))
    assert first(left, right) is None
    assert first(recording(attempt(), attempt()), right) == (2, "backwards")


def test_infinite_gradients_on_both_sides_are_the_same() -> None:
    left = times(
        2, gradients=(TensorSummary(4, float("nan"), 0.5), TensorSummary(2, float("inf"), 1.0))
    )
    right = times(
        2, gradients=(TensorSummary(4, float("nan"), 0.1), TensorSummary(2, float("inf"), -1.0))
    )
    assert first(left, right) is None


def test_bounds_grow_with_what_rounding_does() -> None:
    moved = recording(attempt(), attempt(**off(1e-4)), attempt())
    bounds = bounds_of(times(3), moved)
    assert first(times(3), recording(attempt(**off(1e-4)), attempt(), attempt()), bounds) == (
        1,
        "gradients",
    )
    for at in (1, 2):  # a bound never falls again
        attempts = [attempt(), attempt(), attempt()]
        attempts[at] = attempt(**off(5e-4))
        assert first(times(3), recording(*attempts), bounds) is None
        attempts[at] = attempt(**off(1e-2))
        assert first(times(3), recording(*attempts), bounds) == (at + 1, "gradients")


def test_versions_of_keras_may_round_the_bias_correction_otherwise() -> None:
    old = replace(times(2), framework="tensorflow", version="2")
    new = replace(old, version="3")
    assert floor_of(old, new) == pytest.approx(2**-23 / 0.001)
    assert floor_of(old, old) == floor_of(times(2), times(2)) == FLOOR
    rated = times(2, settings=({"lr": 0.1, "tensors": 2},))
    plain = replace(rated, framework="tensorflow", version="2")
    assert floor_of(plain, new) == FLOOR


def test_where_rounding_alone_decides_nothing_is_said() -> None:
    chaos = attempt(changes=(TensorSummary(4, 0.3, 0.1), TensorSummary(2, 0.02, 0.01)))
    bounds = bounds_of(times(3), recording(attempt(), chaos, chaos))
    assert bounds.stable(3) == 1
    assert first(times(3), recording(attempt(), chaos, attempt(backwards=1)), bounds) is None
    assert first(times(3), recording(attempt(backwards=1), chaos, chaos), bounds) == (
        1,
        "backwards",
    )


# shown


def test_fields_are_shown_by_what_would_have_differed() -> None:
    clipped = (Clip(kind="global_norm", limit=0.5, size=0.7),)
    found = shown(times(3, clips=clipped), times(3, clips=clipped), 3)
    assert found["optimizer.learning_rate"] == "0.1 on both sides in 3 updates"
    assert found["optimizer.betas"] == "both optimizers received 0.9, 0.999"
    assert found["clipping.max_norm"] == ("global_norm 0.5 on both sides; it cut 3 of 3 updates")
    assert found["accumulation.steps"] == "2 backward passes before an update on both sides"
    for field in ("schedule.name", "loss_scaling.init_scale", "precision.compute_dtype"):
        assert field not in found


def test_clipping_that_never_cut_is_not_shown() -> None:
    clipped = (Clip(kind="global_norm", limit=0.5, size=0.3),)
    assert "clipping.max_norm" not in shown(times(3, clips=clipped), times(3, clips=clipped), 3)
    assert "clipping.kind" not in shown(times(3), times(3), 3)


def test_one_update_shows_no_optimizer() -> None:
    assert "optimizer.name" not in shown(times(1), times(1), 1)
    assert "optimizer.name" in shown(times(2), times(2), 2)
    assert shown(times(2), times(2), 0) == {}


def test_settings_that_a_tensor_has_for_itself_are_not_shown() -> None:
    groups = ({**SETTINGS, "tensors": 1}, {**SETTINGS, "tensors": 1, "weight_decay": 0.0})
    found = shown(times(2, settings=groups), times(2, settings=groups), 2)
    assert "optimizer.weight_decay" not in found
    assert "optimizer.betas" in found


def test_a_schedule_is_shown_only_if_the_rate_moves() -> None:
    moving = recording(attempt(), attempt(settings=({**SETTINGS, "lr": 0.05},)))
    assert shown(moving, moving, 2)["schedule.name"] == (
        "the same rates on both sides, 0.05 to 0.1, in 2 updates"
    )


def test_half_precision_is_shown_where_modules_compute_in_it() -> None:
    half = times(2, types=("float16", "float32"))
    assert shown(half, half, 2)["precision.compute_dtype"] == (
        "modules compute in float16 on both sides"
    )


def test_an_overflow_shows_the_skip_and_the_back_off() -> None:
    skips = recording(attempt(scale=8.0), SKIP, attempt(scale=4.0))
    found = shown_by_overflow(skips, skips)
    assert found["loss_scaling.backoff_factor"] == "the scale falls from 8 to 4 on both sides"
    assert shown_by_overflow(times(2), times(2)) == {}
