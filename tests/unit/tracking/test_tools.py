"""Exports are read back by the libraries of the tools, each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import crosscast as cc
from crosscast.tracking.exporting import MARK
from crosscast.tracking.tools import TOOLS
from made_runs import made
from tiers import cases, exhaustive

READERS = {
    "tensorboard": """
import pathlib, sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray
for run in (path.name for path in pathlib.Path(folder).iterdir() if path.is_dir()):
    events = EventAccumulator(f"{folder}/{run}")
    events.Reload()
    for tag in events.Tags()["tensors"]:
        for event in events.Tensors(tag):
            add(run, tag, event.step, make_ndarray(event.tensor_proto).item())
""",
    "mlflow": """
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
(experiment,) = client.search_experiments(filter_string="name = 'crosscast'")
assert experiment.artifact_location.endswith("/out/artifacts"), experiment.artifact_location
for run in client.search_runs([experiment.experiment_id]):
    assert run.data.params["versions/torch"] == "2.13.0"
    assert run.info.status == "FINISHED"
    for name in run.data.metrics:
        for metric in client.get_metric_history(run.info.run_id, name):
            add(run.info.run_name, name, metric.step, metric.value)
""",
    "wandb": """
from pathlib import Path
from wandb.proto.wandb_internal_pb2 import Record

def records(data):  # LevelDB's log: blocks of 32 KiB, pieces of records behind 7 bytes
    place, whole = 7, b""
    while place < len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        whole += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):
            yield whole
            whole = b""

for path in Path(folder, "wandb").glob("offline-run-*/*.wandb"):
    run, exits = "", []
    for raw in records(path.read_bytes()):
        record = Record.FromString(raw)
        if record.HasField("run"):
            run = record.run.display_name
            texts = {item.key or item.nested_key[0]: item.value_json
                     for item in record.run.config.update}
            assert "2.13.0" in str(texts), texts
        elif record.HasField("exit"):
            exits.append(record.exit.exit_code)
        elif record.HasField("history"):
            values = {item.key or ".".join(item.nested_key): json.loads(item.value_json)
                      for item in record.history.item}
            step = values.pop("_step")
            for name, value in values.items():
                if not name.startswith("_"):
                    add(run, name, step, value)
    assert exits == [0]
""",
    "trackio": """
from trackio.sqlite_storage import SQLiteStorage
for run in SQLiteStorage.get_runs("crosscast"):
    for row in SQLiteStorage.get_logs("crosscast", run):
        step = row.pop("step")
        for name, value in row.items():
            if name != "timestamp":
                add(run, name, step, value)
""",
}
READER = """
import json, sys
folder, found = sys.argv[1], []
def add(run, name, step, value):
    found.append([run, name, step, value])
{}
print(json.dumps(found))
"""
Values = dict[tuple[str, str, int], list[float]]


def read(to: str, folder: Path) -> Values:
    """Return the values of an export by run, name and step, as the tool's library reads them."""
    variables = os.environ | {"TRACKIO_DIR": str(folder), "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", READER.format(READERS[to]), str(folder)],
        capture_output=True,
        text=True,
        env=variables,
    )
    assert done.returncode == 0, done.stderr
    found: Values = {}
    for run, name, step, value in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault((run, name, step), []).append(value)
    return found


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two runs, in a place whose settings would lead elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("TRACKIO_SERVER_URL", "http://127.0.0.1:9")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for to in TOOLS:
        Path(f"{to}.py").write_text("raise SystemExit('of the user')")
    return [made(tmp_path / name) for name in ("a", "b")]


def exported(to: str, runs: list[Path], force: bool = False) -> None:
    """Export runs, and compare what is read with their points."""
    if importlib.util.find_spec(TOOLS[to].package) is None:
        pytest.skip(f"{to} is not installed (pip install 'crosscast[tracking]')")
    found = cc.trace_export(runs, to, out="out", force=force)  # type: ignore[arg-type]
    ours: Values = {}
    for run in found.runs:
        for point in run.points:
            for name, value in point.values.items():
                ours[run.name, name, point.step] = [value]
    theirs = read(to, Path("out").absolute())
    assert theirs.keys() == ours.keys()
    for key, values in ours.items():
        assert theirs[key] == pytest.approx(values, rel=1e-6), key


TO = cases(TOOLS, ["tensorboard"], "the libraries of other tools, if they are installed")


@pytest.mark.parametrize("to", TO)
def test_the_library_reads_what_was_written(to: str, runs: list[Path]) -> None:
    exported(to, runs)
    users = {"a", "b", "home", *(f"{name}.py" for name in TOOLS)}
    assert {path.name for path in Path().iterdir()} == {"out", *users}
    assert list(Path("home").iterdir()) == []
    assert not any(path.is_symlink() for path in Path("out").rglob("*"))
    assert (Path("out") / MARK).exists()


@exhaustive("a second export into the same folder, with the libraries")
@pytest.mark.parametrize("to", TOOLS)
def test_a_second_export_replaces_the_first(to: str, runs: list[Path]) -> None:
    exported(to, runs)
    with pytest.raises(cc.DiagnosticError, match="CC501"):
        cc.trace_export(runs, to, out="out")  # type: ignore[arg-type]
    exported(to, runs[1:], force=True)
