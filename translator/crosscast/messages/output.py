"""Write a set of files atomically, without overwriting files of the user.

A manifest in the output folder records what was written. A file that is not listed in it, or that
was edited since, is foreign and is replaced only with `force`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from crosscast.messages.diagnostics import failure

MANIFEST = "crosscast-manifest.json"


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to write: its text and whether it is a program."""

    text: str
    executable: bool = False


def write_files(
    root: Path, files: Mapping[str, OutputFile], *, force: bool = False, manifest: bool = True
) -> None:
    """Write all files below `root` and the manifest, or change nothing.

    Args:
        root: Output folder; created if missing.
        files: Relative path with forward slashes to content.
        force: Replace foreign files too.
        manifest: Record the written files, so that they can be replaced later.

    Raises:
        DiagnosticError: CC501 foreign files, CC502 an error of the system, CC503 a path that leaves
            the folder.
    """
    try:
        for path in (*files, MANIFEST):
            _check_path(root, path)
        known = _read_manifest(root)
        if not force:
            _refuse_foreign(root, files, known)
        contents = {path: file.text.encode() for path, file in files.items()}
        if manifest:
            hashes = known | {path: _sha256(data) for path, data in contents.items()}
            listing = {"files": dict(sorted(hashes.items()))}
            contents[MANIFEST] = (json.dumps(listing, indent=2) + "\n").encode()
        executable = {path for path, file in files.items() if file.executable}
        _write_all(root, contents, executable)
    except OSError as error:
        name = error.filename or root
        raise failure("CC502", f"{name}: {error.strerror or error}") from None


def new_file_mode(*, executable: bool = False) -> int:
    """Return the permissions that the umask leaves to a new file."""
    umask = os.umask(0o077)  # it can only be read by setting it
    os.umask(umask)
    return (0o777 if executable else 0o666) & ~umask


def _check_path(root: Path, path: str) -> None:
    parts = PurePosixPath(path)
    outside = parts.is_absolute() or ".." in parts.parts or not parts.parts
    if outside or "\\" in path or "\0" in path:
        raise failure("CC503", f"{path!r} leaves the output folder")
    for parent in [parts, *parts.parents]:
        if (root / parent).is_symlink() and parent.parts:
            raise failure("CC503", f"{root / parent} is a symbolic link")
    if (root / path).is_dir():  # never replaced, even with --force
        raise failure("CC502", f"{root / path} is a folder")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_manifest(root: Path) -> dict[str, str]:
    """Return path to hash; empty for an unreadable manifest."""
    try:
        entries = json.loads((root / MANIFEST).read_bytes())["files"]
        return {str(path): str(value) for path, value in entries.items()}
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _refuse_foreign(root: Path, files: Mapping[str, OutputFile], known: Mapping[str, str]) -> None:
    foreign = []
    for path, file in files.items():
        existing = root / path
        if not existing.exists():
            continue
        if not existing.is_file():
            foreign.append(path)
            continue
        digest = _sha256(existing.read_bytes())
        if digest not in (known.get(path), _sha256(file.text.encode())):
            foreign.append(path)
    if foreign:
        raise failure(
            "CC501",
            f"not written by crosscast, or edited since then: {', '.join(sorted(foreign))}",
            "choose another folder, or use --force",
        )


def _write_all(root: Path, contents: Mapping[str, bytes], executable: set[str]) -> None:
    """Stage all files next to the target, then move them into place; undo on failure."""
    new_folders: list[Path] = []
    moves: list[tuple[Path, Path | None]] = []
    stage: Path | None = None
    try:
        _make_folder(root, new_folders)
        stage = Path(tempfile.mkdtemp(prefix=".crosscast-", dir=root))
        for path, data in contents.items():
            staged = stage / "new" / path
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(data)
            staged.chmod(new_file_mode(executable=path in executable))
        for path in contents:
            final, backup = root / path, stage / "old" / path
            _make_folder(final.parent, new_folders)
            if final.exists():
                backup.parent.mkdir(parents=True, exist_ok=True)
                moves.append((final, backup))
                final.replace(backup)
            else:
                moves.append((final, None))
            (stage / "new" / path).replace(final)
    except BaseException:
        lost = [final for final, backup in reversed(moves) if not _undo(final, backup)]
        if stage is not None and not lost:  # files that could not be restored stay in the stage
            shutil.rmtree(stage, ignore_errors=True)
        for folder in reversed(new_folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    shutil.rmtree(stage, ignore_errors=True)


def _make_folder(folder: Path, new_folders: list[Path]) -> None:
    """Create a folder with its parents and record the new ones."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            path.mkdir()
            new_folders.append(path)


def _undo(final: Path, backup: Path | None) -> bool:
    """Undo one move; return whether that succeeded."""
    try:
        if backup is None:
            if final.exists():
                final.unlink()
        elif backup.exists():
            backup.replace(final)
    except OSError:
        return False
    return True
