"""Reads what a run left in its trackers: `read_tracked.py OUTPUT PROJECT`.

Prints as JSON, for every tracker that is installed, `values` (name to pairs of step and value, in
the order in which they were written) and `ended` (how the run was closed, None if that is not
kept). Nothing is asked of a network.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import struct
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Values = dict[str, list[tuple[int, float]]]
BLOCK = 32768


def tensorboard(output: Path, project: str) -> tuple[Values, Any]:
    name = "tensorboard.compat.notf"  # TensorFlow is not needed to read
    sys.modules[name] = types.ModuleType(name)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(
        str(output / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0}
    )
    events.Reload()
    tags = events.Tags()
    found = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    for tag in tags["tensors"]:  # of tf.summary
        found[tag] = [(e.step, make_ndarray(e.tensor_proto).item()) for e in events.Tensors(tag)]
    return found, None


def mlflow(output: Path, project: str) -> tuple[Values, Any]:
    from mlflow import MlflowClient

    client = MlflowClient()  # of MLFLOW_TRACKING_URI
    number = json.loads((output / "tracking.json").read_text())["mlflow"]
    run = client.get_run(number)
    history = {name: client.get_metric_history(number, name) for name in run.data.metrics}
    found = {name: [(m.step, m.value) for m in each] for name, each in history.items()}
    return found, run.info.status


def wandb(output: Path, project: str) -> tuple[Values, Any]:
    found: Values = {}
    ended = None
    number = json.loads((output / "tracking.json").read_text())["wandb"]
    for path in sorted((output / "wandb").glob(f"offline-run-*-{number}/*.wandb")):
        for record in _records(path.read_bytes()):
            if record.HasField("exit"):
                ended = record.exit.exit_code
            if record.HasField("history"):
                items = {
                    "/".join(item.nested_key) or item.key: json.loads(item.value_json)
                    for item in record.history.item
                }
                step = items.get("_step", record.history.step.num)
                for name in items:
                    if not name.startswith("_"):
                        found.setdefault(name, []).append((step, items[name]))
    return found, ended


def _records(data: bytes) -> Iterator[Any]:
    """Yield the records of a log in blocks, as LevelDB writes it; wandb offers no reader."""
    from wandb.proto.wandb_internal_pb2 import Record

    assert data.startswith(b":W&B")
    place, text = 7, b""
    while place + 7 <= len(data):
        left = BLOCK - place % BLOCK
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        text += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = Record()
            record.ParseFromString(text)
            yield record
            text = b""


def trackio(output: Path, project: str) -> tuple[Values, Any]:
    found: Values = {}
    with sqlite3.connect(Path(os.environ["TRACKIO_DIR"]) / f"{project}.db") as database:
        rows = database.execute("select run_id, step, metrics from metrics order by id").fetchall()
    for number, step, metrics in rows:
        if number == rows[-1][0]:
            for name, value in json.loads(metrics).items():
                found.setdefault(name, []).append((step, value))
    return found, None


if __name__ == "__main__":
    readers = {"tensorboard": tensorboard, "mlflow": mlflow, "wandb": wandb, "trackio": trackio}
    read = {}
    for name, reader in readers.items():
        if importlib.util.find_spec(name):
            values, ended = reader(Path(sys.argv[1]), sys.argv[2])
            read[name] = {"values": values, "ended": ended}
    print(json.dumps(read))
