"""Clips that a program makes itself, read off the gradients before and after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crosscast_parity.reading.clips import changes_gradients, clip_of
from crosscast_parity.recordings.observations import ObservedWindow
from crosscast_parity.recordings.trace import TraceRow

Gradients = dict[str, np.ndarray]
ROW = TraceRow(
    window=0,
    n_micro=1,
    rows=4,
    loss=None,
    lr=0.1,
    grad_norm=1.0,
    scale=1.0,
    skipped=False,
    updates=1,
)


def windows_of(
    change: Callable[[Gradients], Gradients], scale: float = 1.0
) -> list[ObservedWindow]:
    """Return three updates; the gradients of the last are small."""
    rng = np.random.default_rng(5)
    found: list[ObservedWindow] = []
    for size in (2.0, 1.0, 0.001):
        total = {
            "weight": size * rng.normal(size=(3, 4)).astype(np.float32),
            "bias": 3 * size * rng.normal(size=(4,)).astype(np.float32),
        }
        found.append(
            ObservedWindow(
                window=len(found),
                micro_rows=(),
                losses=(),
                factors=(),
                gradient_dtypes={},
                row=replace(ROW, scale=scale),
                before={},
                after={},
                total={name: scale * value for name, value in total.items()},
                first={},
                applied=change(total),
            )
        )
    return found


def whole_norm(gradients: Gradients) -> float:
    return float(np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradients.values())))


def by_norm(gradients: Gradients) -> Gradients:
    factor = min(1.0, 0.05 / (whole_norm(gradients) + 1e-6))
    return {name: np.float32(factor) * value for name, value in gradients.items()}


def by_norms(gradients: Gradients) -> Gradients:
    return {name: by_norm({name: value})[name] for name, value in gradients.items()}


def by_value(gradients: Gradients) -> Gradients:
    return {name: np.clip(value, -0.3, 0.3) for name, value in gradients.items()}


@pytest.mark.parametrize(
    ("change", "kind", "limit"),
    [(by_norm, "global_norm", 0.05), (by_norms, "per_param_norm", 0.05), (by_value, "value", 0.3)],
)
@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_a_clip_is_named_with_its_limit(
    change: Callable[[Gradients], Gradients], kind: str, limit: float, scale: float
) -> None:
    windows = windows_of(change, scale)
    found = clip_of(windows)
    assert changes_gradients(windows)
    assert found is not None
    assert (found.kind, found.limit) == (kind, limit)
    assert found.windows == 2


def halved(gradients: Gradients) -> Gradients:
    return {name: value / 2 for name, value in gradients.items()}


def normalized(gradients: Gradients) -> Gradients:
    return {
        name: value * np.float32(0.05 / whole_norm(gradients)) for name, value in gradients.items()
    }


def noisy(gradients: Gradients) -> Gradients:
    return {name: value + np.float32(0.01) for name, value in gradients.items()}


@pytest.mark.parametrize("change", [halved, normalized, noisy])
def test_other_changes_are_no_clips(change: Callable[[Gradients], Gradients]) -> None:
    windows = windows_of(change)
    assert changes_gradients(windows)
    assert clip_of(windows) is None


def test_gradients_that_are_left_alone_are_no_clip() -> None:
    windows = windows_of(dict)
    assert not changes_gradients(windows)
    assert clip_of(windows) is None
