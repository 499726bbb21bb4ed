"""Reads a sum of losses: which losses it has, with which weights, of which outputs and labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast_migrate.batch_arrays import BatchArrays
from crosscast_migrate.changed_values import changed_in_place, only_source
from crosscast_migrate.models.uses import functions_of, handed_over, uses_of
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import is_number
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.readers.python.loss_kinds import Found, loss_of_call, loss_of_value
from crosscast_reading.trainstep.answers.differentiated import loss_expression

if TYPE_CHECKING:
    from crosscast_migrate.models.tables import ModelReading
    from crosscast_reading.pysource.names.containers import Place
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event, TrainingStep

_MOST = 8
KINDS = frozenset({"cross_entropy", "mse", "binary_cross_entropy", "l1", "smooth_l1"})
_OUTPUTS = frozenset({"input", "logit", "logits", "y_pred", "predictions"})
_LABELS = frozenset({"target", "label", "labels", "targets", "y_true"})
_PLAIN = _OUTPUTS | _LABELS | {"reduction", "from_logits", "name"}
"""Arguments of losses that a function of the new script has, too, or that the kind contains."""
_MEANS = frozenset({"mean", "sum_over_batch_size", "auto"})
NOTE = "a sum of losses of the library"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One loss of a sum."""

    kind: str
    weight: float
    output: ast.expr | int | str
    """What it takes of the model: an expression, or which of its outputs."""
    labels: int = 0
    """Place of its labels among those of a batch."""
    columns: bool = False
    """Whether one number in a column of its own counts as that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The losses of a step, in the order of the source."""

    terms: tuple[Term, ...]
    place: Filled
    """The sum, as it was read."""
    labels: tuple[str, ...] = ()
    """What the source calls the arrays with labels, where the place of one in a row is not seen."""
    by_name: bool = False
    """Whether these are names of the arrays."""

    @property
    def count(self) -> int:
        """Number of the arrays with labels."""
        return max(term.labels for term in self.terms) + 1


@dataclass(frozen=True, slots=True)
class _Part:
    term: Term
    target: ast.expr
    module: Module


def sum_of(
    program: Program, steps: Sequence[TrainingStep], reading: ModelReading | None
) -> Sum | None:
    """Return the sum of losses that the steps of a program differentiate; None for another loss."""
    if reading is None:
        return None
    sums: list[Sum] = []
    for step in steps:
        for event in step.of("backward"):
            loss = _sum(program, step, event, reading)
            if loss is None:
                return None
            sums.append(loss)
    return sums[0] if len(sums) == 1 else None


def _sum(program: Program, step: TrainingStep, event: Event, reading: ModelReading) -> Sum | None:
    differentiated = _differentiated(program, event, reading)
    if differentiated is None:
        return None
    expression, module, held = differentiated
    reader = _Terms(reading, BatchArrays(step, held))
    parts = list(reader.terms(expression, module, 1.0, _MOST))
    kept = [part for part in parts if part is not None]
    if len(kept) < max(2, len(parts)):
        return None
    keys = [reader.arrays.of(part.target, part.module) for part in kept]
    order = _order(program, step, reading, reader.arrays, keys)
    if order is None:
        return None
    places: dict[int | str | None, int] = {key: place for place, key in enumerate(order)}
    terms = [replace(p.term, labels=places[k]) for p, k in zip(kept, keys, strict=True)]
    place = Filled(value="custom", how="derived", places=(module.span(expression),), note=NOTE)
    texts = [] if isinstance(order[0], int) else [str(key) for key in order]
    return Sum(terms=tuple(terms), place=place, labels=tuple(texts))


def _order(
    program: Program,
    step: TrainingStep,
    reading: ModelReading,
    arrays: BatchArrays,
    keys: Sequence[int | str | None],
) -> list[int | str] | None:
    """Return the arrays with labels in the order of a row; None where they are not certain."""
    known = [key for key in keys if key is not None]
    if len(known) < len(keys) or len({type(key) for key in known}) > 1:
        return None
    labels = list(dict.fromkeys(known))
    if isinstance(labels[0], str):
        return labels
    labels.sort(key=int)
    inputs = set[int | str | None]()
    for use in uses_of(program, [step], reading):
        given = [*use.call.args, *(k.value for k in use.call.keywords)] if use.call else []
        inputs |= {arrays.of(node, use.module) for node in given}
    places = sorted(key for key in inputs if isinstance(key, int))
    count = arrays.count or len(places) + len(labels)
    return labels if [*places, *labels] == list(range(count)) else None


def _differentiated(
    program: Program, event: Event, reading: ModelReading
) -> tuple[ast.expr, Module, Mapping[str, Sequence[Place]]] | None:
    """Return the loss of a step, its module, and what its function is given by a library."""
    node, module = event.node, event.module
    if not isinstance(node, ast.Call):
        return None
    if canonical(module.resolve(node.func)) not in reading.differentiates:
        loss = loss_expression(event)
        return (loss, module, {}) if loss is not None else None
    functions = list(functions_of(program, node.args[0], module)) if node.args else []
    if len(functions) != 1:
        return None
    function, where = functions[0]
    if isinstance(function, ast.Lambda):
        results = [function.body]
    else:
        scope = where.scopes.get(function)
        returned = scope.returns if scope is not None else ()
        results = [each.value for each in returned if each.value is not None]
    if len(results) != 1:
        return None
    loss = results[0].elts[0] if isinstance(results[0], ast.Tuple) else results[0]
    return loss, where, handed_over(node, function, module)


