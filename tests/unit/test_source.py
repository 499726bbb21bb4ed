"""Reading a user's text file or stdin."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.source import read_source


def refused(path: str, max_bytes: int = 100) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        read_source(path, max_bytes=max_bytes)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a: 1\r\n", "a: 1\r\n"), (b"\xef\xbb\xbfa", "a"), ("é\U0001f600".encode(), "é\U0001f600")],
)
def test_a_file_is_read_as_it_is(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    source = read_source(str(path), max_bytes=100)
    assert (source.name, source.text) == (str(path), text)


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"a: 1"))
    source = read_source("-", max_bytes=4)
    assert (source.name, source.text) == ("<stdin>", "a: 1")


def test_stdin_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"a: 12"))
    assert refused("-", max_bytes=4).code == "CC004"


def test_stdin_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("-").code == "CC003"


def test_missing(tmp_path: Path) -> None:
    diagnostic = refused(str(tmp_path / "no.yaml"))
    assert diagnostic.code == "CC001"
    assert str(tmp_path / "no.yaml") in diagnostic.message


def test_a_name_with_a_null_byte_is_no_file() -> None:
    assert refused("a\0b").code in ("CC001", "CC003")


def test_a_name_too_long_for_the_system() -> None:
    assert refused("x" * 5000).code in ("CC001", "CC003")


def test_folder(tmp_path: Path) -> None:
    assert refused(str(tmp_path)).code == "CC002"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(str(tmp_path / "pipe")).code == "CC002"


def test_a_device_is_no_file() -> None:
    assert refused("/dev/zero").code == "CC002"


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("a: 1")

    def deny(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", deny)
    diagnostic = refused(str(path))
    assert (diagnostic.code, diagnostic.message) == ("CC003", f"{path}: Permission denied")


def test_size_limit_is_inclusive(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(b"x" * 100)
    assert len(read_source(str(path), max_bytes=100).text) == 100
    assert refused(str(path), max_bytes=99).code == "CC004"


@pytest.mark.parametrize(
    ("data", "line", "byte"),
    [
        (b"a\nb: \xff\n", 2, 5),
        (b"\xc3", 1, 0),
        (b"a: \xed\xa0\x80", 1, 3),  # half of a surrogate pair
        ("a: x".encode("utf-16"), 1, 0),
        ("a: é".encode("latin-1"), 1, 3),
    ],
)
def test_not_utf8(tmp_path: Path, data: bytes, line: int, byte: int) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    diagnostic = refused(str(path))
    assert diagnostic.code == "CC005"
    assert f"r.yaml:{line}: byte {byte} " in diagnostic.message
