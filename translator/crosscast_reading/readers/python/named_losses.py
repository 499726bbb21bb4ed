"""Losses of libraries that a recipe has no kind for, or that take probabilities: by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_NN = r"(?:torch\.nn\.(?:functional\.|modules\.loss\.)?|paddle\.nn\.(?:functional\.)?)"
_KERAS = r"keras\.(?:losses|metrics|backend)\."


def _is(call: Call, argument: str, *values: object) -> bool:
    """Whether an argument is not given or certainly one of some values."""
    value = call.argument(argument)
    return value is None or (isinstance(value, Known) and value.value in values)


def _plain(call: Call) -> bool:
    """Whether the mean is taken over all elements, which have no weights."""
    means = _is(call, "reduction", "mean", "sum_over_batch_size", "auto")
    counts_all = _is(call, "ignore_index", -100) and _is(call, "size_average", None, True)
    return means and counts_all and _is(call, "weight", None) and _is(call, "reduce", None, True)


def _plain_of_one(call: Call) -> bool:
    """Whether the square turns into a line at 1."""
    return _plain(call) and _is(call, "beta", 1, 1.0) and _is(call, "delta", 1, 1.0)


def _of_probabilities(call: Call) -> bool:
    plain = _plain(call) and _is(call, "label_smoothing", 0, 0.0) and _is(call, "axis", -1)
    return plain and _is(call, "from_logits", False) and _is(call, "ignore_class", None)


def _of_logits(call: Call) -> bool:
    logits = call.argument("from_logits")
    plain = _plain(call) and _is(call, "label_smoothing", 0, 0.0) and _is(call, "axis", -1)
    return plain and isinstance(logits, Known) and logits.value is True


_NAMED: Sequence[tuple[str, Callable[[Call], bool], str]] = (
    (rf"{_NN}(?:NLLLoss|nll_loss)", _plain, "nll"),
    (rf"{_NN}(?:BCELoss|binary_cross_entropy)", _plain, "binary_probabilities"),
    (rf"{_NN}(?:L1Loss|l1_loss)", _plain, "l1"),
    (rf"{_NN}(?:SmoothL1Loss|smooth_l1_loss|HuberLoss|huber_loss)", _plain_of_one, "smooth_l1"),
    (rf"{_KERAS}(?:MeanAbsoluteError|mean_absolute_error)", _plain, "l1"),
    (rf"{_KERAS}Huber", _plain_of_one, "smooth_l1"),
    (
        rf"{_KERAS}(?:SparseCategoricalC|sparse_categorical_c)rossentropy",
        _of_probabilities,
        "class_probabilities",
    ),
    (rf"{_KERAS}(?:BinaryC|binary_c)rossentropy", _of_probabilities, "binary_probabilities"),
    (rf"{_KERAS}(?:CategoricalC|categorical_c)rossentropy", _of_logits, "one_hot"),
    (
        rf"{_KERAS}(?:CategoricalC|categorical_c)rossentropy",
        _of_probabilities,
        "one_hot_probabilities",
    ),
    (r"tensorflow\.nn\.softmax_cross_entropy_with_logits", _plain, "one_hot"),
)
"""Canonical name, what its settings must be, and the name of the loss."""
OF_KERAS = {
    "mae": "l1",
    "MAE": "l1",
    "mean_absolute_error": "l1",
    "huber": "smooth_l1",
    "sparse_categorical_crossentropy": "class_probabilities",
    "categorical_crossentropy": "one_hot_probabilities",
    "binary_crossentropy": "binary_probabilities",
}
"""Names that `compile` of Keras takes."""
NAMES = frozenset({row[2] for row in _NAMED})


_VALUES = 2
"""Arguments of a function that are no settings: outputs and targets."""


def _count(call: Call) -> int:
    return len(call.node.args) + len(call.node.keywords)


def named_loss(name: str, call: Call) -> str:
    """Return the name of the loss that a class or function computes; empty for any other."""
    is_class = name.rpartition(".")[2][:1].isupper()
    arguments = call.node.args[0 if is_class else _VALUES :]
    if call.has_star or (arguments and len(call.bound()) < _count(call)):
        return ""
    words = (word for pattern, fits, word in _NAMED if re.fullmatch(pattern, name) and fits(call))
    return next(words, "")
