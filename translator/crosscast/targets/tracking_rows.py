"""Rows of the trackers that every emitted script reports to with the same lines."""

from __future__ import annotations

from functools import partial

from crosscast.targets.capability import Row

_PROBE = "frameworks/test_tracking.py::test_trackers_hold_the_trace"
_row = partial(Row, probe=_PROBE)

TRACKING_ROWS = (
    _row(path="tracking.mlflow", how="mlflow.log_metrics for every window, in one run"),
    _row(path="tracking.wandb", how="wandb.init and log for every window, offline by default"),
    _row(path="tracking.trackio", how="trackio.init and log for every window, local by default"),
)
"""Without that of TensorBoard, whose files every framework writes by itself."""


def tensorboard_row(how: str) -> Row:
    """Return the row of a framework that writes files for TensorBoard."""
    return _row(path="tracking.tensorboard", how=how)