class _Terms:
    """Reads the parts of a sum."""

    def __init__(self, reading: ModelReading, arrays: BatchArrays) -> None:
        self._reading = reading
        self.arrays = arrays

    def terms(
        self, node: ast.expr, module: Module, weight: float, depth: int
    ) -> Iterator[_Part | None]:
        """Yield the losses of a sum; None for a part that is none."""
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
                yield from self.terms(left, module, weight, depth)
                sign = -1.0 if isinstance(op, ast.Sub) else 1.0
                yield from self.terms(right, module, sign * weight, depth)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                for part, factor in ((left, right), (right, left)):
                    number = number_of(factor, module)
                    if number is not None:
                        yield from self.terms(part, module, weight * number, depth)
                        return
                yield None
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                number = number_of(right, module)
                if number:
                    yield from self.terms(left, module, weight / number, depth)
                else:
                    yield None
            case ast.Name() if depth and changed_in_place(node, module) is None:
                value = _value_of(node, module)
                if value is None:
                    yield None
                else:
                    yield from self.terms(*value, weight, depth - 1)
            case ast.Call():
                mean = self._mean_of(node, module)
                if mean is not None:
                    yield self._of_rows(mean, module, weight, depth)
                else:
                    yield self._loss(node, module, weight)
            case _:
                yield None

    def _mean_of(self, node: ast.Call, module: Module) -> ast.expr | None:
        """Return the numbers that a call takes the mean of; None for another call."""
        match node:
            case ast.Call(args=[inner], keywords=[]) if (
                canonical(module.call(node).name) in self._reading.means
            ):
                return inner
            case ast.Call(func=ast.Attribute(value=inner, attr="mean"), args=[], keywords=[]):
                return inner
        return None

    def _of_rows(self, node: ast.expr, module: Module, weight: float, depth: int) -> _Part | None:
        """Return the loss whose value for every row, or every number, is given."""
        match node:
            case ast.Name() if depth and changed_in_place(node, module) is None:
                value = _value_of(node, module)
                return self._of_rows(*value, weight, depth - 1) if value is not None else None
            case ast.BinOp(left=difference, op=ast.Pow(), right=ast.Constant(value=2)):
                return self._of_difference("mse", difference, module, weight)
            case ast.Call(args=[*args]):
                call = module.call(node)
                name = canonical(call.name)
                kind = self._reading.differences.get(name)
                if kind is not None and len(args) == 1 and not node.keywords:
                    return self._of_difference(kind, args[0], module, weight)
                kind, factor = self._reading.row_losses.get(name, ("", 1.0))
                loss = loss_of_call(call)
                settled = loss is None or kind in (loss.kind, loss.named)
                words = _PLAIN if loss is not None else _OUTPUTS | _LABELS
                if kind and settled:
                    return self._part(kind, factor * weight, node, module, words)
        return None

    def _of_difference(
        self, kind: str, node: ast.expr, module: Module, weight: float
    ) -> _Part | None:
        match node:
            case ast.BinOp(op=ast.Sub(), left=left, right=right):
                for output, target in ((left, right), (right, left)):
                    if self.arrays.of(target, module) is not None:
                        return _Part(Term(kind=kind, weight=weight, output=output), target, module)
        return None

    def _loss(self, node: ast.Call, module: Module, weight: float) -> _Part | None:
        call = module.call(node)
        if canonical(call.name) in self._reading.row_losses:
            return None  # the sum of the rows would be differentiated
        loss: Found | None = loss_of_call(call)
        if loss is None:
            loss = loss_of_value(evaluate(node.func, module), node.func, module)
        kind = kind_of_part(loss)
        return self._part(kind, weight, node, module, _PLAIN) if kind else None

    def _part(
        self,
        kind: str,
        weight: float,
        node: ast.Call,
        module: Module,
        words: frozenset[str],
    ) -> _Part | None:
        given = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        pair = ("labels", "logits") if self._reading.labels_first else ("logits", "labels")
        given |= dict(zip(pair, node.args, strict=False))
        output = next((given[word] for word in given if word in _OUTPUTS), None)
        target = next((given[word] for word in given if word in _LABELS), None)
        plain = set(given) <= words and len(node.args) <= len(pair)
        if output is None or target is None or not plain:
            return None
        package = canonical(module.call(node).name).partition(".")[0]
        pairing = self._reading.pairs_columns
        columns = bool(pairing) and (not package or package in pairing)
        return _Part(Term(kind=kind, weight=weight, output=output, columns=columns), target, module)


def kind_of_part(loss: Found) -> str:
    """Return the kind of a loss that can be a part of a sum; empty for any other."""
    kind = loss.kind or loss.named
    return kind if kind in KINDS and not loss.by_element and _is_usual(loss) else ""


def _is_usual(loss: Found) -> bool:
    """Whether a loss has the settings that it has by default: a mean is taken of the rows."""
    maker = loss.maker
    if maker is None:
        return True
    reduction = maker.argument("reduction")
    is_mean = reduction is None or (isinstance(reduction, Known) and reduction.value in _MEANS)
    return is_mean and set(maker.bound()) <= _PLAIN


def number_of(node: ast.expr, module: Module) -> float | None:
    """Return the number that an expression certainly is."""
    value = evaluate(node, module)
    return float(value.value) if isinstance(value, Known) and is_number(value.value) else None


def _value_of(node: ast.Name, module: Module) -> Place | None:
    """Return the one expression that a name holds."""
    source = only_source(node, module)
    return source if source is not None and not isinstance(source[0], ast.Name) else None
