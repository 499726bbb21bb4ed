"""Checks of `crosscast check-scaling`: one recipe in other shapes."""

from __future__ import annotations

from crosscast_parity.checks.kinds import Kind, Level

_ENVELOPE = "1 is the limit of the envelope that was measured in the same run"


def _kind(
    level: Level, name: str, compares: str, limit: float | None = 0.0, unit: str = ""
) -> Kind:
    basis = "equality" if limit == 0.0 else _ENVELOPE if limit == 1.0 else ""
    return Kind(level, name, compares, "every run", "emitted", limit, unit=unit, basis=basis)


SCALING = (
    _kind("L0a", "end", "how the shapes ended"),
    _kind("L0a", "processes agree on the trace", "the rows of all processes"),
    _kind("L0a", "processes hold the same state", "all tensors of all processes, bit for bit"),
    _kind("L0a", "data", "the rows of every window, each given to one process once"),
    _kind("L0a", "micro-batches", "micro-batches of every window with the recipe's"),
    _kind("L0a", "rows", "rows of every window"),
    _kind("L0a", "skipped", "which windows were skipped"),
    _kind("L0a", "updates", "the number of updates so far"),
    _kind("L0a", "scale", "the loss scale of every window", 1e-6, "relative"),
    _kind("L0a", "learning rate", "the rate of every window", 2e-6, "relative"),
    _kind("L0b", "scale by the recipe", "the loss scale with the recipe's", 1e-6, "relative"),
    _kind("L0b", "overflows skipped", "every window with an injected overflow is skipped"),
    _kind("L0c", "gradient norm", "the norm of every window up to the horizon", 1.0),
    _kind("L2", "loss", "the loss of every window up to the horizon", 1.0),
    *(
        _kind("L1b", name, f"{name} after the windows whose state is kept", 1.0)
        for name in ("weights", "moments", "averages")
    ),
)
