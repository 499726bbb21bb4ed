"""Exports of traces: which runs are found, what their points are, and that nothing else changes."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import crosscast as cc
from crosscast.cli import app
from crosscast.emit.scalar_names import EVAL_PREFIX, TRAIN_SCALARS
from crosscast.tracking.exporting import MARK
from crosscast.tracking.places import find_runs
from crosscast.tracking.runs import read_run
from crosscast.tracking.tools import TOOLS, Tool, write_with
from made_runs import made
from parity_fakes import good_rows
from source_trees import ROOT


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(cc.DiagnosticError) as caught:
        cc.trace_export(*arguments, **options)
    return str(caught.value)


# points


def test_every_window_is_a_point(tmp_path: Path) -> None:
    rows = good_rows(4, skipped=[1])
    found = cc.trace_export(made(tmp_path / "a", rows), "csv", out=tmp_path / "a.csv")
    lines = table(tmp_path / "a.csv")
    assert [line["step"] for line in lines] == ["1", "2", "3", "4", "4"]
    assert [line["train/skipped"] for line in lines] == ["0", "1", "0", "0", ""]
    assert [line["train/updates"] for line in lines] == ["1", "1", "2", "3", ""]
    for line, row in zip(lines, rows, strict=False):
        assert float(line["train/lr"]) == row.lr
        assert float(line["train/scale"]) == row.scale
        assert line["train/loss"] == ("" if row.loss is None else repr(row.loss))
    assert lines[1]["train/grad_norm"] == ""  # of the window that was skipped
    assert float(lines[0]["train/grad_norm"]) == rows[0].grad_norm
    evaluated = {name: value for name, value in lines[-1].items() if value}
    assert evaluated == {
        "run": "a",
        "step": "4",
        "eval/loss": "0.25",
        "eval/accuracy": "0.5",
        "eval/ema_loss": "0.125",
    }
    assert (found.runs[0].windows, found.runs[0].updates, found.diagnostics) == (4, 3, ())
    assert found.runs[0].facts["versions/torch"] == "2.13.0"


def test_optional_columns_of_a_trace_are_exported(tmp_path: Path) -> None:
    folder = made(tmp_path / "a")
    row = good_rows(1)[0].to_json() | {"tokens": 7, "peak_memory": 2**33}
    (folder / "trace.jsonl").write_text(json.dumps(row) + "\n")
    cc.trace_export(folder, "csv", out=tmp_path / "a.csv")
    line = table(tmp_path / "a.csv")[0]
    assert (line["train/tokens"], line["train/peak_memory"]) == ("7", str(2**33))
    (folder / "trace.jsonl").write_text(json.dumps(row | {"tokens": "many"}) + "\n")
    cc.trace_export(folder, "csv", out=tmp_path / "b.csv")
    assert "train/tokens" not in table(tmp_path / "b.csv")[0]


def test_the_page_has_every_name_and_command() -> None:
    page = (ROOT / "docs" / "reference" / "trace.md").read_text(encoding="utf-8")
    names = [*TRAIN_SCALARS.values(), f"{EVAL_PREFIX}loss"]
    shows = [tool.show.format("OUT") for tool in TOOLS.values()]
    assert [text for text in (*names, *shows) if f"`{text}`" not in page] == []


# traces


def test_a_killed_run_is_read_up_to_its_last_full_line(tmp_path: Path) -> None:
    folder = made(tmp_path / "a")
    (folder / "status.json").unlink()
    trace = folder / "trace.jsonl"
    trace.write_text(trace.read_text()[:-20])
    found = cc.trace_export(folder, "csv", out=tmp_path / "a.csv")
    (note,) = found.diagnostics
    assert (note.code, note.severity.value, str(note.span)) == ("CC715", "note", f"{trace}:4:1")
    assert found.runs[0].windows == 3
    assert len(table(tmp_path / "a.csv")) == 3


def test_a_resumed_run_may_have_lost_rows(tmp_path: Path) -> None:
    rows = good_rows(6)
    folder = made(tmp_path / "a", [rows[0], *rows[3:]])
    (run,) = cc.trace_export(folder, "csv", out=tmp_path / "a.csv").runs
    assert [point.step for point in run.points][:-1] == [1, 4, 5, 6]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "the row is not JSON"),
        ('{"window": 1}', "`n_micro` is missing"),
        ({"window": 0}, "`window` is 0, expected 1"),
        ({"updates": 9}, "`updates` is 9, expected 1 to 2"),
        ({"updates": 0}, "`updates` is 0, expected 1 to 2"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: Any, words: str) -> None:
    folder = made(tmp_path / "a")
    first, second, *_ = good_rows(2)
    text = line if isinstance(line, str) else json.dumps(second.to_json() | line)
    (folder / "trace.jsonl").write_text(f"{json.dumps(first.to_json())}\n{text}\n")
    said = refusal(folder, "csv", out=tmp_path / "a.csv")
    assert f"{folder / 'trace.jsonl'}:2:1: error CC701: {words}" in said
    assert not (tmp_path / "a.csv").exists()


def test_a_damaged_status_is_left_out_with_a_warning(tmp_path: Path) -> None:
    folder = made(tmp_path / "a", status="odd")
    found = cc.trace_export(folder, "csv", out=tmp_path / "a.csv")
    (warning,) = found.diagnostics
    assert (warning.code, warning.severity.value) == ("CC702", "warning")
    assert "eval/loss" not in table(tmp_path / "a.csv")[0]


# places


def test_a_run_has_the_shortest_name_that_no_other_has(tmp_path: Path) -> None:
    for name in ("a/out", "b/out", "c"):
        made(tmp_path / name)
    trace = tmp_path / "c" / "trace.jsonl"
    folders = [str(tmp_path / name) for name in ("a/out", "b/out", "c", "b/../c")]
    assert [*find_runs([*folders[:3], str(trace)])] == ["a/out", "b/out", "c"]
    (tmp_path / "other.jsonl").write_text(trace.read_text())
    assert [*find_runs([str(tmp_path / "other.jsonl")])] == ["other"]


def test_folders_of_sweeps_and_comparisons_have_many_runs(tmp_path: Path) -> None:
    for cell in ("one", "two"):
        made(tmp_path / "sweep" / "cells" / cell / "output")
    assert [*find_runs([str(tmp_path / "sweep")])] == ["one", "two"]
    compared = tmp_path / "compared"
    runs = []
    for number, program in enumerate(("torch", "paddle")):
        made(compared / "runs" / str(number))
        runs.append({"name": [program, "tiny", "main"], "folder": f"runs/{number}"})
    runs.append({"name": ["torch", "tiny", "gone"], "folder": "runs/9"})
    (compared / "runs.json").write_text(json.dumps({"version": 1, "runs": runs}))
    assert [*find_runs([str(compared)])] == ["torch/tiny/main", "paddle/tiny/main"]
    found = cc.trace_export(compared, "csv", out=tmp_path / "c.csv")
    assert found.rows[0] == ("torch/tiny/main", "4", "3", "5")


@pytest.mark.parametrize(
    "runs",
    [
        "[",
        "[]",
        '{"runs": [{"name": [], "folder": "x"}]}',
        '{"runs": [{"name": [".."], "folder": "x"}]}',
        '{"runs": [{"name": ["a/../../b"], "folder": "x"}]}',
        '{"runs": [{"name": ["a\\u0000"], "folder": "x"}]}',
        '{"runs": [{"name": 3, "folder": "x"}]}',
    ],
)
def test_a_damaged_list_of_runs_is_refused(tmp_path: Path, runs: str) -> None:
    (tmp_path / "runs.json").write_text(runs)
    assert "CC716" in refusal(tmp_path, "csv", out=tmp_path / "a.csv")


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    assert "CC001" in refusal(tmp_path / "none", "csv", out=out)
    assert "no run is here" in refusal(tmp_path, "csv", out=out)
    (made(tmp_path / "a") / "trace.jsonl").write_text("")
    assert "CC716" in refusal(tmp_path / "a", "csv", out=out)
    assert "CC016" in refusal(tmp_path / "a", "excel", out=out)


# what is there already


def test_a_table_is_overwritten_only_on_demand(tmp_path: Path) -> None:
    made(tmp_path / "a")
    out = tmp_path / "a.csv"
    out.write_text("mine")
    assert "CC501" in refusal(tmp_path / "a", "csv", out=out)
    assert out.read_text() == "mine"
    cc.trace_export(tmp_path / "a", "csv", out=out, force=True)
    before = out.read_bytes()
    cc.trace_export(tmp_path / "a", "csv", out=out)  # the same again
    assert out.read_bytes() == before


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make TensorBoard's writer one that writes the names of the runs."""

    def write(tool: Tool, runs: Sequence[Any], folder: Path, place: Path) -> None:
        assert tool is TOOLS["tensorboard"]
        assert place.name == "logs"
        for run in runs:
            if run.updates == 1:
                raise cc.DiagnosticError(cc.Diagnostic(code="CC717", message="full"))
            (folder / run.name).write_text("events")

    monkeypatch.setattr("crosscast.tracking.exporting.write_with", write)
    monkeypatch.setattr("crosscast.tracking.tools.require", lambda tool: None)


