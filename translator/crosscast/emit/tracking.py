"""What the templates of a script see of its trackers."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import Frame
from crosscast.emit.render import py_literal

_TITLES = {
    "tensorboard": "TensorBoard",
    "mlflow": "MLflow",
    "wandb": "Weights & Biases",
    "trackio": "Trackio",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingView:
    """Where a script reports what it measures; with the defaults nowhere."""

    trackers: tuple[str, ...] = ()
    """The fields of the section that are used."""
    writer: str = ""
    """Module whose SummaryWriter writes for TensorBoard; empty for that of tf.summary."""
    constants: tuple[str, ...] = ()
    """The items of `TRACKING`, as lines."""

    @property
    def used(self) -> bool:
        """Whether the script reports anywhere."""
        return bool(self.trackers)

    @property
    def tensorboard(self) -> bool:
        """Whether it writes files for TensorBoard."""
        return "tensorboard" in self.trackers

    @property
    def mlflow(self) -> bool:
        """Whether it reports to MLflow."""
        return "mlflow" in self.trackers

    @property
    def wandb(self) -> bool:
        """Whether it reports to Weights & Biases."""
        return "wandb" in self.trackers

    @property
    def trackio(self) -> bool:
        """Whether it reports to Trackio."""
        return "trackio" in self.trackers

    @property
    def numbered(self) -> bool:
        """Whether a resumed run needs the number that a tracker gave it."""
        return self.mlflow or self.wandb

    @property
    def titles(self) -> str:
        """The trackers in words."""
        *others, last = [_TITLES[name] for name in self.trackers]
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def packages(self) -> tuple[str, ...]:
        """What must be installed to report."""
        own = {"tensorboard": "tensorboardX" if self.writer == "tensorboardX" else "tensorboard"}
        return tuple(own.get(name, name) for name in self.trackers)

    @property
    def missing(self) -> str:
        """The command that installs them, as part of a message in the script."""
        return f"pip install {' '.join(self.packages)}"


def tracking_view(frame: Frame, writer: str = "", *, events: bool = True) -> TrackingView:
    """Return the view of the trackers of a script.

    Args:
        frame: What the script is about.
        writer: See `TrackingView`.
        events: Whether the script can write files for TensorBoard.
    """
    data = frame.tracking.model_dump()
    used = [name for name in data if data[name] is not None and (events or name != "tensorboard")]
    return TrackingView(
        trackers=tuple(used),
        writer=writer,
        constants=tuple(
            f"    {py_literal(f'{name}.{field}')}: {py_literal(value)},"
            for name in used
            for field, value in data[name].items()
        ),
    )
