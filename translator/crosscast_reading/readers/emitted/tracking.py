"""The trackers of an emitted script, from `TRACKING` and the class `Tracking`."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.script import Script

_FIELDS = {
    "tensorboard": ("log_dir",),
    "mlflow": ("experiment", "name"),
    "wandb": ("project", "name"),
    "trackio": ("project", "name"),
}
_CALLS = {
    "tensorboard": ("self.tensorboard.add_scalar(", "tf.summary.scalar("),
    "mlflow": ("mlflow.log_metrics(",),
    "wandb": ("self.wandb.log(",),
    "trackio": ("trackio.log(",),
}
"""What a script calls for as long as it reports to a tracker."""


def tracking(script: Script) -> Iterator[Fact]:
    """Yield the facts about the trackers that a script still reports to."""
    names = script.constants.get("TRACKING")
    if not isinstance(names, dict) or "Tracking(run)" not in script.text("train"):
        return
    text = script.text("Tracking")
    for tracker, fields in _FIELDS.items():
        if any(call in text for call in _CALLS[tracker]):
            for path in (f"{tracker}.{field}" for field in fields):
                if isinstance(names.get(path), str):
                    yield script.fact(f"tracking.{path}", names[path], "TRACKING")