@pytest.mark.usefixtures("fake")
def test_a_folder_is_replaced_as_a_whole_and_only_if_it_is_an_export(tmp_path: Path) -> None:
    made(tmp_path / "a")
    made(tmp_path / "b")
    logs = tmp_path / "new" / "logs"
    found = cc.trace_export(tmp_path / "a", "tensorboard", out=logs)
    assert {path.name for path in logs.iterdir()} == {"a", MARK}
    assert found.show == f"tensorboard --logdir {logs}"
    assert "--force replaces it" in refusal(tmp_path / "b", "tensorboard", out=logs)
    cc.trace_export(tmp_path / "b", "tensorboard", out=logs, force=True)
    assert {path.name for path in logs.iterdir()} == {"b", MARK}
    (logs / MARK).unlink()
    assert "CC501" in refusal(tmp_path / "a", "tensorboard", out=logs, force=True)
    assert "CC501" in refusal(tmp_path / "a", "tensorboard", out=logs / "b", force=True)
    assert [path.name for path in logs.iterdir()] == ["b"]
    assert [path.name for path in logs.parent.iterdir()] == ["logs"]


@pytest.mark.usefixtures("fake")
def test_an_export_that_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    made(tmp_path / "a")
    made(tmp_path / "short", good_rows(1))
    logs = tmp_path / "new" / "logs"
    cc.trace_export(tmp_path / "a", "tensorboard", out=logs)
    runs = [tmp_path / "a", tmp_path / "short"]
    assert "CC717" in refusal(runs, "tensorboard", out=logs, force=True)
    assert {path.name for path in logs.iterdir()} == {"a", MARK}
    assert [path.name for path in logs.parent.iterdir()] == ["logs"]


