"""Keep what this process changes within some folders, and let it connect to nothing.

A program that is run past its errors is run past its own guards, too: after a training that was
skipped, `torch.save(state, "/models/best.pt")` would write over the weights of a real one.
Landlock, which Linux has since 5.13, refuses that to the process and all that it starts, whatever
library writes (https://docs.kernel.org/userspace-api/landlock.html; numbers from
<linux/landlock.h>). Elsewhere an audit hook refuses what Python itself does.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
_PATH_BENEATH = 1
_WRITE_FILE, _REMOVE_DIR, _TRUNCATE = 1 << 1, 1 << 4, 1 << 14
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing files, removing and making anything."""
_MOVES_SINCE, _TRUNCATES_SINCE, _CONNECTS_SINCE = 2, 3, 4
_CONNECT_TCP = 1 << 1

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OF_PATHS = {
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.move"), 2),
}
"""Events of changes, and how many of their first arguments are paths."""
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile")


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def confine(folders: Sequence[str]) -> None:
    """Refuse from now on to change what is not in some folders, and to connect by TCP.

    To be called before a thread is started, since threads that run already are not held.

    Args:
        folders: where changes are allowed; what does not exist is left out.
    """
    if not by_kernel(folders):
        by_hook(folders)


def by_kernel(folders: Sequence[str]) -> bool:
    """Let the kernel refuse; tell whether it can."""
    if not sys.platform.startswith("linux"):
        return False
    call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    changes = _CHANGES
    changes |= (1 << 13) * (version >= _MOVES_SINCE) | _TRUNCATE * (version >= _TRUNCATES_SINCE)
    rules = _Ruleset(changes, _CONNECT_TCP if version >= _CONNECTS_SINCE else 0)
    size = ctypes.sizeof(rules) if version >= _CONNECTS_SINCE else ctypes.sizeof(ctypes.c_uint64)
    held = call(_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if held < 0:
        return False
    try:
        for folder in folders:
            with contextlib.suppress(FileNotFoundError):
                opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
                beneath = _Beneath(changes, opened)
                failed = call(_ADD_RULE, held, _PATH_BENEATH, ctypes.byref(beneath), 0)
                os.close(opened)
                if failed:
                    return False
        if ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return call(_RESTRICT, held, 0) == 0
    finally:
        os.close(held)


def by_hook(folders: Sequence[str]) -> None:
    """Refuse what Python itself changes, starts, or connects to."""
    roots = tuple(os.path.realpath(folder) + os.sep for folder in folders)

    def check(path: Any) -> None:
        if isinstance(path, int):
            return
        where = os.path.realpath(os.fsdecode(path))
        if not f"{where}{os.sep}".startswith(roots):
            raise PermissionError(errno.EACCES, "it is not in the copy of the program", where)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if any(letter in (mode or "") for letter in "wax+") or (flags or 0) & _WRITES:
                check(path)
        elif event in _OF_PATHS:
            for path in args[: _OF_PATHS[event]]:
                check(path)
        elif event in _STARTS or event == "socket.connect":
            raise PermissionError(errno.EACCES, f"{event} is not allowed here")

    sys.addaudithook(hook)
