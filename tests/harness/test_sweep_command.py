"""Whole sweeps, with stand-in scripts: executors, tables, progress, and the command."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.time_left import duration
from crosscast_parity.sweep import executor as executors
from crosscast_parity.sweep.cell import run_cell
from crosscast_parity.sweep.command import SweepOptions, exit_code, sweep_command
from crosscast_parity.sweep.driver import run_sweep
from crosscast_parity.sweep.executor import Resources, executor_names, make_executor
from crosscast_parity.sweep.local import LocalExecutor
from crosscast_parity.sweep.prepare import Training
from crosscast_parity.sweep.progress import Lines, WindowCounter
from crosscast_parity.sweep.spec import CellResult, write_result
from crosscast_parity.sweep.table import SweepTable
from sweep_fakes import InProcess, Silent, fake_compiler, make_cells, points, run, write_recipe
from tiers import cases

# the driver and its executor


def test_a_cell_that_vanishes_is_submitted_again(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2)))
    seen: list[Path] = []

    def work(cell: Path) -> str | None:
        seen.append(cell)
        if seen.count(cell) == 1:
            return "the node burnt down"
        run_cell(cell)
        return None

    executor, watch = InProcess(work), Silent()
    results = run_sweep(cells, executor, watch)
    assert len(executor.submitted) == 4
    assert {result.kind for result in results.values()} == {"finished"}
    assert watch.ends.count(("interrupted", True)) == 2
    assert watch.ticks > 4


def test_a_cell_that_always_vanishes_says_why(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1,)))
    executor = InProcess(lambda cell: "the node burnt down")
    results = run_sweep(cells, executor, Silent(), retries=2)
    assert len(executor.submitted) == 3
    assert results[cells[0].folder].message == "the node burnt down"


def test_an_interrupt_closes_the_executor(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2)))

    def work(cell: Path) -> str | None:
        raise KeyboardInterrupt

    executor, watch = InProcess(work), Silent()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(cells, executor, watch)
    assert executor.closed
    assert watch.closed


def test_an_old_failure_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1,)))
    write_result(cells[0].folder, CellResult(kind="failed", message="long ago"))
    results = run_sweep(cells, InProcess(lambda cell: "gone"), Silent(), retries=0)
    assert results[cells[0].folder].message == "gone"


class EntryPoint:
    name = "toy"

    @staticmethod
    def load() -> Any:
        return lambda resources: InProcess(lambda cell: str(run_cell(cell).kind))


class Broken(EntryPoint):
    @staticmethod
    def load() -> Any:
        raise ImportError("no module named sun")


def test_executors_are_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"local", "slurm"} <= set(executor_names())
    monkeypatch.setattr(executors, "entry_points", lambda group: [EntryPoint()])
    options = SweepOptions(
        folder=tmp_path / "out",
        training=Training(),
        resources=Resources(folder=tmp_path / "out" / "executor"),
        executor="toy",
    )
    table = sweep_command(points(tmp_path), options, compile_to=fake_compiler(), watch=Silent())
    assert exit_code(table) == 0


def test_the_executor_in_the_docs_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "sweep.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\n[ "$1" = -tt ] && echo "$2" >> {tmp_path}/hosts && sh -c "$3"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    executor = names["make"](Resources(folder=tmp_path, options={"hosts": "one,two"}))
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2, 3)), {"a": "killed_once"})
    results = run_sweep(cells, executor, Silent())
    assert [results[cell.folder].kind for cell in cells] == ["finished"] * 3
    assert set((tmp_path / "hosts").read_text().split()) == {"one", "two"}


@pytest.mark.parametrize(("name", "words"), [("lokal", "did you mean"), ("moon", "")])
def test_an_unknown_executor_is_one_message(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        make_executor(name, Resources(folder=tmp_path))
    assert error.value.diagnostics[0].code == "CC730"
    assert words in error.value.diagnostics[0].hint


def test_a_broken_executor_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "entry_points", lambda group: [Broken()])
    with pytest.raises(DiagnosticError, match="no module named sun"):
        make_executor("toy", Resources(folder=tmp_path))


def test_the_local_executor_fits_the_cores() -> None:
    cores = len(os.sched_getaffinity(0))
    local = make_executor("local", Resources(folder=Path(), cpus=max(1, cores)))
    assert isinstance(local, LocalExecutor)
    assert local._jobs == 1


# preparing


def test_a_recipe_of_several_processes_is_refused(tmp_path: Path) -> None:
    batch = {"micro_batch_size": 8, "global_batch_size": 32}
    spread = {"strategy": "data_parallel", "processes_per_node": 2}
    grid = points(tmp_path, batch=[batch], distributed=[spread])
    with pytest.raises(DiagnosticError) as refused:
        make_cells(tmp_path, grid)
    assert refused.value.diagnostics[0].code == "CC733"


def test_a_missing_data_file_is_one_message(tmp_path: Path) -> None:
    data = {"source": "npz", "train": "none.npz", "eval": "none.npz", "sequence_length": 16}
    with pytest.raises(DiagnosticError) as error:
        make_cells(tmp_path, points(tmp_path, data=[data]))
    assert error.value.diagnostics[0].code == "CC601"


def test_a_folder_that_cannot_be_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "sweep").write_text("a file")
    with pytest.raises(DiagnosticError) as error:
        make_cells(tmp_path, points(tmp_path))
    assert error.value.diagnostics[0].code == "CC729"


# tables


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> SweepTable:
    """Two targets with three seeds and two rates."""
    folder = tmp_path_factory.mktemp("trained")
    grid = points(folder, ("a", "b"), (1, 2, 3), optimizer__learning_rate=[0.01, 0.05])
    return run(folder, grid)[0]


def test_the_tables_hold_every_cell(trained: SweepTable, tmp_path: Path) -> None:
    table = trained
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert len(rows) == 12
    assert {row["optimizer.learning_rate"] for row in rows} == {"0.01", "0.05"}
    assert float(rows[0]["eval_loss"]) == table.rows[0][1].eval_loss
    document = json.loads(json.dumps(table.to_json()))
    assert [cell["seed"] for cell in document["cells"][:5]] == [1, 1, 1, 1, 2]
    lines = table.lines()
    assert [line[:4] for line in lines] == [
        ["fake", "optimizer.learning_rate=0.01", "a", "3"],
        ["fake", "optimizer.learning_rate=0.01", "b", "3"],
        ["fake", "optimizer.learning_rate=0.05", "a", "3"],
        ["fake", "optimizer.learning_rate=0.05", "b", "3"],
    ]
    assert lines[0][6] == "0.5200 ± 0.0100"
    assert [str(comparison.verdict) for comparison in table.comparisons()] == ["equivalent"] * 2
    paths = table.write(tmp_path)
    assert [path.name for path in paths] == ["sweep.json", "sweep.csv"]


def test_targets_that_differ_are_said_to(trained: SweepTable) -> None:
    worse = {
        cell.folder: replace(result, eval_loss=(result.eval_loss or 0) + 0.5)
        if cell.point.target == "b"
        else result
        for cell, result in trained.rows
    }
    comparisons = SweepTable.of([cell for cell, _ in trained.rows], worse).comparisons()
    assert len(comparisons) == 2  # one of each rate
    for comparison in comparisons:
        assert comparison.verdict == "different"
        assert "b against a: different" in str(comparison)
        assert "eval loss +0.500 ± 0.000 (limit 0.02)" in str(comparison)


def test_a_target_that_never_finishes_is_no_difference(tmp_path: Path) -> None:
    table, _ = run(tmp_path, points(tmp_path, ("a", "b"), (1, 2, 3)), {"b": "crash"})
    (comparison,) = table.comparisons()
    assert comparison.verdict == "inconclusive"
    assert table.lines()[1][3:] == ["0 of 3", "-", "-", "-", "-"]


@pytest.mark.parametrize(("bugs", "code"), [({}, 0), ({"b": "cannot_run"}, 3), ({"b": "stops"}, 1)])
def test_the_exit_code_says_whether_all_finished(
    tmp_path: Path, bugs: dict[str, str], code: int
) -> None:
    table, _ = run(tmp_path, points(tmp_path, ("a", "b"), (1,)), bugs)
    assert exit_code(table) == code


# progress


def test_lines_say_what_ended_and_what_is_left(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (1,))
    cells, stream = make_cells(tmp_path, grid, {"b": "killed_once"}, pace=0.01), io.StringIO()
    run_sweep(cells, LocalExecutor(1), Lines(stream))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "2 cells, 0 done before"
    first = r"1/2 fake a seed 1: finished after \d+ s, eval loss 0\.\d{4}, \d+ s left"
    assert re.fullmatch(first, lines[1])
    assert lines[2] == (
        "fake b seed 1: failed: ended by SIGKILL; it resumes from its last checkpoint"
    )
    assert lines[3].startswith("2/2 fake b seed 1: finished in attempt 2")
    assert len(lines) == 4


def test_the_tally_counts_what_this_run_has_to_train(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2, 3)))
    trace = cells[1].folder / "output" / "trace.jsonl"
    trace.parent.mkdir()
    trace.write_text("{}\n" * 10)
    counter = WindowCounter(cells, cells[:1])
    assert counter.total == 20 + 30
    assert counter.seconds_left() is None
    trace.write_text("{}\n" * 15)
    assert counter.look() == 5
    trace.write_text("{}\n" * 12)  # cut back to the checkpoint: progress does not go back
    assert counter.look() == 5
    counter.end(cells[1])
    assert counter.look() == 20
    assert counter.seconds_left() is not None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (89, "89 s"), (90, "2 min"), (5000, "83 min"), (9000, "2.5 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# the command


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--seeds", "x"), 2, "CC728"),
        (("--jobs", "0"), 2, "--jobs"),
        (("--retries", "-1"), 2, "--retries"),
        (("--timeout", "0"), 2, "--timeout"),
        (("--checkpoint-every", "0"), 2, "--checkpoint-every"),
        (("--python", "torch"), 2, "CC707"),
        (("--executor", "sun"), 2, "CC730"),
        (("--set", "model.kind=custom"), 1, "CC"),
    ],
)
def test_bad_options_are_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], code: int, words: str
) -> None:
    write_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "recipe.yaml", "--to", "torch", "-o", "out", *flags]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == code, done.output
    assert words in done.stderr
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "number",
    cases([signal.SIGINT, signal.SIGTERM], quick=[signal.SIGINT], reason="by another signal"),
)
def test_an_interrupt_ends_the_cells_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    """The options of the command in a process of its own, with the stand-in as compiler."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from crosscast.cli import app\n"
        "from crosscast.emit import folders\n"
        "from sweep_fakes import fake_compiler\n"
        "folders.compile_to_folders = fake_compiler(pace=0.1)\n"
        "app()\n"
    )
    write_recipe(tmp_path)
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", program, "sweep", "recipe.yaml", "--to", "torch"),
            *("--seeds", "1-4", "--jobs", "2", "-o", "out"),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out/cells/*/output/trace.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    timer = threading.Timer(0.2, process.send_signal, (number,))
    timer.start()
    _, stderr = process.communicate(timeout=60)
    timer.join()
    assert process.returncode == 130
    assert stderr.endswith("interrupted\n")
    assert "Traceback" not in stderr
    (script, *_) = tmp_path.glob("out/cells/*/script/train.py")
    assert "import torch" not in script.read_text(), "it is not the stand-in"
    sizes = [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
    time.sleep(0.3)
    assert sizes == [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
