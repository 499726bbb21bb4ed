"""Faults: put inf or nan into chosen micro-batches, from outside the script.

Into the loss, which reaches every gradient; into the gradients of chosen parameters alone; or into
float inputs of the user's model. Standard library only: the file is copied with `runner.py` into
the interpreter of any framework.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from crosscast_parity.inside.emitted import offered
from crosscast_parity.inside.poison import Cell, Gradients, make_poison

VALUES = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
INPUT = "input:"
LAST = -1
"""The last micro-batch that a window really has; written as `last`."""
FORM = "WINDOW:MICRO=inf|-inf|nan[@NAMES]"
_FAULT = re.compile(r"\A(\d{1,9}):(\d{1,9}|last)=(-?inf|nan)(?:@([!-~]{1,200}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """Poison one micro-batch (both counted from 0, or `LAST`) of one window.

    `names`: empty to multiply the loss; else a pattern (as of a shell) for the parameters whose
    gradients become the value, or `input:` and one for the inputs that get it as first element.
    """

    window: int
    micro: int
    kind: str
    names: str = ""

    def __str__(self) -> str:
        micro = "last" if self.micro == LAST else self.micro
        return f"{self.window}:{micro}={self.kind}" + (f"@{self.names}" if self.names else "")

    def place(self, n_micro: int) -> int | None:
        """Return which micro-batch of a window with so many it poisons; None for none."""
        micro = n_micro - 1 if self.micro == LAST else self.micro
        return micro if 0 <= micro < n_micro else None

    @property
    def of_input(self) -> bool:
        """Whether it poisons the data."""
        return self.names.startswith(INPUT)

    @property
    def of_gradients(self) -> bool:
        """Whether it poisons the gradients of chosen parameters."""
        return bool(self.names) and not self.of_input

    def chooses(self, names: Iterable[str]) -> list[str]:
        """Return those of the parameters, or inputs, that it poisons."""
        return [name for name in names if fnmatchcase(name, self.names.removeprefix(INPUT))]


def parse_fault(text: str) -> Fault:
    """Read `WINDOW:MICRO=inf|-inf|nan[@NAMES]`; raises ValueError for anything else."""
    match = _FAULT.match(text)
    if match is None or match[4] == INPUT:
        raise ValueError(f"{text!r} is not {FORM}")
    micro = LAST if match[2] == "last" else int(match[2])
    return Fault(int(match[1]), micro, match[3], match[4] or "")


class Poison:
    """What can be done to a micro-batch, in one framework."""

    def __init__(self, cell: Cell, gradients: Gradients) -> None:
        self._cell = cell
        self._gradients = gradients
        self._parameters: list[str] = []
        self._model: Any = None

    def apply(self, loss: Any) -> Any:
        """Return the loss, poisoned if the current micro-batch has a fault."""
        return self._cell.apply(loss)

    def attach(self, state: Any, named_parameters: Callable[[Any], dict[str, Any]]) -> None:
        """Get hold of the parameters of a script's model, once."""
        if self._model is state.model:
            return
        self._model = state.model
        self._parameters = list(named_parameters(state.model))
        # With half weights a script may compute with a copy of the model; it calls it `working`.
        for model in (state.model, getattr(state, "working", state.model)):
            self._gradients.attach(named_parameters(model))

    def check_reach(self, faults: Iterable[Fault]) -> None:
        """Refuse to go on if a fault has met none of the gradients it names."""
        for fault in faults:
            if not self._gradients.reached.intersection(fault.chooses(self._parameters)):
                _refuse(fault, "gradient")

    def release(self) -> None:
        """Undo what was changed in the framework."""
        self._gradients.release()

    def clean(self) -> None:
        """Poison nothing from now on."""
        self._cell.set(0, 1.0)
        self._gradients.set(0, {})

    def use(self, micro: int, faults: Sequence[Fault], micro_batch: Any) -> Any:
        """Set up loss and gradients for a micro-batch; return it, its data poisoned if asked."""
        factor = 1.0
        values: dict[str, float] = {}
        for fault in faults:
            value = VALUES[fault.kind]
            if fault.of_input:
                micro_batch = poisoned_inputs(fault, micro_batch)
            elif fault.of_gradients:
                chosen = fault.chooses(self._parameters) or _refuse(fault, "parameter")
                values |= dict.fromkeys(chosen, value)
            else:
                factor = value
        self._cell.set(micro, factor)
        self._gradients.set(micro, values)
        return micro_batch


def poisoned_inputs(fault: Fault, micro_batch: Any) -> dict[str, Any]:
    """Return a micro-batch of NumPy arrays with the value in the first element of the chosen."""
    arrays = dict(micro_batch)
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    for name in fault.chooses(floats) or _refuse(fault, "float input"):
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = VALUES[fault.kind]
    return arrays


def _refuse(fault: Fault, what: str) -> NoReturn:
    print(f"fault {fault}: no {what} has such a name", file=sys.stderr)
    raise SystemExit(2)


class FaultyWindow(Sequence[Any]):
    """The micro-batches of a window; walking over them poisons each in turn.

    `applied` gets the faults that met a micro-batch.
    """

    def __init__(
        self,
        micro_batches: Sequence[Any],
        faults: Sequence[Fault],
        poison: Poison,
        applied: set[Fault],
    ) -> None:
        self._micro_batches = micro_batches
        self._faults = faults
        self._poison = poison
        self._applied = applied

    def __len__(self) -> int:
        return len(self._micro_batches)

    def __getitem__(self, index: Any) -> Any:
        return self._micro_batches[index]

    def __iter__(self) -> Iterator[Any]:
        for index, micro_batch in enumerate(self._micro_batches):
            faults = [fault for fault in self._faults if fault.place(len(self)) == index]
            self._applied.update(faults)
            yield self._poison.use(index, faults, micro_batch)
        self._poison.use(len(self), (), None)


@dataclass
class Injector:
    """Wraps the functions `micro_batch_loss` and `train_window` of an emitted script.

    `applied`: the faults that have met a micro-batch so far.
    """

    faults: Sequence[Fault]
    poison: Poison
    applied: set[Fault] = field(default_factory=set, init=False)
    _window: int | None = field(default=None, init=False)

    def install(self, module: Any) -> None:
        """Replace both functions in the module; its source stays as it is."""
        module.micro_batch_loss = self._poisoned(module.micro_batch_loss)
        module.train_window = self._counted(module.train_window, module)

    def uninstall(self) -> None:
        """Undo what was changed outside of the module."""
        self.poison.release()

    def _poisoned(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def micro_batch_loss(*args: Any, **kwargs: Any) -> Any:
            return self.poison.apply(original(*args, **kwargs))

        return micro_batch_loss

    def _counted(self, original: Callable[..., Any], module: Any) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Sequence[Any], *args: Any, **kw: Any) -> Any:
            window = state.windows if self._window is None else self._window
            self._window = window + 1
            faults = [fault for fault in self.faults if fault.window == window]
            by_name = [fault for fault in faults if fault.of_gradients]
            if any(fault.of_gradients for fault in self.faults):
                self.poison.attach(state, offered(module, "named_parameters"))
            try:
                faulty = FaultyWindow(micro_batches, faults, self.poison, self.applied)
                row = original(state, faulty, *args, **kw)
            finally:
                self.poison.clean()
            self.poison.check_reach(f for f in by_name if f in self.applied)
            return row

        return train_window


def make_injector(inside: str, faults: Sequence[Fault]) -> Injector:
    """Return the injector for a script; `inside` as of `poison.make_poison`."""
    return Injector(faults, Poison(*make_poison(inside)))
