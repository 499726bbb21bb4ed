"""The masks that a run was given in place of its framework's dropout (`masks.json`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.files import read_json

MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DropoutCall:
    """One call of the first micro-batch. `rate`: None if only the script knows it."""

    module: str
    shape: tuple[int, ...]
    rate: float | None

    @property
    def size(self) -> int:
        """Numbers of its mask."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMasks:
    """What was given. `out_of_reach`: modules whose dropout could not be replaced."""

    calls: tuple[DropoutCall, ...]
    out_of_reach: tuple[str, ...]


def read_masks(path: Path) -> GivenMasks | None:
    """Read the file; None if there is none, because the script has no place for masks.

    Raises:
        DiagnosticError: CC723 if it breaks its contract.
    """
    if not path.exists():
        return None
    try:
        document = read_json(path, MAX_BYTES)
        calls = tuple(map(_call, document["calls"]))
        return GivenMasks(calls=calls, out_of_reach=tuple(map(str, document["out_of_reach"])))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"{path.name} does not tell what masks a run was given: {error!r}"
        raise DiagnosticError(Diagnostic(code="CC723", message=message)) from None


def _call(data: Any) -> DropoutCall:
    rate = None if data["rate"] is None else float(data["rate"])
    shape = tuple(int(size) for size in data["shape"])
    return DropoutCall(module=str(data["module"]), shape=shape, rate=rate)
