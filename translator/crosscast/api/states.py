"""Training states: show, convert."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api import html
from crosscast.api.calls import public
from crosscast.api.parameters import Parameter
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from pathlib import Path

    from crosscast.state.convert import Outcome
    from crosscast.state.sources import Request
    from crosscast.state.training_state import TrainingState

COLUMNS = ("part", "number", "verdict", "how")
PathLike = str | os.PathLike[str]

CHECKPOINT = Parameter(
    "A checkpoint.safetensors, its folder, or a state of another program.", "CKPT"
)
RUN_RECIPE = Parameter("The recipe of the run, to validate the state.", "FILE")
WINDOWS = Parameter("Number of attempted steps, for a state of another program.", least=0)
UPDATES = Parameter(
    "Number of steps that were not skipped, for a state of another program.", least=0
)
ROWS = Parameter("Number of training rows, to compute epoch and row.", least=1)


@dataclass(frozen=True, slots=True, repr=False)
class State(Result):
    """A training state that was checked, and converted if asked."""

    _request: Request
    _outcome: Outcome | None
    keys: tuple[tuple[str, int, int, str], ...] = ()
    """Key, tensors, numbers and use of every part of a saved state that was shown without its
    recipe; empty otherwise."""

    @property
    def state(self) -> TrainingState | None:
        """Weights, moments, averages, loss scale and counters as arrays; None if only keys are
        known."""
        return self._outcome.state if self._outcome else None

    @property
    def written(self) -> Path | None:
        """The converted file; None if nothing was converted."""
        return self._outcome.output if self._outcome else None

    @property
    def position(self) -> str:
        """The next window of the run in words; empty if it is not known."""
        return self._outcome.position if self._outcome else ""

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Part, number, verdict and explanation of everything in the state."""
        parts = self._outcome.rows if self._outcome else []
        return [(part.part, str(part.count), part.verdict, part.how) for part in parts]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was noticed."""
        return tuple(self._outcome.notes) if self._outcome else ()

    @property
    def exit_code(self) -> Exit:
        """Always 0: a state that is damaged or does not fit is an error."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The recipe and the position of the state, or the number of its keys."""
        if self._outcome is None:
            return f"{self._request.source}: {len(self.keys)} keys; pass a recipe to check them"
        where = f"; next window: {self.position}" if self.position else ""
        return f"recipe: {self._outcome.state.recipe}{where}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        if self._outcome is None:
            from crosscast.state.outline import COLUMNS as NAMES

            return {"version": 1, "keys": [dict(zip(NAMES, key, strict=True)) for key in self.keys]}
        from crosscast.state.convert import as_json

        return as_json(self._outcome, self._request)

    @property
    def _about(self) -> str:
        return str(self._request.source)

    @property
    def _next(self) -> str:
        if self._outcome is None:
            return "--recipe FILE checks the state against its recipe"
        if self.written:
            return f"continue the run from {self.written}"
        return "crosscast state convert writes it for another framework"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        if self._outcome is None:
            from crosscast.state.outline import COLUMNS as NAMES

            yield Table(NAMES, [[str(cell) for cell in key] for key in self.keys])
        else:
            yield Table(COLUMNS, self.rows, long=("how",))
        if self.written:
            yield f"written: {self.written}"

    def _html(self) -> Iterator[str]:
        if self._outcome is None:
            from crosscast.state.outline import COLUMNS as NAMES

            yield html.table(NAMES, ([str(cell) for cell in key] for key in self.keys))
        else:
            yield html.table(COLUMNS, self.rows, long=("how",))


def _named(path: PathLike | None) -> str:
    return "" if path is None else os.fspath(path)


@public
def state_show(
    checkpoint: Annotated[PathLike, CHECKPOINT],
    of: Annotated[
        str, Parameter("Target that wrote the state.", "TARGET", ("--from",), words="targets")
    ] = "torch",
    *,
    recipe: Annotated[PathLike | None, RUN_RECIPE] = None,
    windows: Annotated[int | None, WINDOWS] = None,
    updates: Annotated[int | None, UPDATES] = None,
    rows: Annotated[int | None, ROWS] = None,
) -> State:
    """Validate a training state and return its contents.

    Raises:
        DiagnosticError: the state is damaged or does not fit its recipe, or a requirement is
            missing.
    """
    from crosscast.state.convert import show
    from crosscast.state.sources import Request, keys_of

    request = Request(
        _named(checkpoint),
        of,
        recipe=_named(recipe),
        windows=windows,
        updates=updates,
        rows=rows,
    )
    keys = keys_of(request)
    if keys is not None:
        return State(request, None, tuple(keys))
    return State(request, show(request))


@public
def state_convert(
    checkpoint: Annotated[PathLike, CHECKPOINT],
    of: Annotated[
        str,
        Parameter(
            "Target that wrote the state: NAME[@VERSION].", "TARGET", ("--from",), words="targets"
        ),
    ],
    to: Annotated[
        str, Parameter("Target that continues the run.", "TARGET", ("--to",), words="targets")
    ],
    *,
    out: PathLike,
    recipe: Annotated[PathLike | None, RUN_RECIPE] = None,
    layout: Annotated[
        PathLike | None,
        Parameter("Layout map (JSON) for the weights of a custom model.", "FILE"),
    ] = None,
    like: Annotated[
        PathLike | None,
        Parameter("A model.safetensors of the target, to compare names and shapes.", "FILE"),
    ] = None,
    windows: Annotated[int | None, WINDOWS] = None,
    updates: Annotated[int | None, UPDATES] = None,
    rows: Annotated[int | None, ROWS] = None,
    force: Annotated[bool, Parameter("Overwrite an existing checkpoint.")] = False,
) -> State:
    """Convert a training state to another framework: weights, moments, loss scale, position.

    Args:
        out: A .safetensors file or a folder; empty for a file beside the checkpoint.

    Raises:
        DiagnosticError: the state is damaged, does not fit or cannot be written; nothing was
            written then.
    """
    from crosscast.state.convert import convert
    from crosscast.state.sources import Request

    request = Request(
        source=_named(checkpoint),
        of=of,
        to=to,
        output=_named(out),
        recipe=_named(recipe),
        layout=_named(layout),
        like=_named(like),
        windows=windows,
        updates=updates,
        rows=rows,
        force=force,
    )
    return State(request, convert(request))
