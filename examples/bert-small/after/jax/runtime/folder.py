"""The output folder: held by one run at a time, with the trace and status.json."""

from __future__ import annotations

import fcntl
import json
import math
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from .settings import Stop


def take_folder(output: Path, rank: int) -> BinaryIO:
    """Make a folder and return the open file that keeps other runs out of it.

    The system lets go of it when the run ends, also when it is killed. Only the first
    of several data-parallel processes takes the folder.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=output).close()  # files can be made there
        if rank:
            return open(os.devnull, "rb")
        lock = (output / "lock").open("a+b", buffering=0)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read(300).decode(errors="replace").strip() or "another run"
            lock.close()
            message = f"{output} is in use by {holder}"
            way_out = "wait for its end, or pass another --output"
            raise Stop("failed", 2, f"{message}: {way_out}") from None
        except OSError as error:  # of a file system without locks
            why = f"{output} cannot be locked: {error.strerror}"
            print(f"{why}; start no other run in it", file=sys.stderr)
        os.register_at_fork(after_in_child=lock.close)  # workers may outlive the run
        lock.truncate(0)
        lock.write(f"process {os.getpid()} of {socket.gethostname()}\n".encode())
        (output / "status.json").unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise Stop("failed", 2, f"cannot write to {output}: {error}") from None
    return lock


def open_trace(output: Path | None, windows: int) -> TextIO:
    """Open the trace for appending, with the rows of the first `windows` windows.

    Training does not need them: rows that are lost or damaged are told and left out.
    Without a folder nothing is kept.
    """
    if output is None:
        return open(os.devnull, "w")
    path, kept = output / "trace.jsonl", {}
    partial = path.with_suffix(".partial")
    try:
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                number = json.loads(line.decode())["window"]
            except (KeyError, RecursionError, TypeError, ValueError):
                continue
            if type(number) is int and 0 <= number < windows:
                kept[number] = line + b"\n"
        partial.write_bytes(b"".join(kept[number] for number in sorted(kept)))
        os.replace(partial, path)
        trace = path.open("a")
    except OSError as error:
        raise Stop("failed", 2, f"cannot write {path}: {error}") from None
    if len(kept) < windows:
        lost = f"{windows - len(kept)} of the rows of {windows} windows"
        print(f"{path} lacks {lost}; going on without")
    return trace


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace inf and nan, which JSON does not know, by null."""
    bad = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return row | dict.fromkeys(bad)


def write_status(output: Path, status: dict[str, Any]) -> None:
    """Write status.json, whole."""
    partial = output / "status.partial"
    partial.write_text(json.dumps(status, indent=2) + "\n")
    os.replace(partial, output / "status.json")
