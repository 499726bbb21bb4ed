"""Sums of known losses with weights, of one output or of several: `ce(a, x) + 0.5 * mse(b, y)`.

Such a sum becomes a function of the new script. Every part must be a loss of a library with its
usual settings, and its labels one of the arrays of a batch; anything else is left to the user.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.emit.render import py_literal
from crosscast_migrate.batch_loops import batch_loops
from crosscast_migrate.changed_values import changed_in_place
from crosscast_migrate.losses import FUNCTION, elements_of, writing_of
from crosscast_migrate.models.network import Network
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import names_in
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.loss_kinds import Found, loss_of_call, loss_of_value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_MOST = 8
_KINDS = frozenset({"cross_entropy", "mse", "binary_cross_entropy", "l1", "smooth_l1"})
_PLAIN = frozenset({"input", "target", "label", "reduction"})
"""Arguments of losses that a function of the new script has, too."""
_COUNTED = (
    "every row counts in a sum of losses: leave out rows with labels of -100, which are no class"
)
_PAIRED = (
    "if outputs.shape != targets.shape:  # they would be broadcast",
    '    raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")',
)
_CHECKS: Mapping[str, tuple[str, ...]] = {
    "cross_entropy": (
        "if len(outputs.shape) != 2:  # which axis has the classes, libraries say differently",
        '    raise ValueError(f"outputs {outputs.shape}, not rows of classes")',
    ),
}
"""What a function asks of its arguments, where that is not `_PAIRED`."""
_MEANINGS: Mapping[str, str] = {
    "cross_entropy": "Cross-entropy of logits with classes, one number for every row.",
    "mse": "Squared difference, the mean of every row.",
    "binary_cross_entropy": "Cross-entropy of logits with labels from 0 to 1, the mean of a row.",
    "l1": "Absolute difference, the mean of every row.",
    "smooth_l1": "Squared difference halved, a line from 1 on; the mean of every row.",
}


@dataclass(frozen=True, slots=True)
class Term:
    """One loss of a sum."""

    kind: str
    weight: float
    output: ast.expr
    """What it takes of the model."""
    labels: int
    """Place of its labels among those of a batch."""
    node: ast.Call
    module: Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The losses of a step, in the order of the source."""

    terms: tuple[Term, ...]
    place: Filled
    """The sum, as it was read."""

    @property
    def count(self) -> int:
        """Number of the arrays with labels."""
        return max(term.labels for term in self.terms) + 1


def sum_of(steps: Sequence[TrainingStep]) -> Sum | None:
    """Return the sum of losses that the steps of a program differentiate; None for another loss."""
    sums: list[Sum] = []
    for step in steps:
        for event in step.of("backward"):
            expression = _differentiated(event.node)
            if expression is None:
                return None
            names = next((names for _, names, _ in batch_loops([step])), [])
            given = {name for each in step.of("forward") for name in names_in(each.node)}
            inputs = [name for name in names if name in given]
            labels = names[len(inputs) :]
            terms = list(_terms(expression, event.module, 1.0, labels, _MOST))
            kept = tuple(term for term in terms if term is not None)
            whole = len(kept) == len(terms) > 1 and inputs == names[: len(inputs)]
            if not whole or {term.labels for term in kept} != set(range(len(labels))):
                return None
            place = Filled(
                value="custom",
                how="derived",
                places=(event.module.span(expression),),
                note="a sum of losses of the library",
            )
            sums.append(Sum(terms=kept, place=place))
    return sums[0] if len(sums) == 1 else None


def _differentiated(node: ast.AST) -> ast.expr | None:
    """Return the loss that `loss.backward()` differentiates; None for another call."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="backward"), args=[]):
            return value
    return None


def _terms(
    node: ast.expr, module: Module, weight: float, labels: Sequence[str], depth: int
) -> Iterator[Term | None]:
    """Yield the losses of a sum; None for a part that is none."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
            yield from _terms(left, module, weight, labels, depth)
            sign = -1.0 if isinstance(op, ast.Sub) else 1.0
            yield from _terms(right, module, sign * weight, labels, depth)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            for part, factor in ((left, right), (right, left)):
                number = _number(factor, module)
                if number is not None:
                    yield from _terms(part, module, weight * number, labels, depth)
                    return
            yield None
        case ast.Name() if changed_in_place(node, module) is None:
            values = [each for each in chase(node, module) if not isinstance(each[0], ast.Name)]
            values = [each for each in values if each[0] is not node][:2]
            if len(values) != 1 or not depth:
                yield None
            else:
                yield from _terms(*values[0], weight, labels, depth - 1)
        case ast.Call():
            yield _loss(node, module, weight, labels)
        case _:
            yield None


def _number(node: ast.expr, module: Module) -> float | None:
    value = evaluate(node, module)
    content = value.value if isinstance(value, Known) else None
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    return float(content)


def _loss(node: ast.Call, module: Module, weight: float, labels: Sequence[str]) -> Term | None:
    call = module.call(node)
    loss: Found | None = loss_of_call(call)
    if loss is None:
        loss = loss_of_value(evaluate(node.func, module), node.func, module)
    kind = loss.kind or loss.named
    given = dict(zip(("input", "target"), node.args, strict=False))
    given |= {keyword.arg or "**": keyword.value for keyword in node.keywords}
    output, target = given.get("input"), given.get("target", given.get("label"))
    if kind not in _KINDS or output is None or target is None or loss.by_element:
        return None
    if not set(given) <= _PLAIN or not _is_usual(loss):
        return None
    name = _name(target)
    if name is None or name.id not in labels or changed_in_place(name, module) is not None:
        return None
    return Term(kind, weight, output, labels.index(name.id), node, module)


