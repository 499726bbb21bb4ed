"""Look-ups over a whole program or module that are made once, however many loops ask."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar


class Keeps(Protocol):
    """Something that keeps what was looked up in it."""

    kept: dict[object, Any]


_Owner = TypeVar("_Owner", bound=Keeps)
_Result = TypeVar("_Result")


def once(look_up: Callable[[_Owner], _Result]) -> Callable[[_Owner], _Result]:
    """Keep the result of a look-up with the program or module that it looks through.

    Without it, a question that every training loop asks of the whole program makes the work
    quadratic in the size of a file.
    """

    @functools.wraps(look_up)
    def look_up_once(owner: _Owner) -> _Result:
        if look_up not in owner.kept:
            owner.kept[look_up] = look_up(owner)
        result: _Result = owner.kept[look_up]
        return result

    return look_up_once
