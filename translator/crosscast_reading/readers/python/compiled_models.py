"""Models that are trained by what `compile` gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import calls_of, canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program


def compiled(program: Program) -> Iterator[Call]:
    """Yield the calls of `model.compile(optimizer, loss)`."""
    for _name, call in calls_of(program):
        if call.method != "compile" or call.receiver is None:
            continue
        if any(canonical(n) in ("re.compile", "torch.compile") for n in call.names):
            continue
        words = {k.arg for k in call.node.keywords}
        if words & {"loss", "optimizer", "metrics"} or any(
            canonical(n).startswith("keras.") for n in call.names
        ):
            yield call