def _is_usual(loss: Found) -> bool:
    """Whether a loss has the settings that it has by default: a mean is taken of the rows."""
    maker = loss.maker
    if maker is None:
        return True
    reduction = maker.argument("reduction")
    is_mean = reduction is None or (isinstance(reduction, Known) and reduction.value == "mean")
    return is_mean and set(maker.bound()) <= _PLAIN


def _name(node: ast.expr) -> ast.Name | None:
    """Return the name of labels, whatever device and type they are moved to; None for others."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        if node.func.attr not in ("to", "cuda", "float", "long", "astype"):
            break
        node = node.func.value
    return node if isinstance(node, ast.Name) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedSum:
    """The function in place of a sum of losses."""

    losses: Sum
    fields: Mapping[str, Filled]
    inputs: tuple[str, ...]
    outputs: tuple[int, ...]
    """Of every loss, the place of its output among those of the model."""
    network: Network | None = None
    note: str = ""
    """What is to be told."""

    def text(self, backend: str) -> str:
        """Return the file with the function."""
        return _text(self, backend)


def carried_sum(
    losses: Sum,
    network: Network,
    fields: Mapping[str, Filled],
    backends: Sequence[str],
) -> CarriedSum | None:
    """Return the function for a sum of losses; None where a framework has no row for one of them.

    Args:
        losses: the sum.
        network: the model, which returns what the losses take, or the one value that all take.
        fields: fields of the recipe.
        backends: frameworks of the targets.
    """
    kind = fields.get("loss.kind")
    kinds = {term.kind for term in losses.terms}
    known = all(elements_of(each, backend) for each in kinds for backend in backends)
    if kind is None or kind.how != "assumed" or not known:
        return None
    own = {"loss.kind": losses.place}
    for backend in backends:
        own[f"loss.function.{backend}"] = Filled(
            value=FUNCTION, how="derived", places=losses.place.places, note=losses.place.note
        )
    own["accumulation.normalize_by"] = Filled(
        value="sample", how="derived", places=losses.place.places, note="the means of a batch"
    )
    last = next((step for step in network.steps if step.output == network.output), None)
    several = last is not None and last.kind == "values"
    outputs = tuple(place if several else 0 for place in range(len(losses.terms)))
    return CarriedSum(
        losses=losses,
        fields=own,
        inputs=network.inputs,
        outputs=outputs,
        note=_COUNTED if "cross_entropy" in kinds else "",
    )


def label_names(count: int) -> tuple[str, ...]:
    """Return the names of the arrays with labels in the rows of a script."""
    return ("labels", *(f"labels_{number}" for number in range(2, count + 1)))


def _text(carried: CarriedSum, backend: str) -> str:
    writing = writing_of(backend)
    assert writing is not None  # `carried_sum` has asked
    names = label_names(carried.losses.count)
    several = len(set(carried.outputs)) > 1
    outputs = [f"output_{place + 1}" for place in range(max(carried.outputs) + 1)]
    kinds = list(dict.fromkeys(term.kind for term in carried.losses.terms))
    lines = ['"""Your loss, migrated. train.py imports own_losses from here."""', ""]
    imports = {*writing.imported.split("\n")}
    for kind in kinds:
        imports |= {*writing.imports_of.get(kind, ())}
    lines += sorted(imports, key=lambda line: (line.startswith("from"), line))
    for kind in kinds:
        *before, code = elements_of(kind, backend)
        typed = (
            "" if kind == "cross_entropy" else f"    targets = {writing.in_float}".format("targets")
        )
        lines += ["", "", f"def {kind}_losses(outputs, targets):"]
        lines += [f'    """{_MEANINGS[kind]}"""', *([typed] if typed else [])]
        lines.append(f"    outputs = {writing.in_float}".format("outputs"))
        lines += [f"    {line}" for line in (*_CHECKS.get(kind, _PAIRED), *before)]
        lines += [f"    losses = {code}", f"    return {writing.rows.format(total='mean')}"]
    given = ", ".join(f'"{name}": batch["{name}"]' for name in carried.inputs)
    lines += ["", "", writing.signature, f'    """{_summary(carried)}"""']
    lines.append(f"    inputs = {{{given}}}")
    lines.append(f"    {', '.join(outputs) if several else outputs[0]} = {writing.called}")
    for number, (term, place) in enumerate(zip(carried.losses.terms, carried.outputs, strict=True)):
        scale = "" if term.weight == 1.0 else f"{py_literal(term.weight)} * "
        loss = f'{term.kind}_losses({outputs[place]}, batch["{names[term.labels]}"])'
        lines.append(f"    {'losses +=' if number else 'losses ='} {scale}{loss}")
    lines.append("    return losses")
    return "\n".join(lines) + "\n"


def _summary(carried: CarriedSum) -> str:
    return f"The sum of {len(carried.losses.terms)} losses, one number for every row."
