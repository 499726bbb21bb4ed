"""What the functions and classes of libraries compute: which are exactly a recipe's losses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Value
from crosscast_reading.readers.python.fact_writer import place_of
from crosscast_reading.readers.python.library_calls import canonical, last
from crosscast_reading.readers.python.named_losses import OF_KERAS, named_loss

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module

_TORCH = r"torch\.nn\.(?:functional\.|modules\.loss\.)?"
_PADDLE = r"paddle\.nn\.(?:functional\.)?"
_LAYERS = r"paddle\.(?:nn\.functional|fluid\.layers)\."
_KERAS = r"keras\.(?:losses|metrics|backend)\."
_KINDS: Sequence[tuple[str, str]] = (
    (rf"(?:{_TORCH}|{_PADDLE})(?:CrossEntropyLoss|cross_entropy)", "cross_entropy"),
    (rf"{_LAYERS}softmax_with_cross_entropy", "cross_entropy"),
    (r"tensorflow\.nn\.sparse_softmax_cross_entropy_with_logits", "cross_entropy"),
    (r"tensorflow\.losses\.sparse_softmax_cross_entropy", "cross_entropy"),
    (rf"{_KERAS}(?:SparseCategoricalC|sparse_categorical_c)rossentropy", "cross_entropy"),
    (rf"(?:{_TORCH}|{_PADDLE})(?:MSELoss|mse_loss)", "mse"),
    (rf"{_LAYERS}square_error_cost|paddle\.fluid\.layers\.mse_loss", "mse"),
    (rf"{_KERAS}(?:MeanSquaredError|mean_squared_error|mse|MSE)", "mse"),
    (
        rf"(?:{_TORCH}|{_PADDLE})(?:BCEWithLogitsLoss|binary_cross_entropy_with_logits)",
        "binary_cross_entropy",
    ),
    (r"paddle\.fluid\.layers\.sigmoid_cross_entropy_with_logits", "binary_cross_entropy"),
    (r"tensorflow\.nn\.sigmoid_cross_entropy_with_logits", "binary_cross_entropy"),
    (rf"{_KERAS}(?:BinaryC|binary_c)rossentropy", "binary_cross_entropy"),
)
"""Canonical name of a class or function, and the kind of its loss. `fluid.layers.cross_entropy` is
not among them: it takes probabilities."""
_OF_KERAS = {"mse": "mse", "mean_squared_error": "mse", "MSE": "mse"}
"""Names that `compile` takes and that mean the same as a kind; others take probabilities."""
_BY_ELEMENT = frozenset({"square_error_cost", "sigmoid_cross_entropy_with_logits"})
_MEANS = ("mean", "sum_over_batch_size", "auto")
"""Reductions that are a mean, by the words of PyTorch, Paddle and Keras."""
_SMOOTHED = re.compile(rf"{_LAYERS}label_smooth")
_ONE_HOT = re.compile(r"paddle\.(?:nn\.functional|fluid|fluid\.layers|fluid\.input)\.one_hot")
_EPSILON = 0.1
"""Smoothing of `label_smooth` where none is given."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a loss comes from: a call of a library, or something else with its text."""

    kind: str
    """Empty for a loss that no recipe names."""
    text: str
    place: Span
    maker: Call | None = None
    """The call with the settings: of the class, or of the function itself."""
    by_element: bool = False
    """Whether it has a value for each element of the rows, of which a mean is still to be taken."""
    named: str = ""
    """Of a loss without a kind: the name in `named_losses`."""
    is_set: bool = False
    """Whether it is a loss of a kind with settings that no recipe has."""
    smoothing: Value | None = None
    """Smoothing of its labels, where no argument of the maker says it."""


def kind_of(name: str) -> str:
    """Return the kind of loss that a function or class computes; empty for any other."""
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), "")


def loss_of_call(call: Call) -> Found | None:
    """Return the loss that a call of a library's function is; None for any other call."""
    for name in map(canonical, call.names):
        if kind := kind_of(name):
            return _exact(kind, name, call, place_of(call))
        if named := named_loss(name, call):
            return Found("", call.module.text(call.node), place_of(call), named=named)
    return None


