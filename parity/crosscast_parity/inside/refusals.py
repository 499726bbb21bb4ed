"""Whether a framework refuses a program, or an error has a reason that lies outside of it."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from types import FrameType, TracebackType
from typing import Any

from crosscast_parity.inside.holes import Statement, read_from
from crosscast_parity.inside.unknown import NotKnownError, is_known

MOST_SAID = 240
ABOUT_HERE = (NotKnownError, OSError, MemoryError, NameError)
"""Errors that tell of what is missing, or follow from what was skipped."""
NOT_ALLOWED = "(?i)permission denied"
"""What libraries of C say where `confined` refuses to write."""
LIBRARIES = "site-packages"


def is_refused(builds: Any, statement: Statement, error: Exception) -> bool:
    """Whether the framework refuses what nothing unknown took part in.

    Args:
        builds: the module `builds` of the framework, see `build`.
        statement: what raised the error.
        error: what it raised.
    """
    if isinstance(error, ImportError):
        module = (getattr(error, "name", "") or "").partition(".")[0]
        return module in builds.PACKAGES and module in sys.modules
    reasons = [error, error.__cause__, error.__context__]
    if any(isinstance(each, ABOUT_HERE) for each in reasons) or not is_known(error.args):
        return False
    words = str(error)
    if "CrosscastUnknown" in words or any(
        re.search(m, words) for m in (NOT_ALLOWED, builds.MISSING)
    ):
        return False
    first, *frames = _frames(error.__traceback__)
    values = [read_from(first, name) for name in statement.reads]
    values += [value for frame in frames for value in frame.f_locals.values()]
    if not all(map(is_known, values)):
        return False
    files = [frame.f_code.co_filename for frame in frames]
    if any(is_in(file, builds.EXCUSED) for file in files):
        return False
    if isinstance(error, AttributeError):
        owner = getattr(error, "obj", None)
        module = getattr(owner, "__name__", "") if hasattr(owner, "__path__") else ""
        module = module or type(owner).__module__ or ""
        if module.partition(".")[0] in builds.PACKAGES:
            return True
    blamed = any(is_in(file, builds.BLAMED) for file in files)
    return blamed or bool(builds.refuses(error))


def words_of(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, NotKnownError) or "CrosscastUnknown" in str(error):
        return "it needs a value that is not known"
    lines = str(error).strip().splitlines()
    # AutoGraph puts a traceback before the message.
    message = lines[-1].strip() if lines and lines[0] == "in user code:" else str(error)
    words = f"{type(error).__name__}: {message}".rstrip(": \n")
    return textwrap.shorten(words, MOST_SAID, placeholder=" ...")


def _frames(trace: TracebackType | None) -> list[FrameType]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def is_in(file: str, places: tuple[str, ...]) -> bool:
    """Whether a file is one of some files and folders of libraries."""
    below = file.replace(os.sep, "/").rpartition(f"/{LIBRARIES}/")[2]
    return any(below == place or below.startswith(f"{place}/") for place in places)
