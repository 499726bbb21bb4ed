"""What `half_precision_gpu.py` measures, and how that fits into a GPU's memory and some minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PRECISIONS = ("float32", "tf32", "float16", "bfloat16")
V1, V2, ACCELERATE = "v1", "v2", "accelerate"


@dataclass(frozen=True, slots=True)
class Variant:
    """One model of one precision."""

    family: str
    """`v1`, `v2`: a script of a recipe of that version; `accelerate`: transformers under it."""
    precision: str
    compiled: bool = False

    @property
    def name(self) -> str:
        """The name of its rows."""
        return f"{self.family}-{self.precision}{'-compiled' if self.compiled else ''}"


EAGER = tuple(Variant(family, each) for family in (V1, V2, ACCELERATE) for each in PRECISIONS)
COMPILED = tuple(Variant(family, each, True) for family in (V2, V1) for each in PRECISIONS)
VARIANTS = {variant.name: variant for variant in (*EAGER, *COMPILED)}
"""By name; of those that do not fit into the time the last ones are left out."""
REFERENCE = VARIANTS["v1-float32"].name
"""What times, memory and losses are compared with."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimates for one size of BERT and a window of two micro-batches of 32 x 128 on an H100."""

    memory: float
    """GiB of the largest variant, with the memory of a process on a GPU."""
    start: float
    """Seconds until all processes of a group have built their models."""
    compile: float
    """Seconds in addition until all of them have compiled."""
    single: float
    """Seconds of a window in float32."""
    other: float
    """Seconds of a window in another precision."""


COSTS = {
    "tiny": Cost(1, 20, 30, 0.02, 0.02),
    "small": Cost(2.5, 20, 45, 0.04, 0.04),
    "base": Cost(5.5, 25, 75, 0.125, 0.105),
    "large": Cost(13, 35, 130, 0.36, 0.165),
}
"""Windows and memory are rounded up from measurements of version 1; starts are guesses."""
USABLE = 0.85
"""Part of a GPU's memory that a group may have."""
PREPARATION = 10.0
"""Seconds before the first group: looking at the machine."""


@dataclass(frozen=True, slots=True)
class Group:
    """Variants of one size whose processes exist at the same time and take turns."""

    size: str
    variants: tuple[Variant, ...]
    seconds: float
    """Estimate, with starting and compiling."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much of every variant is run."""

    check_windows: int
    windows: int
    rounds: int
    scale: float = 1.0
    """Tokens of a micro-batch, relative to 32 x 128."""

    @property
    def trained(self) -> int:
        """Windows of one variant, one for synchronisations among them."""
        return self.check_windows + 1 + self.rounds * self.windows


def plan(
    sizes: Sequence[str], variants: Sequence[Variant], load: Load, memory: float, limit: float
) -> tuple[list[Group], list[tuple[str, Variant]]]:
    """Return groups that fit, and what does not.

    Args:
        sizes: Names in `COSTS`.
        variants: In the order of `VARIANTS`.
        load: What is run of each.
        memory: GiB of the GPU.
        limit: Seconds for everything.
    """
    wanted = [
        (size, variant)
        for chosen in ((v for v in variants if not v.compiled), *_compiled_by_family(variants))
        for size, variant in _pairs(sizes, tuple(chosen))
    ]
    fitting: list[tuple[str, Variant]] = []
    left_out: list[tuple[str, Variant]] = []
    for entry in wanted:
        groups = _groups(sizes, [*fitting, entry], load, memory)
        if PREPARATION + sum(group.seconds for group in groups) <= limit:
            fitting.append(entry)
        else:
            left_out.append(entry)
    return _groups(sizes, fitting, load, memory), left_out


def _compiled_by_family(variants: Sequence[Variant]) -> list[list[Variant]]:
    families = dict.fromkeys(v.family for v in VARIANTS.values() if v.compiled)
    return [[v for v in variants if v.compiled and v.family == family] for family in families]


def _pairs(sizes: Sequence[str], variants: tuple[Variant, ...]) -> list[tuple[str, Variant]]:
    return [(size, variant) for size in sizes for variant in variants]


def _groups(
    sizes: Sequence[str], entries: Sequence[tuple[str, Variant]], load: Load, memory: float
) -> list[Group]:
    groups = []
    for size in sizes:
        cost = COSTS[size]
        largest = max(1, int(memory * USABLE / (cost.memory * max(1.0, load.scale))))
        for compiled in (False, True):
            own = [v for name, v in entries if name == size and v.compiled == compiled]
            for first in range(0, len(own), largest):
                together = tuple(own[first : first + largest])
                groups.append(Group(size, together, _seconds(cost, together, load)))
    return groups


def _seconds(cost: Cost, variants: tuple[Variant, ...], load: Load) -> float:
    window = sum(cost.single if v.precision == "float32" else cost.other for v in variants)
    starting = cost.start + (cost.compile if variants[0].compiled else 0.0)
    return starting + load.trained * window * load.scale
