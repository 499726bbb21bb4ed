"""The table of all checks, and what no check looks at; the source of docs/reference/coverage.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.kinds import INIT, LEVELS, Kind, Level
from crosscast_parity.checks.own_kinds import OWN
from crosscast_parity.checks.pair_kinds import PAIRS
from crosscast_parity.checks.scaling_kinds import SCALING

BY_ANOTHER = ", by the reference's recipe"
"""Ends the name of a check of one program that was made with the recipe of the other."""
RECORDING = "recording"
"""Name of the check of any level that a malformed recording takes the place of."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that no check looks at, and what to do about it."""

    what: str
    instead: str


GAPS = (
    Gap(
        "The masks that a framework draws by itself: every program gets the same ones instead. With"
        " a third-party trainer or an older API among the programs, the rate is set to 0.",
        "One run draws its own masks, to check that the evaluation is done without dropout.",
    ),
    Gap("More than one process.", "`crosscast check-scaling` runs several."),
    Gap(
        "Kernels of other devices. On a CPU half precision is emulated: every operation is computed"
        " in float32 and rounded.",
        "`--device gpu` where there is one, `--half native`.",
    ),
    Gap("Time and memory.", "docs/explanation/performance.md, docs/explanation/memory.md."),
    Gap(
        "Gradients and weights of windows that are not recorded: only their rows of the trace are"
        " compared.",
        "Every window of the toy is compared in full.",
    ),
    Gap(
        "Longer training: a run has a few dozen windows, with a small model unless --check is"
        " model, full or nightly.",
        "`--windows N`.",
    ),
    Gap(
        "Losses after the horizon, where rounding alone moves a run as far as a mistake would.",
        "`--check full` compares the results of paired seeds (L3).",
    ),
    Gap(
        "Fields of the recipe that no run exercised.",
        "The report lists them; `--stress` makes them active.",
    ),
    Gap(
        "What a script reports to a tracker: scripts are compiled without the recipe's `tracking`,"
        " and a comparison writes to none.",
        "The rows of the trace, which are what is reported.",
    ),
    Gap(
        "The types of a custom model's sums that broadcast, such as those with biases, in half"
        " precision.",
        "`precision.ops` of the shipped BERT decides about all operations.",
    ),
    Gap(
        "Everything else that a script does: how it prepares rows, its logs, other files.",
        "The rows of every window are counted.",
    ),
    Gap(
        "Dropout and resuming in your own script, and the toy if the script cannot train it: it"
        " runs unchanged.",
        "The verdict lists what was not tested.",
    ),
)


def _by_name(kinds: tuple[Kind, ...]) -> dict[tuple[Level, str], Kind]:
    return {(kind.level, kind.name): kind for kind in kinds}


KINDS = _by_name((*OWN, *PAIRS))
"""The checks of a comparison."""
_SCALING = _by_name(SCALING)


def find_kind(level: Level, name: str) -> Kind | None:
    """Return the row of a check; None for one that takes the place of any, see `RECORDING`.

    Raises:
        ValueError: no row describes such a check.
    """
    if level in LEVELS and name == RECORDING:
        return None
    for spelling in _spellings(name.removesuffix(BY_ANOTHER)):
        kind = KINDS.get((level, spelling)) or _SCALING.get((level, spelling))
        if kind:
            return kind
    raise ValueError(f"no row of checks.table describes {level} {name}")


def _spellings(name: str) -> Iterator[str]:
    yield name
    base, metric, _ = name.partition(" metric ")
    if metric:
        yield f"{base} metric"
    base, comma, variant = name.rpartition(", ")
    if comma and variant in INIT.split(" or "):
        yield f"{base}, {INIT}"


def limit_of(level: Level, name: str, dtype: Dtype | None = None) -> float:
    """Return the limit of a check in its row, for a type of the matmuls if it depends on that."""
    kind = find_kind(level, name)
    assert kind is not None
    limit = kind.by_type[dtype] if dtype else kind.limit
    assert limit is not None
    return limit
