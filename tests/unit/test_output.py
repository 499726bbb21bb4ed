"""Writing files: whole or not at all, and never over somebody else's work."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.output import MANIFEST, OutputFile, write_files
from crosscast.state.store import write_state
from crosscast.state.training_state import TrainingState
from crosscast_parity.inputs.weights import save
from crosscast_reading.sources.files import write_together, write_whole

FILES = {
    "recipe.yaml": OutputFile("a: 1\n"),
    "torch/train.py": OutputFile("print()\n"),
    "torch/launch.sh": OutputFile("#!/bin/sh\n", executable=True),
    "torch/deep/er.py": OutputFile(""),
}
NEWER = {path: OutputFile(f"{file.text}# 2\n", file.executable) for path, file in FILES.items()}


def snapshot(folder: Path) -> dict[str, bytes | str | None]:
    """Return everything below a folder: bytes of files, targets of links, None for folders."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def refused(root: Path, files: dict[str, OutputFile], *, force: bool = False) -> Diagnostic:
    """Return the diagnostic of a write that must fail and change nothing."""
    before = snapshot(root.parent)
    with pytest.raises(DiagnosticError) as caught:
        write_files(root, files, force=force)
    assert snapshot(root.parent) == before
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def texts(root: Path) -> dict[str, str]:
    return {path: (root / path).read_text() for path in FILES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "some" / "out"


def test_files_folders_and_manifest(root: Path) -> None:
    write_files(root, FILES)
    assert texts(root) == {path: file.text for path, file in FILES.items()}
    names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert names == {*FILES, MANIFEST}
    manifest = json.loads((root / MANIFEST).read_text())
    assert list(manifest["files"]) == sorted(FILES)
    assert all(len(digest) == 64 for digest in manifest["files"].values())


def test_permissions(root: Path) -> None:
    write_files(root, FILES)
    modes = {path: stat.S_IMODE((root / path).stat().st_mode) for path in FILES}
    assert modes == {path: 0o755 if file.executable else 0o644 for path, file in FILES.items()}


@pytest.mark.parametrize("umask", [0o002, 0o027, 0o077])
def test_modes_are_those_of_the_umask(umask: int, tmp_path: Path) -> None:
    """Of every writer: of sets of files, of single texts, of checkpoints, of weights."""
    before = os.umask(umask)
    try:
        (tmp_path / "plain").write_text("")
        write_files(tmp_path / "set", FILES)
        write_whole(tmp_path / "text", b"")
        write_together({tmp_path / "several": b""})
        state = TrainingState("0" * 16, {"w": np.ones(1, np.float32)}, {}, {}, 1, 1, None, None)
        write_state(tmp_path / "state.safetensors", state)
        save(tmp_path / "weights.safetensors", {"w": np.ones(1, np.float32)})
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    programs = {path for path, file in FILES.items() if file.executable}
    assert programs
    wrong = {}
    for path in tmp_path.rglob("*"):
        program = str(path.relative_to(tmp_path / "set")) in programs if "set" in path.parts else 0
        expected = (0o777 if program else 0o666) & ~umask
        if path.is_file() and path.stat().st_mode & 0o777 != expected:
            wrong[path.name] = oct(path.stat().st_mode)
    assert not wrong


def test_without_manifest(root: Path) -> None:
    write_files(root, FILES, manifest=False)
    assert not (root / MANIFEST).exists()
    assert texts(root) == {path: file.text for path, file in FILES.items()}


def test_writing_twice_gives_the_same_bytes(root: Path) -> None:
    write_files(root, FILES)
    before = snapshot(root)
    write_files(root, FILES)
    assert snapshot(root) == before


def test_own_files_are_replaced(root: Path) -> None:
    write_files(root, FILES)
    write_files(root, NEWER)
    assert texts(root) == {path: file.text for path, file in NEWER.items()}


def test_the_manifest_remembers_files_of_earlier_runs(root: Path) -> None:
    write_files(root, {"torch/train.py": OutputFile("1")})
    write_files(root, {"paddle/train.py": OutputFile("1")})
    write_files(root, {"torch/train.py": OutputFile("2")})
    assert (root / "torch/train.py").read_text() == "2"


def test_foreign_files_are_kept(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "recipe.yaml").write_text("mine")
    diagnostic = refused(root, FILES)
    assert diagnostic.code == "CC501"
    assert "recipe.yaml" in diagnostic.message
    assert "--force" in diagnostic.hint


def test_edited_files_are_kept_and_all_of_them_named(root: Path) -> None:
    write_files(root, FILES)
    for path in ("torch/train.py", "recipe.yaml"):
        (root / path).write_text("edited")
    diagnostic = refused(root, NEWER)
    assert diagnostic.code == "CC501"
    assert "recipe.yaml, torch/train.py" in diagnostic.message


def test_force_replaces_foreign_files(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "recipe.yaml").write_text("mine")
    write_files(root, FILES, force=True)
    assert (root / "recipe.yaml").read_text() == "a: 1\n"
    write_files(root, NEWER)  # they are crosscast's from then on


def test_other_files_in_the_folder_stay(root: Path) -> None:
    (root / "torch").mkdir(parents=True)
    (root / "torch" / "data.npz").write_bytes(b"x")
    (root / ".crosscast-left").mkdir()  # of a run that was killed
    write_files(root, FILES, force=True)
    assert (root / "torch" / "data.npz").read_bytes() == b"x"
    assert (root / ".crosscast-left").is_dir()


def test_a_foreign_file_with_the_same_content_is_no_obstacle(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "recipe.yaml").write_text("a: 1\n")
    write_files(root, FILES)


def test_a_missing_own_file_is_written_again(root: Path) -> None:
    write_files(root, FILES)
    (root / "torch" / "train.py").unlink()
    write_files(root, FILES)
    assert (root / "torch" / "train.py").exists()


@pytest.mark.parametrize(
    "manifest",
    [
        *(b"", b"{}", b"[]", b"null", b"3", b"\xff\xfe", b"[" * 100_000, b"{" * 10),
        *(b'{"files": 3}', b'{"files": ["a"]}', b'{"files": null}'),
        b'{"files": {"recipe.yaml": 5}}',
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_damaged_manifest_claims_nothing(root: Path, manifest: bytes) -> None:
    write_files(root, FILES)
    (root / MANIFEST).write_bytes(manifest)
    assert refused(root, NEWER).code == "CC501"
    write_files(root, FILES)  # the same content is fine, and mends the manifest
    write_files(root, NEWER)


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "../x", "a/../../x", "a/..", "..", ".", "", "a\\b", "..\\x", "a\0b", "/"],
    ids=repr,
)
def test_paths_that_leave_the_folder(root: Path, path: str) -> None:
    for force in (False, True):
        assert refused(root, {path: OutputFile("x")}, force=force).code == "CC503"


@pytest.mark.parametrize("link", ["torch", "torch/train.py", "recipe.yaml", MANIFEST])
def test_links_are_not_followed(root: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside if link == "torch" else outside / "file")
    for force in (False, True):
        assert refused(root, FILES, force=force).code == "CC503"
    assert list(outside.iterdir()) == []


def test_the_output_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    write_files(tmp_path / "out", FILES)
    assert (tmp_path / "real" / "recipe.yaml").exists()


@pytest.mark.parametrize("name", ["recipe.yaml", MANIFEST, "torch/train.py"])
def test_a_folder_in_the_place_of_a_file_is_never_replaced(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "precious").write_text("x")
    for force in (False, True):
        assert refused(root, FILES, force=force).code == "CC502"


def test_a_file_in_the_place_of_a_folder(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "torch").write_text("x")
    for force in (False, True):
        assert refused(root, FILES, force=force).code == "CC502"


def test_a_file_in_the_place_of_the_output_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    assert refused(tmp_path / "out", FILES).code == "CC502"
    assert refused(tmp_path / "out" / "deeper", FILES).code == "CC502"


def test_a_pipe_in_the_place_of_a_file_is_not_opened(root: Path) -> None:
    root.mkdir(parents=True)
    os.mkfifo(root / "recipe.yaml")
    with pytest.raises(DiagnosticError) as caught:
        write_files(root, FILES)
    assert caught.value.diagnostics[0].code == "CC501"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(root: Path) -> None:
    root.mkdir(parents=True)
    root.chmod(0o500)
    try:
        assert refused(root, FILES).code == "CC502"
    finally:
        root.chmod(0o700)


class Fault:
    """Lets a method of Path fail the n-th time it is called, once."""

    def __init__(self, patch: pytest.MonkeyPatch, method: str, at: int, error: BaseException):
        self.calls = 0
        original = getattr(Path, method)

        def call(path: Path, *args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.calls == at:
                raise error
            return original(path, *args, **kwargs)

        patch.setattr(Path, method, call)


def moves_of_a_full_run(root: Path, method: str) -> int:
    """Return how often a method of Path is called when `NEWER` replaces `FILES`."""
    with pytest.MonkeyPatch.context() as patch:
        counter = Fault(patch, method, -1, OSError())
        write_files(root, NEWER)
    return counter.calls


@pytest.mark.parametrize("method", ["replace", "write_bytes", "chmod", "mkdir"])
@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "replacing"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_anywhere_changes_nothing(
    tmp_path: Path, method: str, existing: bool, error: BaseException
) -> None:
    probe = tmp_path / "probe" / "out"
    if existing:
        write_files(probe, FILES)
    calls = moves_of_a_full_run(probe, method)
    assert calls >= 3
    for at in range(1, calls + 1):
        root = tmp_path / str(at) / "out"
        if existing:
            write_files(root, FILES)
            (root / "torch" / "mine.txt").write_text("x")
        before = snapshot(tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            Fault(patch, method, at, error)
            expected = DiagnosticError if isinstance(error, OSError) else KeyboardInterrupt
            with pytest.raises(expected) as caught:
                write_files(root, NEWER)
        if isinstance(caught.value, DiagnosticError):
            assert caught.value.diagnostics[0].code == "CC502"
            assert "No space left on device" in caught.value.diagnostics[0].message
        assert snapshot(tmp_path) == before


def test_what_cannot_be_put_back_is_kept_aside(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(root, FILES)
    original = Path.replace
    calls = 0

    def fail_from_the_fourth_on(path: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls >= 4:
            raise OSError(5, "Input/output error")
        return original(path, target)

    monkeypatch.setattr(Path, "replace", fail_from_the_fourth_on)
    with pytest.raises(DiagnosticError):
        write_files(root, NEWER)
    kept = {path.name: path.read_text() for path in root.rglob("old/**/*") if path.is_file()}
    assert kept["recipe.yaml"] == "a: 1\n"
    assert kept["train.py"] == "print()\n"
