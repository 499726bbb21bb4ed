"""Cells of sweeps on this machine: what is run, kept and tried again; with stand-in scripts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.sweep.cell import main, run_cell
from crosscast_parity.sweep.command import exit_code
from crosscast_parity.sweep.local import LocalExecutor
from crosscast_parity.sweep.prepare import Cell
from crosscast_parity.sweep.spec import CellResult, read_result, write_result
from crosscast_parity.sweep.table import SweepTable
from sweep_fakes import Silent, kinds, make_cells, points, run, wait_for_windows
from tiers import cases

# one after another


def test_every_cell_is_trained_once_and_never_again(tmp_path: Path) -> None:
    grid = points(tmp_path, ("a", "b"), (1, 2))
    table, watch = run(tmp_path, grid, executor=LocalExecutor(2))
    assert kinds(table) == ["finished"] * 4
    assert watch.done == []
    assert watch.ends == [("finished", False)] * 4
    result = table.rows[0][1]
    assert (result.windows, result.updates, result.skipped, result.attempts) == (30, 30, 0, 1)
    assert result.eval_accuracy == 0.51
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "sweep").rglob("output/*")}
    again, watch = run(tmp_path, grid)
    assert again == table
    assert len(watch.done) == 4
    assert watch.ends == []
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "sweep").rglob("output/*")}


def test_seeds_share_the_task_and_targets_the_weights(tmp_path: Path) -> None:
    cells = make_cells(tmp_path, points(tmp_path, ("a", "b"), (1, 2)))
    specs = [json.loads((cell.folder / "cell.json").read_text()) for cell in cells]
    assert len({spec["train"] for spec in specs}) == 1
    assert [spec["weights"] for spec in specs[:2]] == [specs[0]["weights"]] * 2
    assert specs[0]["weights"] != specs[2]["weights"]
    assert {cell.eval_rows for cell in cells} == {512}


@pytest.mark.parametrize("change", [{"windows": 20}, {"threads": 2}, {"device": "gpu"}])
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


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepTable, Silent]:
    """A sweep whose cells end in every way but one."""
    folder = tmp_path_factory.mktemp("bad")
    bugs = {"b": "crash", "c": "cannot_run", "d": "stops", "e": "killed_once"}
    return run(folder, points(folder, ("a", *bugs), (1,)), bugs, LocalExecutor(2))


def test_one_bad_cell_never_loses_the_others(bad: tuple[SweepTable, Silent]) -> None:
    table, watch = bad
    assert kinds(table) == ["finished", "failed", "cannot_run", "stopped", "finished"]
    assert watch.ends.count(("failed", False)) == 1  # a crash is not tried again
    assert "exit code 1" in table.rows[1][1].message
    assert table.rows[1][1].windows == 7
    assert table.rows[3][1].message == "the loss is not finite in window 6"
    assert exit_code(table) == 1


def test_results_of_a_kind_that_may_change_are_tried_again_by_the_next_call(tmp_path: Path) -> None:
    bugs = {"b": "crash", "c": "cannot_run", "d": "stops"}
    grid = points(tmp_path, ("a", "b", "c", "d"), (1,))
    run(tmp_path, grid, bugs)
    _, watch = run(tmp_path, grid, bugs)
    assert [cell.point.target for cell in watch.done] == ["a", "d"]


def test_a_killed_training_goes_on_from_its_checkpoint(bad: tuple[SweepTable, Silent]) -> None:
    table, watch = bad
    plain, killed = table.rows[0][1], table.rows[4][1]
    assert ("failed", True) in watch.ends
    assert killed.attempts == 2
    assert killed.trace_sha256 == plain.trace_sha256
    assert killed.weights_sha256 == plain.weights_sha256
    output = table.rows[4][0].folder / "output"
    assert "starts at 0" in (output / "log-1.txt").read_text()
    assert "starts at 10" in (output / "log.txt").read_text()


def test_a_cell_that_is_killed_every_time_is_given_up(tmp_path: Path) -> None:
    table, watch = run(tmp_path, points(tmp_path, seeds=(1,)), {"a": "killed"})
    assert watch.ends == [("failed", True)] * 3 + [("failed", False)]
    assert table.rows[0][1].message == "ended by SIGKILL"


def test_a_hanging_cell_is_killed_and_may_go_on_later(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    table, watch = run(tmp_path, grid, {"a": "hang"}, LocalExecutor(2), timeout=1.5)
    assert kinds(table) == ["timeout"]
    assert watch.ends == [("timeout", False)]
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
    (tmp_path / "result.json").write_text(text)
    assert read_result(tmp_path) is None


def test_a_cell_with_a_damaged_result_is_trained(tmp_path: Path) -> None:
    grid = points(tmp_path, seeds=(1,))
    (cell,) = make_cells(tmp_path, grid)
    (cell.folder / "result.json").write_text("{")
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


@pytest.mark.parametrize(
    "windows", cases([2, 6, 11, 23], quick=[], reason="sweeps killed as a whole")
)
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
    table, _ = run(tmp_path, grid, executor=LocalExecutor(2), pace=0.03)
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
