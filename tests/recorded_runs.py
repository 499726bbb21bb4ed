"""Recordings of runs, in small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording, TensorSummary

SETTINGS = {"tensors": 2, "lr": 0.1, "weight_decay": 0.01, "betas": [0.9, 0.999]}


def attempt(**changes: Any) -> RecordedAttempt:
    return replace(
        RecordedAttempt(
            optimizer=0,
            cls="AdamW",
            skipped=False,
            backwards=2,
            scale=None,
            settings=(SETTINGS,),
            clips=(),
            gradients=(TensorSummary(4, 1.0, 0.5), TensorSummary(2, 0.1, 0.05)),
            changes=(TensorSummary(4, 0.2, 0.1), TensorSummary(2, 0.02, 0.01)),
            types=("float32",),
        ),
        **changes,
    )


def recording(*attempts: RecordedAttempt, **changes: Any) -> Recording:
    final = (TensorSummary(4, 2.0, 1.0), TensorSummary(2, 0.2, 0.1))
    return replace(Recording(attempts=attempts, final=final, whole=True, device="cpu"), **changes)


def times(count: int, **changes: Any) -> Recording:
    return recording(*[attempt(**changes) for _ in range(count)])


def off(relative: float) -> dict[str, Any]:
    return {"gradients": (TensorSummary(4, 1.0 + relative, 0.5), TensorSummary(2, 0.1, 0.05))}


SKIP = attempt(skipped=True, scale=8.0, gradients=(), changes=())
