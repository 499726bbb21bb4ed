"""Write runs for a tool, all or nothing."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from crosscast.messages.diagnostics import failure
from crosscast.messages.output import OutputFile, write_files
from crosscast.tracking.runs import TracedRun
from crosscast.tracking.tools import TOOLS, write_with

CSV = "csv"
MARK = "crosscast-export.json"
"""File that says that a folder is an export, which may be replaced as a whole."""


def export(runs: Sequence[TracedRun], to: str, out: Path, *, force: bool) -> None:
    """Write runs to a file (csv) or a folder, or leave everything as it was.

    Raises:
        DiagnosticError: CC501 if something else or an earlier export is there, CC502 if it cannot
            be written, CC401 and CC717 as `write_with`.
    """
    if to == CSV:
        write_files(out.parent, {out.name: OutputFile(text_of(runs))}, force=force, manifest=False)
        return
    place = out.absolute()
    _refuse(out, force)
    try:
        _replace(place, lambda folder: write_with(TOOLS[to], runs, folder, place), to)
    except OSError as error:
        raise failure("CC502", f"{error.filename or out}: {error.strerror or error}") from None


def text_of(runs: Sequence[TracedRun]) -> str:
    """Return one line for each point, with the names of the numbers as columns."""
    names = {name: None for run in runs for point in run.points for name in point.values}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["run", "step", *names])
    for run in runs:
        for point in run.points:
            values = (point.values.get(name, "") for name in names)
            writer.writerow([run.name, point.step, *values])
    return stream.getvalue()


def _refuse(out: Path, force: bool) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise failure("CC501", f"{out} is not a folder", "choose another one")
    if (out / MARK).is_file():
        if not force:
            raise failure("CC501", f"{out} is an export already", "--force replaces it")
    elif any(out.iterdir()):
        hint = "choose a new folder; --force replaces only an earlier export"
        raise failure("CC501", f"{out} is not empty", hint)


def _replace(place: Path, write: Callable[[Path], None], to: str) -> None:
    """Make a folder beside its place, then move it there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".crosscast-", dir=place.parent))
    new, old = stage / "new", stage / "old"
    try:
        new.mkdir()
        write(new)
        (new / MARK).write_text(json.dumps({"format": to}) + "\n", encoding="utf-8")
        if place.exists():
            place.rename(old)
        try:
            new.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
