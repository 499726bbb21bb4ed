"""Whatever a program leaves in its folder: read rightly, or an ERROR with a sentence."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.processes.process import judge_exit
from crosscast_parity.processes.sessions import read_outcome
from crosscast_parity.recordings.observations import read_observation
from crosscast_parity.recordings.status import read_status
from crosscast_parity.recordings.trace import read_trace
from crosscast_parity.recordings.type_manifest import read_manifest

STATUS = {
    "status": "finished",
    "exit_code": 0,
    "message": "",
    "windows": 2,
    "updates": 2,
    "eval": {"loss": 0.5, "accuracy": 0.5},
    "device": "cpu",
    "versions": {"torch": "2"},
}
DONE = {"exit_code": 0, "seconds": 1.0, "error": "", "peak_rss": 1, "modules": {}, "files": {}}
ROW = {
    "window": 0,
    "n_micro": 1,
    "rows": 4,
    "loss": 1.0,
    "lr": 0.1,
    "grad_norm": 1.0,
    "scale": 1.0,
    "skipped": False,
    "updates": 1,
    "peak_memory": 7,
}
MANIFEST = {
    "format": 1,
    "autocast": None,
    "operations": {"matmul": {"dot": [{"in": ["float32"], "out": "float32", "count": 1}]}},
}
WRONG: tuple[Any, ...] = (
    "x",
    "0",
    "\ud800",
    "",
    -5,
    10**400,
    1.5,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    True,
    [],
    [[0]],
    {},
    {"a": {"b": [None]}},
)
NESTED = "[" * 100_000 + "]" * 100_000
RAW = (
    b"",
    b"\xff\xfe",
    b"\x00" * 100,
    b"{",
    b"null",
    b"[]",
    b'"x"',
    b"1e400",
    b"9" * 5000,
    NESTED.encode(),
    b'{"status": ' + NESTED.encode() + b"}",
    b'{"status": 1' + b"0" * 5000 + b"}",
    b"\xef\xbb\xbf{}",
)


def damaged(document: dict[str, Any]) -> Iterator[bytes]:
    """Every key missing, or with every wrong value; and bytes that are no such document."""
    for key in document:
        yield json.dumps({k: v for k, v in document.items() if k != key}).encode()
        for value in WRONG:
            yield json.dumps(document | {key: value}).encode()
    yield from RAW
    whole = json.dumps(document).encode()
    draw = random.Random(0)
    for _ in range(200):
        place, byte = draw.randrange(len(whole)), draw.randrange(256)
        yield whole[:place] + bytes([byte]) + whole[place + draw.randrange(2) :]


def check_sentence(error: DiagnosticError, name: str = "") -> None:
    (found,) = error.diagnostics
    assert found.message.isprintable()
    assert name in found.message


def test_damaged_status_files_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    for raw in damaged(STATUS):
        path.write_bytes(raw)
        try:
            status = read_status(path)
        except DiagnosticError as error:
            check_sentence(error, "status.json")
        else:
            assert status.status in ("finished", "stopped", "cannot_run", "failed")
            json.dumps(status.message).encode()
            ("".join(status.versions) + status.device + status.message).encode()


@pytest.mark.parametrize("code", ["x", "0", 1.0, -1, 256, 10**400, True, None, [], {}])
def test_an_exit_code_that_is_none_is_an_error(tmp_path: Path, code: Any) -> None:
    (tmp_path / "done.json").write_text(json.dumps(DONE))
    (tmp_path / "status.json").write_text(json.dumps(STATUS | {"exit_code": code}))
    outcome = read_outcome(tmp_path)
    assert outcome.kind == "failed"
    assert "exit_code" in outcome.message


def test_an_exit_code_that_contradicts_the_process_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "done.json").write_text(json.dumps(DONE))
    (tmp_path / "status.json").write_text(json.dumps(STATUS | {"exit_code": 1}))
    outcome = read_outcome(tmp_path)
    assert (outcome.kind, outcome.complete) == ("failed", False)
    assert "exit_code 1" in outcome.message


def test_a_status_without_exit_code_is_read(tmp_path: Path) -> None:
    left = {key: value for key, value in STATUS.items() if key != "exit_code"}
    (tmp_path / "status.json").write_text(json.dumps(left))
    status = read_status(tmp_path / "status.json")
    assert judge_exit(0, status, "", "") == ("finished", "")


def test_damaged_ends_are_failures(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text(json.dumps(STATUS))
    for raw in damaged(DONE):
        (tmp_path / "done.json").write_bytes(raw)
        outcome = read_outcome(tmp_path)
        assert outcome.kind in ("finished", "failed", "cannot_run", "stopped")


def test_damaged_traces_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for partial in (False, True):
        for raw in damaged(ROW):
            path.write_bytes(raw + b"\n")
            try:
                rows = read_trace(path, partial=partial)
            except DiagnosticError as error:
                check_sentence(error)
            else:
                assert [row.window for row in rows] == list(range(len(rows)))


def test_damaged_manifests_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    (operation,) = MANIFEST["operations"]["matmul"]["dot"]  # type: ignore[index]
    entries = [json.loads(raw) for raw in damaged(operation) if _is_json(raw)]
    nested = [
        json.dumps(MANIFEST | {"operations": {"matmul": {"dot": [entry]}}}).encode()
        for entry in entries
    ]
    for raw in (*damaged(MANIFEST), *nested):
        path.write_bytes(raw)
        try:
            manifest = read_manifest(path)
        except DiagnosticError as error:
            check_sentence(error, "manifest.json")
        else:
            assert all(type(o.count) is int and 0 <= o.count < 2**53 for o in _all(manifest))


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _all(manifest: Any) -> list[Any]:
    return [entry for entries in manifest.operations.values() for entry in entries]


NAMES = ("status.json", "done.json", "trace.jsonl", "observed")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["folder", "loop", "pipe", "unreadable", "nowhere"])
def test_things_that_are_no_files_end_in_a_sentence(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "done.json").write_text(json.dumps(DONE))
    (tmp_path / "status.json").write_text(json.dumps(STATUS))
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == "folder":
        (path / "window-0.safetensors").mkdir(parents=True)
        (path / "manifest.json").mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "nowhere":
        path.symlink_to(tmp_path / "missing")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"x")
        path.chmod(0)
    outcome = read_outcome(tmp_path)
    assert outcome.complete == (name not in ("status.json", "done.json"))
    if name == "trace.jsonl":
        with pytest.raises(DiagnosticError):
            read_trace(path)
        assert kind == "unreadable" or read_trace(path, partial=True) == ()
    if name == "observed":
        try:
            assert read_observation(path).windows == ()
        except DiagnosticError as error:
            check_sentence(error)
