"""The same dropout masks in every framework, put in place of its own from outside.

    stop = masks.install(inside, module, Path(output), seed=7)
    module.main([...])
    stop()

A mask is drawn by NumPy (`philox`) and depends on the seed, the window, the micro-batch and the
number of the call alone: dropout calls of a micro-batch are numbered in the order in which they are
first executed, which is the same in every framework that runs the same model. The numbers of a mask
are laid out in rows, last dimension fastest, in the shape that the framework asks for.

What a call would have drawn from the framework's own generator is its `key`. A layer that is
computed again in the backward pass restores the generator, so the key comes back, and with it the
mask; a script that forgets to restore it gets another mask, as without us. Rate and scale remain
those of the script, and outside of `train_window` nothing is replaced.

What is left in the folder, masks.json:

    {"calls": [{"module": "encoder.0", "shape": [8, 64], "rate": 0.1}, ...],
     "out_of_reach": ["lstm"], "masks": 12, "drawn": 18}

"calls": of the first micro-batch, in order; "rate" is null for a script that compares uniform
numbers with a rate itself. "out_of_reach": modules whose own dropout nothing can replace. "masks":
how many the run had, "drawn": how often, with those of layers that are computed again.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from crosscast_parity.inside.emitted import SEAMS
from crosscast_parity.inside.modules import module_of
from crosscast_parity.inside.philox import uniform

FILE = "masks.json"


class Site(NamedTuple):
    """Where a mask is asked for.

    `rate`: None if only the script knows it. `forward`: whether by the loss, not by its gradient.
    """

    module: str
    rate: float | None
    forward: bool = True


class Masks:
    """Numbers the dropout calls of a run, and draws their masks."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._window = -1
        self._first: int | None = None
        self._places: dict[bytes, tuple[int, int]] = {}
        self._numbers: list[int] = []
        self.active = False
        """Whether a window is being trained."""
        self.forward = False
        """Whether a loss is being computed, or traced."""
        self._shown: dict[int, dict[str, Any]] = {}
        self.masks = self.drawn = 0

    @property
    def window(self) -> int:
        """Number of the window that is being trained."""
        return self._window

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Calls of the first micro-batch, in their order."""
        return [call for _, call in sorted(self._shown.items())]

    def begin_window(self, window: int) -> None:
        """Start with a window."""
        self._window = window
        if self._first is None:
            self._first = window
        self._places.clear()
        self._numbers.clear()
        self.active = True

    def end_window(self) -> None:
        """Replace nothing until the next window."""
        self.active = False

    def begin_micro_batch(self) -> int:
        """Start with the next micro-batch of the window; return its number."""
        self._numbers.append(0)
        return len(self._numbers) - 1

    def draw(self, micro: int, key: bytes, shape: Sequence[int], site: Site) -> np.ndarray:
        """Return uniform numbers in [0, 1) for a call of a micro-batch; a known key repeats it."""
        if key not in self._places:
            self._numbers[micro] += 1
        return self.draw_at((micro, self._numbers[micro] - 1), key, shape, site)

    def draw_at(
        self, place: tuple[int, int], key: bytes, shape: Sequence[int], site: Site
    ) -> np.ndarray:
        """Do what `draw` does where calls come in any order.

        Args:
            place: numbers of the micro-batch and of the call in it, for a key that is not known.
            key: what the framework would have drawn the mask from.
            shape: of the mask.
            site: where it is asked for.
        """
        self.drawn += 1
        if key not in self._places:
            self.masks += 1
            self._places[key] = place
            if self._window == self._first and place[0] == 0 and site.forward:
                shown = {"module": site.module, "rate": site.rate}
                self._shown[place[1]] = {"shape": [int(size) for size in shape], **shown}
        numbers = uniform(self._seed, (self._window, *self._places[key]), math.prod(shape))
        return numbers.reshape(tuple(shape))

    def site(self, name: Callable[[Any], str], rate: float | None) -> Site:
        """Return where the caller asks; `name` as of `module_calling`."""
        return Site(module_calling(name), rate, self.forward)

    def kept(self, numbers: np.ndarray, rate: float, *, upscale: bool = True) -> np.ndarray:
        """Return the factors of a mask: 0 where a number is below the rate."""
        scale = np.float32(1.0 / (1.0 - rate) if upscale else 1.0)
        return np.where(numbers >= np.float32(rate), scale, np.float32(0.0))


class Dropout(Protocol):
    """Stands in for the dropout of a framework; made by its module `masks`."""

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep a function of ours from being compiled along with the script."""

    def begin(self, model: Any) -> list[str]:
        """Get to know the model; return the modules whose dropout is out of reach."""

    def enter(self) -> None:
        """Note that the loss of the next micro-batch begins."""

    def leave(self) -> None:
        """Note that it has been computed, or traced."""

    def undo(self) -> None:
        """Give the framework its own dropout back."""


def module_calling(name: Callable[[Any], str]) -> str:
    """Return the name of the innermost module on the stack; empty if there is none.

    Args:
        name: returns that of a module, and nothing for anything else.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        calling = name(frame.f_locals.get("self"))
        if calling:
            return calling
        frame = frame.f_back
    return ""


class Masked:
    """Wraps two functions of a script so that its windows are trained with given masks."""

    def __init__(self, masks: Masks, dropout: Dropout, file: Path) -> None:
        self._masks, self._dropout, self._file = masks, dropout, file
        self._window: int | None = None
        self._out_of_reach: list[str] = []

    def install(self, module: Any) -> None:
        """Replace both functions in the module; its source stays as it is."""
        module.micro_batch_loss = self._entered(module.micro_batch_loss)
        module.train_window = self._trained(module.train_window)

    def stop(self) -> None:
        """Take everything back, and say what was given."""
        self._dropout.undo()
        masks = self._masks
        counted = {"calls": masks.calls, "out_of_reach": self._out_of_reach}
        counts = {"masks": masks.masks, "drawn": masks.drawn}
        self._file.write_text(json.dumps({**counted, **counts}) + "\n")

    def _entered(self, original: Callable[..., Any]) -> Callable[..., Any]:
        enter, leave = self._dropout.plain(self._enter), self._dropout.plain(self._leave)

        def micro_batch_loss(*args: Any, **kwargs: Any) -> Any:
            enter()
            loss = original(*args, **kwargs)
            leave()
            return loss

        return micro_batch_loss

    def _enter(self) -> None:
        self._masks.forward = True
        self._dropout.enter()

    def _leave(self) -> None:
        self._dropout.leave()
        self._masks.forward = False

    def _trained(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, *args: Any, **kwargs: Any) -> Any:
            if self._window is None:
                self._window = getattr(state, "windows", 0)
                self._out_of_reach = self._dropout.begin(getattr(state, "model", None))
            self._masks.begin_window(self._window)
            self._window += 1
            try:
                return original(state, *args, **kwargs)
            finally:
                self._masks.end_window()

        return train_window


def install(inside: str, module: Any, folder: Path, seed: int) -> Callable[[], None]:
    """Give the next run of a script in this process masks that every framework has.

    Args:
        inside: the package with what a backend loads in the process of its framework.
        module: the loaded script; one without the two functions is left alone.
        folder: where masks.json goes.
        seed: of the masks.

    Returns:
        A function to call when the run has ended, after all others have taken back what they did.
    """
    if not all(hasattr(module, name) for name in SEAMS):
        return lambda: None
    framework = module_of(inside, "masks")
    if framework is None:
        return lambda: None
    masks = Masks(seed)
    masked = Masked(masks, framework.make_dropout(masks), folder / FILE)
    masked.install(module)
    return masked.stop
