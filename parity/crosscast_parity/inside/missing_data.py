"""Has a program's questions about data that is not here fail, instead of finding none of it."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def let_it_be_missing(is_own: Callable[[str], bool]) -> None:
    """Have listings that find nothing fail: what a program counts there is not known.

    Args:
        is_own: whether a file is one of the program, whose listings are meant.
    """
    for owner, names in ((os, "listdir walk"), (glob, "glob iglob"), (Path, "glob rglob iterdir")):
        for name in names.split():
            _refuse_empty(is_own, owner, name)


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
