"""Sweeps on this machine: what is run, kept, tried again and written; with stand-in scripts."""

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

from crosscast.diagnostics import DiagnosticError
from crosscast_parity.sweep import executor as executors
from crosscast_parity.sweep.cell import main, run_cell
from crosscast_parity.sweep.command import SweepOptions, exit_code, sweep_command
from crosscast_parity.sweep.driver import run_sweep
from crosscast_parity.sweep.executor import Resources, executor_names, make_executor
from crosscast_parity.sweep.grid import Point
from crosscast_parity.sweep.local import LocalExecutor
from crosscast_parity.sweep.prepare import Cell, Training, prepare
from crosscast_parity.sweep.progress import Lines, Tally, duration
from crosscast_parity.sweep.spec import CellResult, read_result, write_result
from crosscast_parity.sweep.table import SweepTable
from sweep_fakes import InProcess, Silent, fake_compiler, points, write_recipe


def make_cells(
    folder: Path, grid: list[Point], bugs: dict[str, str] | None = None, **training: Any
) -> list[Cell]:
    compiler = fake_compiler(bugs, pace=training.pop("pace", 0.0))
    return prepare(grid, folder / "sweep", Training(**training), compiler)


def run(
    folder: Path, grid: list[Point], bugs: dict[str, str] | None = None, **training: Any
) -> tuple[SweepTable, Silent]:
    cells, watch = make_cells(folder, grid, bugs, **training), Silent()
    results = run_sweep(cells, LocalExecutor(2), watch)
    assert watch.closed
    return SweepTable.of(cells, results), watch


def kinds(table: SweepTable) -> list[str]:
    return [result.kind for _, result in table.rows]


def wait_for_windows(cell: Cell, windows: int) -> None:
    trace = cell.folder / "output" / "trace.jsonl"
    deadline = time.monotonic() + 30
    while not trace.exists() or trace.read_bytes().count(b"\n") < windows:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# one after another


def test_every_cell_is_trained_once_and_never_again(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (1, 2, 3))
    table, watch = run(tmp_path, grid)
    assert kinds(table) == ["finished"] * 6
    assert watch.done == []
    assert watch.ends == [("finished", False)] * 6
    result = table.rows[0][1]
    assert (result.windows, result.updates, result.skipped, result.attempts) == (30, 30, 0, 1)
    assert result.eval_accuracy == 0.51
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "sweep").rglob("output/*")}
    again, watch = run(tmp_path, grid)
    assert again == table
    assert len(watch.done) == 6
    assert watch.ends == []
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "sweep").rglob("output/*")}


def test_seeds_share_the_task_and_targets_the_weights(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, ("a", "b"), (1, 2)))
    specs = [json.loads((cell.folder / "cell.json").read_text()) for cell in cells]
    assert len({spec["train"] for spec in specs}) == 1
    assert [spec["weights"] for spec in specs[:2]] == [specs[0]["weights"]] * 2
    assert specs[0]["weights"] != specs[2]["weights"]
    assert {cell.eval_rows for cell in cells} == {512}


@pytest.mark.parametrize(
    "change",
    [
        {"windows": 20},
        {"threads": 2},
        {"device": "gpu"},
    ],
)
def test_what_changes_the_numbers_changes_the_cell(tmp_path: Path, change: dict[str, Any]) -> None:
    (cell,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)))
    (other,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)), **change)
    assert cell.folder != other.folder


