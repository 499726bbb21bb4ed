"""Where the emitted script reports what it measures. This section does not affect the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from crosscast.recipe.section import PATH_PATTERN, FilePath, Section

# What Weights & Biases forbids in the name of a project, besides what no printed text may have.
PROJECT_PATTERN = PATH_PATTERN.replace("[^", r"[^/\\#?%:")
ProjectName = Annotated[str, Field(min_length=1, max_length=128, pattern=PROJECT_PATTERN)]
RunName = Annotated[str, Field(min_length=1, max_length=128, pattern=PATH_PATTERN)]


class TensorBoard(Section):
    """Files for TensorBoard. `true` stands for all defaults."""

    log_dir: FilePath = "tensorboard"
    """Folder of the event files; a relative path is below the run's output folder."""


class Mlflow(Section):
    """A run in MLflow. `true` stands for all defaults. `MLFLOW_TRACKING_URI` chooses the server;
    without it MLflow writes to a local database."""

    experiment: RunName
    """Default: the name of the recipe."""
    name: RunName
    """Name of the run; default: the name of the recipe."""


class Wandb(Section):
    """A run in Weights & Biases, offline unless `WANDB_MODE=online`. `true` stands for all
    defaults."""

    project: ProjectName
    """Default: the name of the recipe."""
    name: RunName
    """Name of the run; default: the name of the recipe."""


class Trackio(Section):
    """A run in Trackio, in its local database. `true` stands for all defaults."""

    project: ProjectName
    """Default: the name of the recipe."""
    name: RunName
    """Name of the run; default: the name of the recipe. A resumed run goes on as the latest one of
    its name."""


class Tracking(Section):
    """Where the emitted script also reports loss, learning rate, gradient norm, loss scale, skipped
    windows and throughput. Without this section it imports none of these libraries. See
    docs/reference/tracking.md."""

    tensorboard: TensorBoard | None = None
    mlflow: Mlflow | None = None
    wandb: Wandb | None = None
    trackio: Trackio | None = None

    @property
    def used(self) -> bool:
        """Whether the script reports anywhere."""
        return self != Tracking()


_NAMED = {
    "mlflow": ("experiment", "name"),
    "wandb": ("project", "name"),
    "trackio": ("project", "name"),
}
"""Fields that are the name of the recipe unless they are given."""
SWITCHES = tuple(Tracking.model_fields)
"""Fields for which a file may say `true` or `false`."""


def derived(section: Mapping[str, Any], recipe_name: Any) -> dict[str, Any]:
    """Return the section with `true` as a mapping, without `false`, and with derived names."""
    trackers: dict[str, Any] = {}
    for tracker, value in section.items():
        if tracker not in SWITCHES or value is None:
            trackers[tracker] = value
        elif value is True or isinstance(value, Mapping):
            names = dict.fromkeys(_NAMED.get(tracker, ()), recipe_name)
            settings = {} if value is True else value
            trackers[tracker] = {**(names if isinstance(recipe_name, str) else {}), **settings}
        elif value is not False:
            trackers[tracker] = value
    return trackers