def loss_of_value(value: Value, node: ast.expr, module: Module) -> Found:
    """Return the loss that an object, a function or a name for Keras is."""
    place, text = module.span(node), module.text(node)
    match value:
        case Known(value=str(name)) if name in _OF_KERAS:
            return Found(_OF_KERAS[name], text, place)
        case Symbol(name=name) if kind_of(canonical(name)) == "mse":
            return Found("mse", text, place)
        case Known(value=str(name)) if name in OF_KERAS:
            return Found("", text, place, named=OF_KERAS[name])
        case Instance(made_by=name, call=Call() as maker):
            if kind := kind_of(canonical(name)):
                return _exact(kind, canonical(name), maker, place)
            return Found("", text, place, named=named_loss(canonical(name), maker))
    return Found("", text, place)


def gives_probabilities(call: Call) -> bool:
    """Whether a function returns the probabilities beside the loss."""
    return not _is(call, "return_softmax", False)


def _smoother(maker: Call) -> Call | None:
    """Return the call of `label_smooth` that makes the labels of a loss from classes."""
    call = _argument_made_by(_SMOOTHED, maker)
    one_hot = call is not None and _argument_made_by(_ONE_HOT, call) is not None
    return call if call is not None and one_hot and _is(call, "prior_dist", None) else None


def smoothing_of(maker: Call) -> Value | None:
    """Return the label smoothing of a loss, None for none."""
    call = _smoother(maker)
    if call is not None:
        return call.argument("epsilon", Known(_EPSILON))
    return maker.argument("label_smoothing")


def _argument_made_by(pattern: re.Pattern[str], maker: Call) -> Call | None:
    """Return the one call that a loss or a function has its labels from, if its name matches."""
    calls = list(_calls_behind(maker.bound().get("label"), maker.module))
    call = calls[0] if len(calls) == 1 else None
    return call if call is not None and _is_named(pattern, call) else None


def _is_named(pattern: re.Pattern[str], call: Call) -> bool:
    return any(pattern.fullmatch(canonical(name)) for name in call.names)


def _calls_behind(node: ast.expr | None, module: Module) -> Iterator[Call | None]:
    """Yield the calls that a value can come from, None for anything else."""
    if isinstance(node, ast.Name):
        for binding in definitions(node, module):
            plain = binding.kind == "assign" and not binding.path
            yield from _calls_behind(binding.value if plain else None, binding.module)
    else:
        yield module.call(node) if isinstance(node, ast.Call) else None


def _exact(kind: str, name: str, maker: Call, where: Span) -> Found:
    """Return a loss of a kind, if its settings leave it what a recipe means by that."""
    text = maker.module.text(maker.node)
    if maker.has_star or not _means(kind, name, maker):
        return Found("", text, where, named=named_loss(name, maker), is_set=True)
    by_element = kind != "cross_entropy" and (
        last(name) in _BY_ELEMENT or not _is(maker, "reduction", *_MEANS)
    )
    return Found(kind, text, where, maker, by_element)


def _is(call: Call, argument: str, *values: object) -> bool:
    """Whether an argument is not given or certainly one of some values."""
    value = call.argument(argument)
    return value is None or (isinstance(value, Known) and value.value in values)


def _means(kind: str, name: str, maker: Call) -> bool:
    """Whether the settings of a loss are among those of its kind in a recipe."""
    is_class = last(name)[0].isupper()
    if len(maker.node.args) > (0 if is_class else 2) and not maker.parameters():
        return False  # arguments whose names are not known
    if name.startswith("keras."):
        logits = maker.argument("from_logits")
        takes_logits = isinstance(logits, Known) and logits.value is True
        plain = _is(maker, "label_smoothing", 0, 0.0) and _is(maker, "axis", -1)
        return plain and _is(maker, "ignore_class", None) and (kind == "mse" or takes_logits)
    if kind != "cross_entropy":
        return _is_plain_mean(maker)
    if name.startswith("tensorflow."):
        return _is(maker, "weights", 1, 1.0)
    of_classes = _is(maker, "soft_label", False) or (
        _smoother(maker) is not None and _is(maker, "weight", None)
    )
    return of_classes and _is(maker, "use_softmax", True) and _is(maker, "axis", -1)


def _is_plain_mean(maker: Call) -> bool:
    """Whether elements have no weights and no sum is taken of them."""
    means = _is(maker, "reduction", "mean", "none") and _is(maker, "size_average", None, True)
    counts_all = _is(maker, "ignore_index", -100) and _is(maker, "normalize", False)
    unweighted = _is(maker, "weight", None) and _is(maker, "pos_weight", None)
    return means and _is(maker, "reduce", None, True) and counts_all and unweighted
