"""Traces and status files are untrusted: what breaks the contract is a coded message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.status import MAX_BYTES, Evaluation, read_status
from crosscast_parity.recordings.trace import MAX_LINE, read_trace
from parity_fakes import good_rows

ROW: dict[str, Any] = good_rows(1)[0].to_json()
STATUS: dict[str, Any] = {"status": "finished", "exit_code": 0, "message": "", "device": "cpu"}


def lines(*rows: object) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def trace_problem(path: Path) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        read_trace(path)
    return caught.value.diagnostics[0]


def test_a_trace_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = good_rows(5, skipped=[2])
    path.write_text(lines(*(row.to_json() for row in rows)))
    assert read_trace(path) == tuple(rows)
    path.write_text(lines(ROW | {"loss": 1, "scale": 2, "extra": [1]}).rstrip("\n"))
    assert read_trace(path)[0].loss == 1.0
    assert read_trace(path)[0].peak_memory is None
    path.write_text(lines(ROW | {"peak_memory": 2**40}))
    (row,) = read_trace(path)
    assert row.peak_memory == row.to_json()["peak_memory"] == 2**40
    path.write_text("")
    assert read_trace(path) == ()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "longer than"),
        ("[" * 4000, "not JSON"),
        ("[1]", "not a JSON object"),
        (" " * MAX_LINE + "{}", "longer than"),
        ({"window": 1}, "`n_micro` is missing"),
        (ROW, "`window` is 0, expected 1"),
        (ROW | {"window": 1, "loss": "0.5"}, "`loss` is not a number"),
        (ROW | {"window": 1, "loss": True}, "`loss` is not a number"),
        (json.dumps(ROW | {"window": 1, "loss": float("nan")}), "`loss` is not finite"),
        (json.dumps(ROW | {"window": 1, "lr": 0}).replace('"lr": 0', '"lr": 1e999'), "not finite"),
        (ROW | {"window": 1, "lr": 10**400}, "`lr` is not finite"),
        (ROW | {"window": 1, "lr": None}, "`lr` is not a number"),
        (ROW | {"window": 1, "scale": None}, "`scale` is not a number"),
        (ROW | {"window": 1, "skipped": 0}, "`skipped` is not true or false"),
        (ROW | {"window": 1, "updates": 1.0}, "`updates` is not a whole number"),
        (ROW | {"window": 1, "peak_memory": -1}, "`peak_memory` is not a whole number"),
        (ROW | {"window": 1, "peak_memory": None}, "`peak_memory` is not a whole number"),
        (ROW | {"window": 1, "updates": -1}, "`updates` is not a whole number"),
        (ROW | {"window": 1, "updates": True}, "`updates` is not a whole number"),
        (ROW | {"window": 1, "rows": 0}, "`rows` is not a whole number of at least 1"),
        (ROW | {"window": 1, "rows": 2**70}, "`rows` is not a whole number"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, bad: object, words: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(lines(ROW, bad))
    found = trace_problem(path)
    assert found.code == "CC701"
    assert words in found.message
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("trace.jsonl", 2)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"\xff\xfe\x00\n")
    assert "not JSON" in trace_problem(path).message


def test_a_crash_may_leave_half_a_row(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(lines(ROW) + '{"window": 1, "n_mi')
    assert trace_problem(path).code == "CC701"
    assert len(read_trace(path, partial=True)) == 1
    path.write_text(lines(ROW, "garbage"))
    with pytest.raises(DiagnosticError):
        read_trace(path, partial=True)  # a whole line is never the sign of a crash
    assert read_trace(tmp_path / "absent", partial=True) == ()
    assert "cannot be read" in trace_problem(tmp_path / "absent").message


def status_of(tmp_path: Path, **changes: Any) -> Any:
    path = tmp_path / "status.json"
    path.write_text(json.dumps(STATUS | changes))
    return read_status(path)


def test_a_status_comes_back(tmp_path: Path) -> None:
    result = {"loss": 0.5, "accuracy": None}
    found = status_of(tmp_path, windows=3, updates=2, eval=result, versions={"torch": "2.13"})
    assert (found.status, found.windows, found.updates) == ("finished", 3, 2)
    assert found.eval == Evaluation(loss=0.5, accuracy=None)
    assert found.versions == {"torch": "2.13"}
    assert status_of(tmp_path, eval=None, versions=None).eval is None


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "won"},
        {"status": ["finished"]},
        {"status": None},
        {"message": 3},
        {"windows": "3"},
        {"windows": -1},
        {"windows": True},
        {"eval": [1]},
        {"eval": {"loss": "low"}},
        {"versions": ["torch"]},
        {"versions": {str(n): "1" for n in range(100)}},
    ],
)
def test_a_bad_status_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        status_of(tmp_path, **changes)
    assert caught.value.diagnostics[0].code == "CC702"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 50_000, " " * (MAX_BYTES + 1)])
def test_a_file_that_is_no_status_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "status.json"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match="CC702"):
        read_status(path)
    with pytest.raises(DiagnosticError, match="CC702"):
        read_status(tmp_path / "absent")


def test_long_texts_are_cut_and_odd_numbers_dropped(tmp_path: Path) -> None:
    found = status_of(
        tmp_path, message="x" * 9000, eval={"loss": 10**400, "accuracy": float("inf")}
    )
    assert len(found.message) == 2000
    assert found.eval == Evaluation(loss=None, accuracy=None)
