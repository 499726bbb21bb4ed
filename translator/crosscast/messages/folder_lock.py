"""Hold an output folder for one command at a time, as emitted scripts hold theirs."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from crosscast.messages.diagnostics import DiagnosticError, failure

LOCK = "lock"


@contextmanager
def hold_folder(folder: Path, *, denied: str) -> Iterator[None]:
    """Create a folder if it is missing, and keep other commands out of it.

    The system releases the lock when the process ends, for whatever reason; the file stays and
    names the process. Where a file system has no locks, a sentence on stderr says so. A folder that
    was created, and in which a command that fails has left nothing, is removed again.

    Args:
        folder: The output folder.
        denied: Code of the diagnostic if the system denies access.

    Raises:
        DiagnosticError: CC505 if another process holds the folder; `denied`.
    """
    created = not folder.exists()
    try:
        lock = _opened(folder)
    except OSError as error:
        if created:
            with suppress(OSError):
                folder.rmdir()
        raise _denied(denied, folder, error) from None
    with lock:
        os.register_at_fork(after_in_child=lock.close)  # a child may outlive the command
        try:
            try:
                lock.truncate(0)
                lock.write(f"process {os.getpid()} of {socket.gethostname()}\n".encode())
            except OSError as error:
                raise _denied(denied, folder, error) from None
            yield
        except BaseException:
            if created and [path.name for path in folder.iterdir()] == [LOCK]:
                (folder / LOCK).unlink()
                with suppress(OSError):
                    folder.rmdir()
            raise


def _denied(code: str, folder: Path, error: OSError) -> DiagnosticError:
    return failure(code, f"{error.filename or folder}: {error.strerror or error}")


def _opened(folder: Path) -> BinaryIO:
    """Return the open, locked file of a folder."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOCK
        lock = path.open("a+b", buffering=0)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read(300).decode(errors="replace").strip() or "another process"
            lock.close()
            hint = "wait for its end, or name another folder"
            raise failure("CC505", f"{folder} is in use by {holder}", hint) from None
        except OSError as error:
            why = f"{folder} cannot be locked: {error.strerror}"
            print(f"{why}; start no other command in it", file=sys.stderr)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                return lock
        lock.close()  # a command that failed has removed it meanwhile
