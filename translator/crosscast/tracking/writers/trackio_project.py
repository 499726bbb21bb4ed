"""Write a local project of Trackio."""

from __future__ import annotations

from pathlib import Path

from crosscast.tracking.writers import PROJECT, read_request


def main() -> None:
    """Write all runs."""
    import trackio

    request = read_request()
    for run in request["runs"]:
        trackio.init(
            project=PROJECT,
            name=run["name"],
            config=run["facts"],
            embed=False,
            auto_log_cpu=False,
            auto_log_gpu=False,
        )
        for step, values in run["points"]:
            trackio.log(values, step=step)
        trackio.finish()
    for lock in Path(request["folder"]).glob("*.lock"):
        lock.unlink()


if __name__ == "__main__":
    main()
