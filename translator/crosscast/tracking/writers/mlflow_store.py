"""Write an MLflow store in a SQLite file, through MLflow's client."""

from __future__ import annotations

from pathlib import Path

from crosscast.tracking.writers import PROJECT, read_request

STORE = "mlflow.db"
MOST = 1000
"""Numbers that MLflow takes in one call."""
LONGEST = 6000
"""Characters of a parameter."""


def main() -> None:
    """Write all runs."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    request = read_request()
    client = MlflowClient(tracking_uri=f"sqlite:///{Path(request['folder'], STORE).as_posix()}")
    artifacts = Path(request["place"], "artifacts").as_uri()
    experiment = client.create_experiment(PROJECT, artifact_location=artifacts)
    for run in request["runs"]:
        time = int(1000 * run["time"])
        created = client.create_run(experiment, start_time=time, run_name=run["name"])
        number = created.info.run_id
        metrics = [
            Metric(name, value, time, step)
            for step, values in run["points"]
            for name, value in values.items()
        ]
        for first in range(0, len(metrics), MOST):
            client.log_batch(number, metrics=metrics[first : first + MOST])
        params = [Param(name, str(value)[:LONGEST]) for name, value in run["facts"].items()]
        client.log_batch(number, params=params)
        client.set_terminated(number, "FINISHED" if run["finished"] else "FAILED", end_time=time)


if __name__ == "__main__":
    main()