def test_what_only_changes_the_run_does_not(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    (cell,) = make_cells(tmp_path, grid)
    (other,) = make_cells(tmp_path, grid, timeout=5.0, checkpoint_every=2, windows=999)
    assert cell.folder == other.folder


def test_an_edited_script_or_interpreter_is_another_cell(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    (cell,) = make_cells(tmp_path, grid)
    (other,) = make_cells(tmp_path, grid, {"a": "stops"})
    (third,) = make_cells(tmp_path, grid, python={"a": "/nowhere/python"})
    assert len({cell.folder, other.folder, third.folder}) == 3


def test_the_folder_may_be_moved(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    table, _ = run(tmp_path, grid)
    (tmp_path / "sweep").rename(tmp_path / "moved")
    moved = next((tmp_path / "moved" / "cells").iterdir())
    (moved / "result.json").unlink()
    assert run_cell(moved).eval_loss == table.rows[0][1].eval_loss


# how cells end


def test_one_bad_cell_never_loses_the_others(tmp_path: Path) -> None:
    bugs = {"b": "crash", "c": "cannot_run", "d": "stops", "e": "killed_once"}
    table, watch = run(tmp_path, points(tmp_path, ("a", "b", "c", "d", "e"), (1,)), bugs)
    assert kinds(table) == ["finished", "failed", "cannot_run", "stopped", "finished"]
    assert watch.ends.count(("failed", False)) == 1  # a crash is not tried again
    assert "exit code 1" in table.rows[1][1].message
    assert table.rows[1][1].windows == 7
    assert table.rows[3][1].message == "the loss is not finite in window 6"
    assert exit_code(table) == 1


def test_results_of_a_kind_that_may_change_are_tried_again_by_the_next_call(
    tmp_path: Path,
) -> None:
    bugs = {"b": "crash", "c": "cannot_run", "d": "stops"}
    grid = points(tmp_path, ("a", "b", "c", "d"), (1,))
    run(tmp_path, grid, bugs)
    _, watch = run(tmp_path, grid, bugs)
    assert [cell.point.target for cell in watch.done] == ["a", "d"]


def test_a_killed_training_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (1,))
    table, watch = run(tmp_path, grid, {"b": "killed_once"})
    plain, killed = table.rows[0][1], table.rows[1][1]
    assert ("failed", True) in watch.ends
    assert killed.attempts == 2
    assert killed.trace_sha256 == plain.trace_sha256
    assert killed.weights_sha256 == plain.weights_sha256
    output = table.rows[1][0].folder / "output"
    assert "starts at 0" in (output / "log-1.txt").read_text()
    assert "starts at 10" in (output / "log.txt").read_text()


def test_a_cell_that_is_killed_every_time_is_given_up(tmp_path: Path) -> None:
    table, watch = run(tmp_path, points(tmp_path, seeds=(1,)), {"a": "killed"})
    assert watch.ends == [("failed", True)] * 3 + [("failed", False)]
    assert table.rows[0][1].message == "ended by SIGKILL"


def test_a_hanging_cell_is_killed_and_may_go_on_later(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    table, _ = run(tmp_path, grid, {"a": "hang"}, timeout=1.5)
    assert kinds(table) == ["timeout"]
    assert table.rows[0][1].windows == 7


def test_a_damaged_checkpoint_means_to_start_anew(tmp_path: Path) -> None:
    (cell,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)))
    (cell.folder / "output").mkdir()
    (cell.folder / "output" / "checkpoint.safetensors").write_text("rubbish")
    result = run_cell(cell.folder)
    assert (result.kind, result.attempts, result.windows) == ("finished", 2, 30)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 1}',
        '{"format": 1, "kind": "splendid"}',
        '{"format": 1, "kind": "finished", "windows": "many"}',
    ],
)
def test_a_damaged_result_is_no_result(tmp_path: Path, text: str) -> None:
    grid = points(tmp_path, seeds=(1,))
    (cell,) = make_cells(tmp_path, grid)
    (cell.folder / "result.json").write_text(text)
    assert read_result(cell.folder) is None
    table, _ = run(tmp_path, grid)
    assert kinds(table) == ["finished"]


def test_results_survive_being_written(tmp_path: Path) -> None:
    result = CellResult(kind="stopped", message="ü", windows=3, versions={"numpy": "2"})
    write_result(tmp_path, result)
    assert read_result(tmp_path) == result
    write_result(tmp_path, replace(result, eval_loss=float("nan")))
    assert read_result(tmp_path) is None


def test_a_folder_that_is_no_cell_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert main([str(tmp_path)]) == 2
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert "CC729" in capsys.readouterr().err


# killed from outside


def test_a_killed_worker_leaves_a_training_that_nobody_disturbs(tmp_path: Path) -> None:
    """The worker dies, the training lives on: the next worker waits for it and starts no other."""
    (cell,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)), pace=0.05)
    first = start_worker(cell)
    wait_for_windows(cell, 8)
    first.kill()
    first.wait()
    second = start_worker(cell)
    assert second.wait(60) == 0
    result = read_result(cell.folder)
    assert result is not None
    assert result.kind == "finished"
    log = (cell.folder / "output" / "log.txt").read_text()
    assert "starts at 30" in log  # the orphan had trained all of it


def start_worker(cell: Cell) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "crosscast_parity.sweep.cell", str(cell.folder)],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_worker_that_is_asked_to_end_ends_its_training(tmp_path: Path) -> None:
    (cell,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)), pace=0.05)
    worker = start_worker(cell)
    wait_for_windows(cell, 7)
    worker.terminate()
    assert worker.wait(30) == 128 + signal.SIGTERM
    assert read_result(cell.folder) is None
    rows = (cell.folder / "output" / "trace.jsonl").read_bytes().count(b"\n")
    time.sleep(0.3)
    assert rows == (cell.folder / "output" / "trace.jsonl").read_bytes().count(b"\n") < 30
    result = run_cell(cell.folder)
    assert (result.kind, result.attempts) == ("finished", 2)


