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
    """Have listings that find nothing fail, and what is not here be `ABSENT`, see `questions`.

    Args:
        is_own: whether a file is one of the program, whose listings and questions are meant.
    """
    for owner, names in ((os, "listdir walk"), (glob, "glob iglob"), (Path, "glob rglob iterdir")):
        for name in names.split():
            _refuse_empty(is_own, owner, name)
    for owner, names in ((os.path, "exists isdir isfile"), (Path, "exists is_dir is_file")):
        for name in names.split():
            _leave_open(is_own, owner, name)


def _refuse_empty(is_own: Callable[[str], bool], owner: Any, name: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def listed(*args: Any, **kwargs: Any) -> Any:
        listing = original(*args, **kwargs)
        if not is_own(sys._getframe(1).f_code.co_filename):
            return listing
        rest = iter(listing)
        first = next(rest, None)
        if first is None or (name == "walk" and not (first[1] or first[2])):
            raise FileNotFoundError(f"{name} finds nothing")
        return listing if isinstance(listing, list) else itertools.chain([first], rest)

    setattr(owner, name, listed)


def _leave_open(is_own: Callable[[str], bool], owner: Any, name: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def asked(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        if answer or not is_own(sys._getframe(1).f_code.co_filename):
            return answer
        return ABSENT

    setattr(owner, name, asked)
