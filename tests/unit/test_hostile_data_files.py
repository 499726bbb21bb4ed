"""Files that would be waited for or would fill the memory are refused before they are read."""

from __future__ import annotations

import os
import re
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.data import npz
from crosscast.data.npz import Dataset, read_arrays
from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast_migrate.run_length import rows_of
from crosscast_reading.sources.files import read_text
from frameworks.emitted_script import tiny_recipe, write_rows
from runtime_texts import settings_of, sources_module

SECONDS = 20.0


def soon(function: Callable[..., Any], *arguments: object) -> Any:
    """Return what a function returns or raises, which must not wait for a pipe."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(function(*arguments))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "it waits"
    return found[0]


@pytest.fixture(scope="module")
def emitted() -> tuple[ModuleType, Any]:
    """Return the emitted module that reads rows, and its settings."""
    (compiled,) = compile_recipe(tiny_recipe(), ["torch"])
    files = {path: file.text for path, file in compiled.files.items()}
    return sources_module(files), settings_of(files)


def kinds(folder: Path) -> list[Path]:
    """Return a pipe, a device and a folder."""
    pipe = folder / "pipe.npz"
    os.mkfifo(pipe)
    (folder / "folder.npz").mkdir()
    return [pipe, Path("/dev/zero"), folder / "folder.npz"]


def test_emitted_scripts_take_regular_files(
    emitted: tuple[ModuleType, Any], tmp_path: Path
) -> None:
    module, settings = emitted
    for path in kinds(tmp_path):
        error = soon(module.read_rows, path, settings)
        assert (error.exit_code, str(path) in str(error)) == (2, True)
        assert "not a regular file" in str(error)
    os.mkfifo(tmp_path / "a.npy")
    error = soon(module.mapped_rows, tmp_path)
    assert "a.npy: it is not a regular file" in str(error)


def test_the_product_takes_regular_files(tmp_path: Path) -> None:
    for path in kinds(tmp_path):
        error = soon(read_arrays, path)
        assert isinstance(error, DiagnosticError)
        assert error.diagnostics[0].code == "CC601"
        assert soon(rows_of, path) is None
        assert soon(read_text, path).code == "CC002"


def test_commands_do_not_wait_for_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    for command in (
        ["state", "show", path],
        ["data", "jsonl", path, "-o", tmp_path / "new.npz", "--vocab", path],
        ["weights", "match", path, "--to", "torch"],
        ["check", path],
        ["lift", path],
        ["lint", path],
        ["trace", "export", path, "--to", "csv", "-o", tmp_path / "exported"],
        ["parity", path, "--to", "torch,paddle"],
    ):
        done = soon(CliRunner().invoke, app, list(map(str, command)))
        assert done.exit_code in (1, 2), (command, done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), command


def bomb(path: Path, megabytes: int) -> Path:
    """Write an npz file whose only array is of zeros."""
    zeros = bytes(2**20)
    count = megabytes * 2**20
    header = {"descr": "|i1", "fortran_order": False, "shape": (count // 8, 8)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("input_ids.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(member, header)  # type: ignore[no-untyped-call]
        for _ in range(count // len(zeros)):
            member.write(zeros)
    return path


def test_a_bomb_is_refused_and_not_unpacked(
    emitted: tuple[ModuleType, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, settings = emitted
    path = bomb(tmp_path / "bomb.npz", 64)
    for place in (npz, module):
        monkeypatch.setattr(place, "MOST_SMALL", 2**25)  # as 4 GB are to 2**30, but sooner

    def unread(*arguments: Any, **options: Any) -> None:
        raise AssertionError("it is read")

    monkeypatch.setattr(np.lib.format, "read_array", unread)
    with pytest.raises(module.Stop, match=r"bomb.npz: it unpacks \d+ bytes to 67108992"):
        module.read_rows(path, settings)
    with pytest.raises(DiagnosticError, match="CC602") as caught:
        read_arrays(path)
    (found,) = caught.value.diagnostics
    assert re.search(r"unpacks \d+ bytes to 67108992$", found.message)
    assert found.hint == "if that is right, write it with numpy.savez, which does not compress"


def test_what_packs_well_is_read(emitted: tuple[ModuleType, Any], tmp_path: Path) -> None:
    """Constant arrays are packed a thousand times; written plainly, they may have any size."""
    module, settings = emitted
    rows = np.load(write_rows(tmp_path / "rows.npz", 20))
    constant = {name: np.zeros((50_000, *rows[name].shape[1:]), np.int64) for name in rows.files}
    constant["attention_mask"] += 1
    np.savez_compressed(tmp_path / "packed.npz", **constant)  # type: ignore[arg-type]
    np.savez(tmp_path / "plain.npz", **constant)  # type: ignore[arg-type]
    for name in ("packed", "plain"):
        found = module.read_rows(tmp_path / f"{name}.npz", settings)
        assert len(found["labels"]) == 50_000
    assert len(Dataset.load(tmp_path / "packed.npz")) == 50_000
