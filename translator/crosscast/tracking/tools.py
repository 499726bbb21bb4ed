"""The tools that runs are exported to, and how their libraries are run."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from crosscast.messages.diagnostics import failure
from crosscast.messages.missing_packages import package_missing
from crosscast.tracking.runs import TracedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool with a library.

    `writer`: module that writes runs with it. `show`: command that shows the folder `{0}`.
    `prefixes`: of the user's variables that its library must not see, because they can lead to a
    server. `variables`: that it gets; `{folder}` is the folder to write to, `{scratch}` one for
    what is not kept.
    """

    package: str
    writer: str
    show: str
    prefixes: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


TOOLS: Mapping[str, Tool] = {
    "tensorboard": Tool(
        package="tensorboard",
        writer="tensorboard_events",
        show="tensorboard --logdir {0}",
    ),
    "mlflow": Tool(
        package="mlflow",
        writer="mlflow_store",
        show="mlflow ui --backend-store-uri sqlite:///{0}/mlflow.db",
        prefixes=("MLFLOW_",),
        variables={"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
    ),
    "wandb": Tool(
        package="wandb",
        writer="wandb_offline",
        show="wandb sync {0}/wandb/offline-run-*",
        prefixes=("WANDB_",),
        variables={
            "WANDB_MODE": "offline",
            "WANDB_ERROR_REPORTING": "false",
            "WANDB_CACHE_DIR": "{scratch}",
            "WANDB_CONFIG_DIR": "{scratch}",
            "WANDB_DATA_DIR": "{scratch}",
        },
    ),
    "trackio": Tool(
        package="trackio",
        writer="trackio_project",
        show="TRACKIO_DIR={0} trackio show --project crosscast",
        prefixes=("TRACKIO_", "SPACE_"),
        variables={"TRACKIO_DIR": "{folder}", "HF_HUB_OFFLINE": "1"},
    ),
}
TIMEOUT = 1800.0


def write_with(tool: Tool, runs: Sequence[TracedRun], folder: Path, place: Path) -> None:
    """Write runs with the library of a tool, in a process.

    Args:
        tool: the tool.
        runs: what to write.
        folder: empty folder to write to.
        place: path that the folder will have.

    Raises:
        DiagnosticError: CC401 if the library is missing, CC717 if it fails.
    """
    require(tool)
    request = {
        "folder": str(folder),
        "place": str(place),
        "runs": [_document(run) for run in runs],
    }
    kept = {k: v for k, v in os.environ.items() if not k.startswith(tool.prefixes or "\0")}
    with TemporaryDirectory(prefix="crosscast-") as scratch:
        own = {
            name: value.format(folder=folder, scratch=scratch)
            for name, value in tool.variables.items()
        }
        # -P: no module of the current folder is taken for one of the library.
        command = [sys.executable, "-P", "-m", f"crosscast.tracking.writers.{tool.writer}"]
        try:
            process = subprocess.run(
                command,
                input=json.dumps(request),
                env=kept | own,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise failure("CC717", f"{tool.package}: not done after {TIMEOUT:g} s") from None
    if process.returncode:
        last = process.stderr.strip().rpartition("\n")[2][:300] or f"exit code {process.returncode}"
        raise failure("CC717", f"{tool.package}: {last}")


def require(tool: Tool) -> None:
    """Refuse a tool whose library is not installed.

    Raises:
        DiagnosticError: CC401.
    """
    if importlib.util.find_spec(tool.package) is None:
        error = ModuleNotFoundError(name=tool.package)
        raise package_missing("this export needs", error, "tracking")


def _document(run: TracedRun) -> dict[str, object]:
    return {
        "name": run.name,
        "time": run.time,
        "facts": dict(run.facts),
        "finished": run.facts.get("status", "finished") == "finished",
        "points": [[point.step, dict(point.values)] for point in run.points],
    }
