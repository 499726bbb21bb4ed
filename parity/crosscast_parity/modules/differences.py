"""A difference between two frameworks, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs, and what it looks like.

    `what`: `output`, `gradient`, `setting`, `state`, `metric` or `initial values`. `module`: its
    path in the first framework, and `counterpart` that in the other one. `kind`: of a known
    difference, else "". `certain`: whether it is one, or may also be a function that does the same.
    """

    what: str
    module: str
    counterpart: str
    kind: str
    words: str
    certain: bool = True
