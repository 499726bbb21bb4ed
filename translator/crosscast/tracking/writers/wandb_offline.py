"""Write runs of Weights & Biases in offline mode; `wandb sync` sends them where it is wanted."""

from __future__ import annotations

import shutil
from pathlib import Path

from crosscast.tracking.writers import PROJECT, read_request


def main() -> None:
    """Write all runs."""
    import wandb

    request = read_request()
    folder = Path(request["folder"])
    settings = wandb.Settings(
        mode="offline",
        root_dir=str(folder),
        console="off",
        silent=True,
        disable_git=True,
        disable_code=True,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )
    for run in request["runs"]:
        created = wandb.init(
            project=PROJECT,
            name=run["name"],
            dir=str(folder),
            config=run["facts"],
            settings=settings,
            reinit="finish_previous",
        )
        for step, values in run["points"]:
            created.log(values, step=step)
        created.finish(exit_code=0 if run["finished"] else 1)
    wandb.teardown()
    for path in [*folder.rglob("*")]:
        if path.is_symlink():
            path.unlink()  # to logs, and to the last run
        elif path.name in ("logs", "tmp") and path.parent.name.startswith("offline-run-"):
            shutil.rmtree(path)


if __name__ == "__main__":
    main()
