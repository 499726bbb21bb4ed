"""A difference between two frameworks, in words."""

from __future__ import annotations

from dataclasses import dataclass

INITIAL, RUNNING_VARIANCE = "initial values", "running variance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs, and what it looks like.

    `what`: `output`, `loss`, `gradient`, `setting`, `state`, `metric` or `initial values`.
    `module`: its path in the first framework, and `counterpart` that in the other one; of a loss
    its function, of a gradient that is cut its parameter. `kind`: of a known difference, else "".
    `certain`: whether it is one, or may also be a function that does the same. `tensors`: canonical
    names of what differs, if that is known.
    """

    what: str
    module: str
    counterpart: str
    kind: str
    words: str
    certain: bool = True
    tensors: tuple[str, ...] = ()

    @property
    def changes_training(self) -> bool:
        """Whether models that differ so, and begin with the same weights, train differently.

        All runs begin with the same weights, and only an evaluation reads running statistics.
        """
        return self.certain and self.what != INITIAL and self.kind != RUNNING_VARIANCE
