"""Keep the files that this process changes within some folders, and refuse to connect by TCP.

A program that is run past its errors is run past its own guards, too: after a training that was
skipped, `torch.save(state, "/models/best.pt")` would write over the weights of a real one.
Landlock, which Linux has since 5.13, refuses that to the process and all that it starts, whatever
library writes (https://docs.kernel.org/userspace-api/landlock.html; numbers from
<linux/landlock.h>). It refuses `truncate` from 6.2 on and TCP connections from 6.7 on, but neither
UDP nor Unix sockets, nor changes of a file's permissions, owner and times. Elsewhere an audit hook
refuses what Python itself does: all of that, and the start of other programs.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import importlib
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
    **dict.fromkeys(("os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.move"), 2),
}
"""Events of changes, and how many of their first arguments are paths."""
_REFUSED = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile"),
    *("_winapi.CreateProcess", "socket.connect", "socket.sendto", "socket.sendmsg"),
)
"""Events that start programs, or send something elsewhere."""


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


def landlock() -> int:
    """Return the version of Landlock that this kernel has, 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    version: int = ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    return max(version, 0)


def by_kernel(folders: Sequence[str]) -> bool:
    """Let the kernel refuse; tell whether it can."""
    version = landlock()
    if not version:
        return False
    call: Callable[..., int] = ctypes.CDLL(None).syscall
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
    """Refuse what Python itself changes, starts, sends to or connects to."""
    roots = tuple(os.path.realpath(folder) + os.sep for folder in folders)

    def check(path: Any) -> None:
        if isinstance(path, int):
            return
        where = os.path.realpath(os.fsdecode(path))
        if not f"{where}{os.sep}".startswith(roots):
            raise PermissionError(errno.EACCES, "it is not in the copy of the program", where)

    def refuse(what: object, *more: object) -> None:
        raise PermissionError(errno.EACCES, f"{what} is not allowed here")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if any(letter in (mode or "") for letter in "wax+") or (flags or 0) & _WRITES:
                check(path)
        elif event in _OF_PATHS:
            for path in args[: _OF_PATHS[event]]:
                check(path)
        elif event in _REFUSED:
            refuse(event)

    sys.addaudithook(hook)
    with contextlib.suppress(ImportError):  # `multiprocessing` starts children by it, of which
        module = importlib.import_module("_posixsubprocess")  # no event tells
        vars(module)["fork_exec"] = functools.partial(refuse, "a new process")
