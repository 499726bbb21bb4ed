"""Has a program not find out that data is not here: its listings fail, its questions stay open."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscast_parity.inside.unknown import ABSENT


def let_it_be_missing(is_own: Callable[[str], bool]) -> None:
    """Do what `refuse_empty` and `leave_open` do for the standard library.

    Args:
        is_own: whether a file is one of the program, whose calls are meant.
    """
    refuse_empty(is_own, os, "listdir walk")
    refuse_empty(is_own, glob, "glob iglob")
    refuse_empty(is_own, Path, "glob rglob iterdir walk")
    leave_open(is_own, os.path, "exists isdir isfile")
    leave_open(is_own, Path, "exists is_dir is_file")


def refuse_empty(is_own: Callable[[str], bool], owner: Any, names: str) -> None:
    """Have listings that find nothing fail: what a program counts there is not known."""
    for name in names.split():
        _wrap(is_own, owner, name, _not_empty)


def leave_open(is_own: Callable[[str], bool], owner: Any, names: str) -> None:
    """Have questions whether a path exists answered by `ABSENT` if none does, see `questions`."""
    for name in names.split():
        _wrap(is_own, owner, name, lambda answer: answer or ABSENT)


def _not_empty(listing: Any) -> Any:
    rest = iter(listing)
    first = next(rest, None)
    if first is None or (isinstance(first, tuple) and not (first[1] or first[2])):  # of `walk`
        raise FileNotFoundError("nothing is found")
    return listing if isinstance(listing, list) else itertools.chain([first], rest)


def _wrap(
    is_own: Callable[[str], bool], owner: Any, name: str, change: Callable[[Any], Any]
) -> None:
    original = getattr(owner, name, None)
    if original is None:  # in this version of Python
        return

    @functools.wraps(original)
    def called(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        return change(result) if is_own(sys._getframe(1).f_code.co_filename) else result

    setattr(owner, name, called)
