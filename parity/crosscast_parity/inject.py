"""Faults: multiply the loss of chosen micro-batches by inf or nan, from outside the script.

Standard library only: the file travels with `runner.py` into the interpreter of any framework.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

FACTORS = {"inf": math.inf, "nan": math.nan}
_FAULT = re.compile(r"\A(\d{1,9}):(\d{1,9})=(inf|nan)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """Poison one micro-batch (both counted from 0) of one window."""

    window: int
    micro: int
    kind: str

    def __str__(self) -> str:
        return f"{self.window}:{self.micro}={self.kind}"


def parse_fault(text: str) -> Fault:
    """Read `WINDOW:MICRO=inf|nan`; raises ValueError for anything else."""
    match = _FAULT.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not WINDOW:MICRO=inf or WINDOW:MICRO=nan")
    return Fault(int(match[1]), int(match[2]), match[3])


class Cell(Protocol):
    """Holds the factor of the current micro-batch where the framework can see it change."""

    def set(self, factor: float) -> None:
        """Use `factor` from now on."""

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor; a factor of 1 leaves every bit as it is."""


class EagerCell:
    """For frameworks that run the loss function anew for every micro-batch."""

    def __init__(self) -> None:
        self._factor = 1.0

    def set(self, factor: float) -> None:
        """Use `factor` from now on."""
        self._factor = factor

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor."""
        return loss * self._factor


class VariableCell:
    """For TensorFlow: the loss is traced once, so the factor must be a variable of the graph."""

    def __init__(self) -> None:
        self._variable: Any = None

    def _made(self) -> Any:
        # Made late: a variable starts the runtime, after which threads cannot be set any more.
        # In init_scope because the first use may be inside a function that is being traced.
        if self._variable is None:
            import tensorflow

            with tensorflow.init_scope():
                self._variable = tensorflow.Variable(
                    1.0, trainable=False, dtype=tensorflow.float32, name="fault_factor"
                )
        return self._variable

    def set(self, factor: float) -> None:
        """Use `factor` from now on."""
        self._made().assign(factor)

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor."""
        import tensorflow

        return loss * tensorflow.cast(self._made(), loss.dtype)


CELLS: dict[str, Callable[[], Cell]] = {
    "torch": EagerCell,
    "paddle": EagerCell,
    "tensorflow": VariableCell,
}


class FaultyWindow(Sequence[Any]):
    """The micro-batches of a window; walking over them sets the factor of each in turn."""

    def __init__(self, micro_batches: Sequence[Any], factors: dict[int, float], cell: Cell) -> None:
        self._micro_batches = micro_batches
        self._factors = factors
        self._cell = cell

    def __len__(self) -> int:
        return len(self._micro_batches)

    def __getitem__(self, index: Any) -> Any:
        return self._micro_batches[index]

    def __iter__(self) -> Iterator[Any]:
        for index, micro_batch in enumerate(self._micro_batches):
            self._cell.set(self._factors.get(index, 1.0))
            yield micro_batch
        self._cell.set(1.0)


class Injector:
    """Wraps the functions `micro_batch_loss` and `train_window` of an emitted script."""

    def __init__(self, faults: Sequence[Fault], cell: Cell) -> None:
        self._factors: dict[int, dict[int, float]] = {}
        for fault in faults:
            self._factors.setdefault(fault.window, {})[fault.micro] = FACTORS[fault.kind]
        self._cell = cell
        self._window: int | None = None

    def install(self, module: Any) -> None:
        """Replace both functions in the module; its source stays as it is."""
        module.micro_batch_loss = self._poisoned(module.micro_batch_loss)
        module.train_window = self._counted(module.train_window)

    def _poisoned(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def micro_batch_loss(*args: Any, **kwargs: Any) -> Any:
            return self._cell.apply(original(*args, **kwargs))

        return micro_batch_loss

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Sequence[Any], *args: Any, **kw: Any) -> Any:
            window = state.windows if self._window is None else self._window
            self._window = window + 1
            faulty = FaultyWindow(micro_batches, self._factors.get(window, {}), self._cell)
            try:
                return original(state, faulty, *args, **kw)
            finally:
                self._cell.set(1.0)

        return train_window
