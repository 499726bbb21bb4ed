"""Checks of a program against the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.kinds import INIT, Kind, Level, On


def _equal(name: str, what: str) -> Kind:
    return Kind("L0a", name, what, "traced", "trace", basis="equality")


_FIRST_LOSSES: tuple[tuple[Level, Mapping[Dtype, float], str], ...] = (
    ("L1a", {"float32": 1e-5}, "rounding of other kernels"),
    ("L1c", {"float16": 2.0**-11, "bfloat16": 2.0**-8}, "one rounding to the type"),
)

TYPES = (
    Kind(
        "L0d",
        "operations, against the reference",
        "the type of every sum and product of two whole tensors, normalization, activation, mean,"
        " softmax and lookup of a custom model in half precision with that of the same operation of"
        " the reference; what follows from the lists of an autocast or a policy alone is told",
        "half",
        basis="equality; operations are the same by name, size of the result and order",
        untested="no operation was seen, as for `operations`, or none has a counterpart",
    ),
    Kind(
        "L0d",
        "operations, against the reference, the rest",
        "nothing: the reference has none of such operations in half precision, or another number of"
        " them in several types, or a function of PyTorch hides its own",
        "half",
        limit=None,
        untested="always",
    ),
)

TRACES = (
    Kind("L0a", "end", "how both runs ended", "traced", "trace", basis="equality"),
    _equal("windows", "how many windows both trained"),
    Kind(
        "L0a",
        "skipped",
        "which windows were skipped; a natural overflow of one float16 kernel alone is"
        " INCONCLUSIVE",
        "traced",
        "trace",
        basis="equality; kernels differ by less than four times in size",
    ),
    _equal("micro-batches", "micro-batches of every window"),
    _equal("rows", "rows of every window"),
    Kind(
        "L0a",
        "scale",
        "the loss scale of every window",
        "traced",
        "trace",
        limit=1e-6,
        unit="relative",
        basis="as at L0b",
    ),
    _equal("updates", "the number of updates so far"),
    Kind(
        "L0a",
        "learning rate",
        "the rate of every window",
        "traced",
        "trace",
        limit=2e-6,
        unit="relative",
        basis="as at L0b",
    ),
    Kind(
        "L0a",
        "dropout",
        "shape and rate of the dropout calls of the first micro-batch, in their order; masks that"
        " do not fit each other are INCONCLUSIVE, and nothing else is compared then",
        "compared",
        limit=None,
        basis="equality",
        untested="nothing can replace the dropout of a module, as within a recurrent one",
    ),
    Kind(
        "L0a",
        "faults",
        "nothing: no overflow could be given to the run",
        "faults",
        limit=None,
        untested="the script has no place for a fault",
    ),
    Kind(
        "L0c",
        "gradient norm",
        "the norm of every window up to the horizon",
        "compared",
        "trace",
        limit=2e-2,
        unit="relative",
        basis="four times what rounding may move the reference's own norm",
        untested="rounding moves the reference's own norm too far from the start",
    ),
    Kind(
        "L0c",
        "divergence",
        "nothing: losses or norms of both stop being numbers, which ends the comparison",
        "compared",
        "trace",
        limit=None,
    ),
    *(
        Kind(
            level,
            "first loss",
            "the loss of the first update, whose weights are still those given",
            "main",
            "trace",
            by_type=limits,
            unit="relative",
            basis=basis,
        )
        for level, limits, basis in _FIRST_LOSSES
    ),
    Kind(
        "L2",
        "trajectory",
        "the loss of every window up to the horizon",
        "main",
        "trace",
        limit=1.0,
        unit="20 times the largest difference of three runs of the reference from weights moved by"
        " 1e-7, those of a custom model by 1e-6; at least of the last digit of the loss in float32,"
        " in half precision of what the type rounds in the first four windows",
        basis="measured in the same comparison",
    ),
    *(
        Kind(
            "L2",
            f"final {what}",
            f"the loss of {of} after the longest run",
            "main",
            "trace",
            limit=1.0,
            unit="the limit of the trajectory in the last window",
            basis="measured in the same comparison",
            untested="rounding moves the reference's own loss too far before the end, or too few"
            " windows or perturbed runs measured it",
        )
        for what, of in (
            ("evaluation", "the evaluation"),
            ("evaluation of averages", "the evaluation of averaged weights"),
        )
    ),
    Kind(
        "L2",
        "running statistics",
        "those of normalization layers of a custom model after the longest run",
        "main",
        "files",
        limit=1e-4,
        unit="of how far they have moved",
        basis="at least 20 times the largest difference of the perturbed runs",
        untested="the model has none, or as for the final evaluation",
    ),
    Kind(
        "result",
        "eval loss",
        "reported beside the reference's",
        "ends",
        "trace",
        limit=None,
    ),
    Kind(
        "result",
        "eval accuracy",
        "reported beside the reference's",
        "ends",
        "trace",
        limit=None,
    ),
    Kind(
        "result",
        "eval metric",
        "each of your metrics, reported beside the reference's",
        "ends",
        "trace",
        limit=None,
    ),
)


_LIMITS: Mapping[str, Mapping[Dtype, tuple[float, str]]] = {
    "loss": {
        "float32": (2e-6, "1.9e-7"),
        "float16": (2e-3, "3.5e-4"),
        "bfloat16": (1.6e-2, ""),
    },
    "together": {
        "float32": (1e-5, "2.9e-7"),
        "float16": (6e-3, "8.7e-4"),
        "bfloat16": (4.8e-2, "1.3e-2"),
    },
    "tensor": {
        "float32": (5e-5, "9.2e-7"),
        "float16": (2e-2, "1.8e-3"),
        "bfloat16": (1.6e-1, "2.8e-2"),
    },
}
"""The limit for each type of matmuls, and the largest value of correct programs if measured."""
_OF_TENSOR = "of the tensor's norm, at least 1e-3 of that of all"
_SKIPPED = "a window overflowed; gradients were not recorded"


def _model(level: Level, on: On, types: tuple[Dtype, ...]) -> Iterator[Kind]:
    """Yield the checks of loss and gradients in the first window, from two kinds of weights."""
    yield Kind(
        level,
        f"starting weights, {INIT}",
        "the weights that both begin with, bit for bit",
        on,
        basis="equality: they are one file",
    )
    for name, compares, what, unit, untested in (
        ("first loss", "the loss of the first micro-batch", "loss", "relative", "no loss was seen"),
        (
            "first gradients",
            "all gradients of the first window together",
            "together",
            "of their norm",
            _SKIPPED,
        ),
        (
            "first gradients by tensor",
            "every gradient of the first window",
            "tensor",
            _OF_TENSOR,
            _SKIPPED,
        ),
    ):
        limits = {dtype: _LIMITS[what][dtype] for dtype in types}
        yield Kind(
            level,
            f"{name}, {INIT}",
            compares,
            on,
            by_type={dtype: limit for dtype, (limit, _) in limits.items()},
            unit=unit,
            basis=", ".join(f"{size} ({t})" for t, (_, size) in limits.items() if size)
            + " measured",
            untested=untested,
        )


MODEL = (
    Kind(
        "L1a",
        "model in float32",
        "nothing: half precision stays where autocast is off",
        "autocast off",
        limit=None,
        untested="the script casts to half precision itself",
    ),
    *_model("L1a", "float32", ("float32",)),
    Kind(
        "L1a",
        f"later gradients, {INIT}",
        "all gradients of the last window that both recorded, of the first four",
        "float32",
        limit=1e-4,
        unit="of their norm",
        basis="1.3e-6 measured",
        untested=_SKIPPED,
    ),
    Kind(
        "L1a",
        f"later gradients by tensor, {INIT}",
        "every gradient of that window",
        "float32",
        limit=3e-4,
        unit=_OF_TENSOR,
        basis="2.3e-6 measured",
        untested=_SKIPPED,
    ),
    Kind(
        "L1a",
        "running statistics",
        "those of normalization layers of a custom model after the run",
        "float32",
        limit=1e-4,
        unit="of how far they have moved",
        basis="at least twice what shifted weights change",
        untested="the model has none",
    ),
    *_model("L1c", "half", ("float16", "bfloat16")),
)

_SPREAD = "correct programs 0.001 to 0.006, half width of five pairs included"

SEEDS = (
    Kind(
        "L3",
        "convergence",
        "which seeds come to finite results, and off the loss of a model that learnt nothing",
        "seeds",
        "trace",
        basis="equality",
        untested="no seed has results on both sides",
    ),
    Kind(
        "L3",
        "training loss",
        "mean of the last 20 windows, over pairs",
        "seeds",
        "trace",
        limit=0.03,
        unit="for the whole 90 % interval",
        basis=_SPREAD,
    ),
    Kind(
        "L3",
        "eval loss",
        "that of the evaluation, over pairs",
        "seeds",
        "trace",
        limit=0.02,
        unit="for the whole 90 % interval",
        basis=_SPREAD,
    ),
    Kind(
        "L3",
        "accuracy",
        "that of the evaluation, over pairs",
        "seeds",
        "trace",
        limit=0.01,
        unit="for the whole 90 % interval",
        basis="correct programs 0.001 to 0.004, half width of five pairs included",
    ),
)

PAIRS = (*TYPES, *TRACES, *MODEL, *SEEDS)