# libraries


def test_a_missing_library_is_told_with_its_extra(tmp_path: Path) -> None:
    tool = Tool(package="no_such_tool", writer="tensorboard_events", show="")
    with pytest.raises(cc.DiagnosticError) as caught:
        write_with(tool, [], tmp_path, tmp_path)
    assert "CC401" in str(caught.value)
    assert 'pip install "crosscast[tracking]"' in str(caught.value)


def test_an_error_of_a_library_is_a_diagnostic(tmp_path: Path) -> None:
    tool = Tool(package="json", writer="no_such_writer", show="")
    (place,) = find_runs([str(made(tmp_path / "a"))]).values()
    with pytest.raises(cc.DiagnosticError, match=r"CC717.*json: .*no_such_writer"):
        write_with(tool, [read_run("a", place)], tmp_path, tmp_path)


# the command


def test_the_command_prints_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = made(tmp_path / "a"), tmp_path / "a.csv"
    words = ["trace", "export", str(folder), "--to", "csv", "-o", str(out)]
    assert not app(words, standalone_mode=False)
    assert f"1 run written for csv: {out}\n" in capsys.readouterr().out
    assert not app([*words, "--json"], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert document["runs"] == [
        {"name": "a", "trace": str(folder / "trace.jsonl"), "windows": 4, "updates": 3, "points": 5}
    ]
