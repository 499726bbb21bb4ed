"""Find and read the files to analyze."""

from __future__ import annotations

import io
import os
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.output import new_file_mode
from crosscast.messages.source import STDIN, Source, read_source
from crosscast_reading.sources.path_patterns import path_matches
from crosscast_reading.sources.requirements import is_requirements

PYTHON = (".py", ".pyw", ".ipynb")
SHELL = (".sh", ".bash", ".sbatch", ".slurm")
CONFIG = (".json", ".yaml", ".yml", ".gin")
DOCKERFILE = "Dockerfile"
MAX_BYTES = 4 << 20
MAX_CONFIG = 1 << 20
"""Larger JSON and YAML files contain data, not settings."""
_SKIPPED = frozenset(
    {"__pycache__", "__pypackages__", "node_modules", "build", "dist", "venv", "site-packages"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The text of a file with the information needed to write it back."""

    source: Source
    path: Path
    encoding: str = "utf-8"
    stdin: bool = False


def path_of(name: str) -> Path:
    """Return the path that the user named, with single slashes also at its start."""
    return Path(f"/{name.lstrip('/')}" if name.startswith("//") and os.sep == "/" else name)


def find_files(
    paths: Iterable[str], exclude: Sequence[str] = (), root: str = ""
) -> tuple[list[Path], list[Diagnostic]]:
    """Return the files at the given paths, without duplicates and in order, and path problems.

    Hidden names, virtual environments and build folders inside folders are skipped, and links to
    folders are not followed.

    Args:
        paths: folders, and files with any name.
        exclude: patterns of paths to skip (`path_matches`).
        root: the folder that the patterns are relative to.
    """
    by_path: dict[Path, Path] = {}
    problems: list[Diagnostic] = []
    for name in paths:
        path = path_of(name)
        try:
            if path.is_dir():
                for inside in _files_below(path, exclude, root):
                    by_path.setdefault(inside.absolute(), inside)
            elif not path.exists():
                problem = "a link that leads nowhere" if path.is_symlink() else "no such file"
                problems.append(Diagnostic(code="CC001", message=f"{name}: {problem}"))
            elif not path.is_file():
                problems.append(Diagnostic(code="CC002", message=f"{name}: not a regular file"))
            elif not _excluded(path, exclude, root):
                by_path.setdefault(path.absolute(), path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problems.append(Diagnostic(code="CC003", message=f"{name!r}: {reason}"))
    return list(by_path.values()), problems


def _excluded(path: Path, exclude: Sequence[str], root: str) -> bool:
    return any(path_matches(str(path), pattern, root) for pattern in exclude)


def _files_below(folder: Path, exclude: Sequence[str], root: str) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # an unreadable folder is skipped
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or (exclude and _excluded(path, exclude, root)):
            continue
        if entry.is_dir(follow_symlinks=False):
            built = entry.name in _SKIPPED or entry.name.endswith(".egg-info")
            if not built and not (path / "pyvenv.cfg").exists():
                yield from _files_below(path, exclude, root)
        elif _is_wanted(path) and is_file(entry):
            yield path


def is_file(entry: os.DirEntry[str] | Path) -> bool:
    """Whether something is a file; not if the system cannot tell."""
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _is_wanted(path: Path) -> bool:
    known = path.suffix in (*PYTHON, *SHELL, *CONFIG) or path.name == DOCKERFILE
    return known or is_requirements(path.name)


def read_text(path: Path, *, named: bool = True) -> Text | Diagnostic | None:
    """Read a file.

    Args:
        path: of the file.
        named: whether the user named it; unnamed files that are too large or not text are
            ignored (None).
    """
    limit = MAX_CONFIG if path.suffix in CONFIG and not named else MAX_BYTES
    problem: Diagnostic
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            return Diagnostic(code="CC002", message=f"{path}: not a regular file")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        return Diagnostic(code="CC003", message=f"{path}: {error.strerror or error}")
    if len(data) > limit:
        problem = Diagnostic(code="CC004", message=f"{path}: larger than {limit} bytes")
        return problem if named else None
    encoding = encoding_of(data, python=path.suffix not in (*SHELL, *CONFIG))
    try:
        text = data.decode(encoding)
        if "utf" not in encoding and text.encode(encoding) != data:
            raise ValueError  # a codec such as punycode: the file could not be written back
    except (ValueError, LookupError):  # codecs such as `undefined` and `idna` have errors of theirs
        problem = Diagnostic(code="CC005", message=f"{path}: not text in {encoding}")
        return problem if named else None
    return Text(source=Source(str(path), text), path=path, encoding=encoding)


def encoding_of(data: bytes, *, python: bool) -> str:
    """Return the encoding that a Python file declares; otherwise UTF-8."""
    if python:
        try:
            return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        except (SyntaxError, UnicodeDecodeError):
            return "utf-8"
    return "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"


def kind_of(source: Source) -> str:
    """Return the kind of a source: python, shell, config or requirements.

    The kind follows from the name, otherwise from the first line.
    """
    if is_requirements(source.name):
        return "requirements"
    suffix = Path(source.name).suffix.lower()
    if suffix in PYTHON:
        return "python"
    if suffix in SHELL:
        return "shell"
    if suffix in CONFIG:
        return "config"
    first = source.text[:200].partition("\n")[0]
    if first.startswith("#!"):
        return "python" if "python" in first else "shell"
    return "python" if source.name.startswith("<") else "config"


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file atomically.

    Args:
        path: of the file.
        data: its content.
        mode: permissions; None for the default of new files.

    Raises:
        DiagnosticError: CC502 for an error of the system; nothing has changed then.
    """
    try:
        if path.exists() and not path.is_file():  # a terminal or a pipe cannot be replaced
            path.write_bytes(data)
            return
        path = path.resolve()  # keep links
    except OSError as error:
        raise _not_written(path, error) from None
    _replace_all({path: (data, mode)})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files, or none of them.

    Args:
        contents: path, without links, to content; existing files keep their permissions.

    Raises:
        DiagnosticError: CC502 for an error of the system; nothing has changed then.
    """
    _replace_all(
        {
            path: (data, path.stat().st_mode & 0o7777 if path.exists() else None)
            for path, data in contents.items()
        }
    )


def _replace_all(contents: Mapping[Path, tuple[bytes, int | None]]) -> None:
    """Stage all files beside their places, then move them there; undo all on failure."""
    staged: dict[Path, Path] = {}
    before: dict[Path, bytes | None] = {}
    try:
        for path, (data, mode) in contents.items():
            handle, name = tempfile.mkstemp(prefix=".crosscast-", dir=path.parent)
            staged[path] = Path(name)
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            staged[path].chmod(new_file_mode() if mode is None else mode)
        for path in contents:
            before[path] = path.read_bytes() if path.exists() else None
            staged[path].replace(path)
    except BaseException as error:
        for written, stage in staged.items():
            if stage.exists():
                stage.unlink()
            elif (old := before[written]) is None:
                written.unlink()
            else:
                written.write_bytes(old)
        if isinstance(error, OSError):
            raise _not_written(path, error) from None
        raise


def _not_written(path: Path, error: OSError) -> DiagnosticError:
    message = f"{path}: {error.strerror or error}"
    return DiagnosticError(Diagnostic(code="CC502", message=message))


def read_all(
    names: Sequence[str], exclude: Sequence[str] = (), root: str = "", stdin_name: str = "<stdin>"
) -> tuple[dict[str, Text], list[Diagnostic]]:
    """Return name to file for the given paths, and diagnostics of files that cannot be read.

    Args:
        names: files and folders; `-` for stdin.
        exclude: patterns of paths to skip.
        root: the folder that the patterns are relative to.
        stdin_name: the name of the text from stdin.
    """
    named = [name for name in names if name != STDIN]
    paths, problems = find_files(named, exclude, root)
    explicit = set(map(path_of, named))
    files: dict[str, Text] = {}
    if STDIN in names:
        source = Source(stdin_name, read_source(STDIN, max_bytes=MAX_BYTES).text)
        files[source.name] = Text(source=source, path=Path(stdin_name), stdin=True)
    for path in paths:
        read = read_text(path, named=path in explicit)
        if isinstance(read, Diagnostic):
            problems.append(read)
        elif read is not None:
            files[read.source.name] = read
    return files, problems
