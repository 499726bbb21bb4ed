"""Losses as JAX programs write them: means of what optax or a formula gives for every row.

`loss_form` is asked for every value on the way from a gradient back to where its loss comes from.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_reading.readers.python.loss_flow import origin
from crosscast_reading.readers.python.loss_kinds import Found
from crosscast_reading.readers.python.loss_values import After, LossValue, OneOf

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.values.value import Value

_OPTAX = ("optax", "optax.losses")
_ONE_HOT = frozenset({"jax.nn.one_hot", "flax.training.common_utils.onehot"})
_LOG_SOFTMAX = frozenset({"jax.nn.log_softmax", "flax.linen.log_softmax", "flax.nnx.log_softmax"})
_MEANS = frozenset({"jax.numpy.mean", "jax.numpy.average"})
_CASTS = frozenset({"astype", "squeeze"})
_OVER_CLASSES = (-1, 1)
"""Axes of the classes in formulas: the last one, which is the second of plain rows."""
_HOPS = 8


@dataclass(frozen=True, slots=True)
class _Element:
    """A loss with a value for each row."""

    kind: str
    named: str = ""
    smoothing: Value | None = None


def loss_form(value: LossValue) -> Found | None:
    """Return the loss that an expression is, if it is a mean of one that is known by its form."""
    averaged = _averaged(value)
    if averaged is None:
        return None
    sign, inner = averaged
    element = _element(inner, sign)
    if element is None:
        return None
    place = value.module.span(value.node)
    return Found(element.kind, value.text, place, named=element.named, smoothing=element.smoothing)


def _averaged(value: LossValue) -> tuple[int, LossValue] | None:
    """Return the elements of which a mean is taken, and their sign."""
    match value.node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _averaged(value.inside(operand))
            return (-inner[0], inner[1]) if inner is not None else None
        case ast.Call(func=ast.Attribute(attr="astype", value=receiver)):
            return _averaged(value.inside(receiver))
        case ast.Call(args=[elements], keywords=[]) if _name(value) in _MEANS:
            return 1, value.inside(elements)
        case ast.Call(func=ast.Attribute(attr="mean", value=receiver), args=[], keywords=[]):
            return 1, value.inside(receiver)
    return None


def _name(value: LossValue) -> str:
    """Return the canonical name of what an expression calls; empty if it calls nothing."""
    if not isinstance(value.node, ast.Call):
        return ""
    return canonical(value.module.call(value.node).name)


def _behind(value: LossValue) -> LossValue:
    """Return the value that a name, a function of the program or a cast stands for."""
    for _ in range(_HOPS):
        match value.node:
            case ast.Call(func=ast.Attribute(attr=method, value=receiver)) if method in _CASTS:
                value = value.inside(receiver)
                continue
            case ast.Call() if (
                ":" not in _name(value)
                and value.module.program.function(value.module.call(value.node)) is None
            ):
                return value
            case ast.Name() | ast.Attribute() | ast.Call():
                pass
            case _:
                return value
        match origin(value):
            case OneOf(parts=(LossValue() as only,), is_sum=False):
                value = only
            case After(operation="cast", inner=inner):
                value = inner
            case _:
                return value
    return value


def _element(value: LossValue, sign: int) -> _Element | None:
    """Return the loss of every row that an expression gives, multiplied by a sign."""
    value = _behind(value)
    node = value.node
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _element(value.inside(operand), -sign)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2)):
            return _square(value.inside(left), sign)
        case ast.Subscript(value=rows, slice=ast.Tuple(elts=[first, _])):
            taken = _name(_behind(value.inside(first))) == "jax.numpy.arange"
            return _negative(taken and _is_log_softmax(value.inside(rows)), sign)
        case ast.Call():
            if (form := _FORMS.get(_plain_name(value))) is not None:
                return form(value, value.module.call(node), sign)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
                return _picked(value.inside(node.func.value), keyword(node, "axis"), node, sign)
    return None


def _plain_name(value: LossValue) -> str:
    """Return the name of a call without the second place where optax has its losses."""
    package, _, last = _name(value).rpartition(".")
    return f"optax.{last}" if package in _OPTAX else f"{package}.{last}"


def _negative(holds: bool, sign: int) -> _Element | None:
    """Return cross-entropy, where log-probabilities of the labels were picked and negated."""
    return _Element("cross_entropy") if holds and sign < 0 else None


def _square(value: LossValue, sign: int) -> _Element | None:
    match _behind(value).node:
        case ast.BinOp(op=ast.Sub()):
            return _Element("mse") if sign > 0 else None
    return None


def _squared(value: LossValue, call: Call, sign: int) -> _Element | None:
    return _square(value.inside(call.node.args[0]), sign) if call.node.args else None


def _sum(value: LossValue, call: Call, sign: int) -> _Element | None:
    """`jnp.sum(labels * log_softmax(logits), axis=-1)`."""
    if not call.node.args:
        return None
    axis = call.node.args[1] if len(call.node.args) > 1 else keyword(call.node, "axis")
    return _picked(value.inside(call.node.args[0]), axis, call.node, sign)


def _picked(
    product: LossValue, axis: ast.expr | None, node: ast.Call, sign: int
) -> _Element | None:
    """Return cross-entropy for a sum over classes of labels times log-probabilities."""
    over = value_of(axis, product.module)
    if not isinstance(over, Known) or over.value not in _OVER_CLASSES or sign > 0:
        return None
    if len(node.keywords) > 1:
        return None
    match _behind(product):
        case LossValue(node=ast.BinOp(left=left, op=ast.Mult(), right=right)) as whole:
            for one, other in ((left, right), (right, left)):
                if _is_log_softmax(whole.inside(one)):
                    return _of_labels(whole.inside(other))
    return None


def _taken(value: LossValue, call: Call, sign: int) -> _Element | None:
    """`jnp.take_along_axis(log_softmax(logits), labels[..., None], axis=-1)`."""
    axis = value_of(call.bound().get("axis", keyword(call.node, "axis")), call.module)
    last_axis = isinstance(axis, Known) and axis.value in _OVER_CLASSES
    return _negative(
        bool(call.node.args) and last_axis and _is_log_softmax(value.inside(call.node.args[0])),
        sign,
    )


def _is_log_softmax(value: LossValue) -> bool:
    whole = _behind(value)
    return _name(whole) in _LOG_SOFTMAX


def _of_labels(labels: LossValue) -> _Element:
    """Return cross-entropy of classes if labels are one-hot, else that of probabilities."""
    whole = _behind(labels)
    if _name(whole) in _ONE_HOT and isinstance(whole.node, ast.Call):
        plain = len(whole.node.args) + len(whole.node.keywords) <= 2
        return _Element("cross_entropy") if plain else _Element("", "one_hot")
    if _plain_name(whole) == "optax.smooth_labels" and isinstance(whole.node, ast.Call):
        call = whole.module.call(whole.node)
        classes = call.node.args[0] if call.node.args else keyword(call.node, "labels")
        inner = _of_labels(whole.inside(classes)) if classes is not None else _Element("")
        share = call.node.args[1] if len(call.node.args) > 1 else keyword(call.node, "alpha")
        return replace(inner, smoothing=value_of(share, call.module))
    return _Element("", "one_hot")


def _of_classes(value: LossValue, call: Call, sign: int) -> _Element | None:
    plain = call.bound().keys() <= {"logits", "labels", "axis"} and not call.has_star
    return _Element("cross_entropy") if sign > 0 and plain else None


def _of_probabilities(value: LossValue, call: Call, sign: int) -> _Element | None:
    labels = call.bound().get("labels")
    if labels is None or sign < 0 or not call.bound().keys() <= {"logits", "labels", "axis"}:
        return None
    return _of_labels(value.inside(labels))


def _binary(value: LossValue, call: Call, sign: int) -> _Element | None:
    return _Element("binary_cross_entropy") if sign > 0 and not call.has_star else None


def _error(value: LossValue, call: Call, sign: int) -> _Element | None:
    return _Element("mse") if sign > 0 and not call.has_star else None


_FORMS: Mapping[str, Callable[[LossValue, Call, int], _Element | None]] = {
    "optax.softmax_cross_entropy_with_integer_labels": _of_classes,
    "optax.softmax_cross_entropy": _of_probabilities,
    "optax.sigmoid_binary_cross_entropy": _binary,
    "optax.squared_error": _error,
    "jax.numpy.square": _squared,
    "jax.numpy.sum": _sum,
    "jax.numpy.take_along_axis": _taken,
}
"""What calls give for every row. `optax.l2_loss` is half of the squared error, and not here."""