def test_two_workers_of_one_cell_come_to_one_result(tmp_path: Path) -> None:
    (cell,) = make_cells(tmp_path, points(tmp_path, seeds=(1,)), pace=0.01)
    workers = [start_worker(cell) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert not (cell.folder / "output" / "log-1.txt").exists()


@pytest.mark.parametrize("windows", [2, 6, 11, 23])
def test_a_sweep_killed_at_any_moment_goes_on_to_the_same_results(
    tmp_path: Path, windows: int
) -> None:
    grid = points(tmp_path, ("a",), (1, 2, 3))
    (tmp_path / "plain").mkdir()
    expected, _ = run(tmp_path / "plain", grid)
    cells = make_cells(tmp_path, grid, pace=0.03)
    code = (
        "import sys; sys.path[:0] = sys.argv[1:2]\n"
        "from pathlib import Path\n"
        "from crosscast_parity.sweep.local import LocalExecutor\n"
        "executor = LocalExecutor(2)\n"
        "for cell in sys.argv[2:]: executor.submit(Path(cell))\n"
        "for _ in executor.collect(): pass\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path), *(str(cell.folder) for cell in cells)]
    sweep = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    wait_for_windows(cells[0], windows)
    sweep.kill()
    sweep.wait()
    table, _ = run(tmp_path, grid, pace=0.03)
    assert kinds(table) == ["finished"] * 3
    for (_, ours), (_, theirs) in zip(table.rows, expected.rows, strict=True):
        assert ours.trace_sha256 == theirs.trace_sha256
        assert ours.weights_sha256 == theirs.weights_sha256


def test_closing_the_local_executor_ends_its_cells(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2, 3)), pace=0.1)
    executor = LocalExecutor(2)
    for cell in cells:
        executor.submit(cell.folder)
    endings = executor.collect()
    assert next(endings) is None
    wait_for_windows(cells[0], 2)
    endings.close()
    sizes = [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
    time.sleep(0.4)
    assert sizes == [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
    assert not (cells[2].folder / "output").exists()
    assert all(read_result(cell.folder) is None for cell in cells)


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
    page = (Path(__file__).parents[2] / "docs" / "sweep.md").read_text()
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


def test_the_tables_hold_every_cell(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (1, 2, 3), optimizer__learning_rate=[0.01, 0.05])
    table, _ = run(tmp_path, grid)
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
    assert [str(one.verdict) for one in table.comparisons()] == ["equivalent"] * 2
    paths = table.write(tmp_path)
    assert [path.name for path in paths] == ["sweep.json", "sweep.csv"]


def test_targets_that_differ_are_said_to(tmp_path: Path) -> None:
    table, _ = run(tmp_path, points(tmp_path, ("a", "b"), (1, 2, 3)))
    worse = {
        cell.folder: replace(result, eval_loss=(result.eval_loss or 0) + 0.5)
        if cell.point.target == "b"
        else result
        for cell, result in table.rows
    }
    (comparison,) = SweepTable.of([cell for cell, _ in table.rows], worse).comparisons()
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
        "fake b seed 1: failed: ended by SIGKILL; it goes on from its last checkpoint"
    )
    assert lines[3].startswith("2/2 fake b seed 1: finished in attempt 2")
    assert len(lines) == 4


def test_the_tally_counts_what_this_run_has_to_train(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, seeds=(1, 2, 3)))
    trace = cells[1].folder / "output" / "trace.jsonl"
    trace.parent.mkdir()
    trace.write_text("{}\n" * 10)
    tally = Tally(cells, cells[:1])
    assert tally.total == 20 + 30
    assert tally.seconds_left() is None
    trace.write_text("{}\n" * 15)
    assert tally.look() == 5
    trace.write_text("{}\n" * 12)  # cut back to the checkpoint: progress does not go back
    assert tally.look() == 5
    tally.end(cells[1])
    assert tally.look() == 20
    assert tally.seconds_left() is not None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (89, "89 s"), (90, "2 min"), (5000, "83 min"), (9000, "2.5 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# the command


def crosscast(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crosscast", "sweep", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--seeds", "x"), 1, "CC728"),
        (("--jobs", "0"), 1, "--jobs must be more than 0"),
        (("--retries", "-1"), 1, "--retries"),
        (("--timeout", "0"), 1, "--timeout"),
        (("--checkpoint-every", "0"), 1, "--checkpoint-every"),
        (("--python", "torch"), 1, "CC707"),
        (("--executor", "sun"), 1, "CC730"),
        (("--set", "model.kind=custom"), 1, "CC"),
    ],
)
def test_bad_options_are_one_message(
    tmp_path: Path, flags: tuple[str, ...], code: int, words: str
) -> None:
    write_recipe(tmp_path)
    done = crosscast("recipe.yaml", "--to", "torch", "-o", "out", *flags, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_ctrl_c_ends_the_cells_and_says_so(tmp_path: Path) -> None:
    """The options of the command in a process of its own, with the stand-in as compiler."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from crosscast import cli_sweep\n"
        "from crosscast.cli import app\n"
        "from sweep_fakes import fake_compiler\n"
        "cli_sweep._compile_to = fake_compiler(pace=0.1)\n"
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
    timer = threading.Timer(0.2, process.send_signal, (signal.SIGINT,))
    timer.start()
    _, stderr = process.communicate(timeout=60)
    timer.join()
    assert process.returncode == 130
    assert stderr.endswith("interrupted\n")
    assert "Traceback" not in stderr
    sizes = [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
    time.sleep(0.3)
    assert sizes == [trace.stat().st_size for trace in tmp_path.rglob("trace.jsonl")]
