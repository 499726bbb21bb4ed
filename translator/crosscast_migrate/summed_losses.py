"""Sums of known losses with weights, of one output or of several: `ce(a, x) + 0.5 * mse(b, y)`.

Such a sum becomes a function of the new script. Every part must be a loss of a library with its
usual settings, and its labels one of the arrays of a batch; anything else is left to the user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosscast.emit.render import py_literal
from crosscast_migrate.loss_terms import Sum
from crosscast_migrate.losses import FUNCTION, elements_of, writing_of
from crosscast_migrate.models.network import Network
from crosscast_reading.lift.recipe_draft import Filled

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
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "cross_entropy": (
        "if len(targets.shape) == 2 and targets.shape[1] == 1:  # a class of every row",
        "    targets = targets[:, 0]",
    ),
    "": (
        "if len(outputs.shape) == 2 and outputs.shape[1:] == (1,) and len(targets.shape) == 1:",
        "    outputs = outputs[:, 0]",
    ),
}
"""How a number in a column of its own is taken for that number, by the kind of loss."""
_MEANINGS: Mapping[str, str] = {
    "cross_entropy": "Cross-entropy of logits with classes, one number for every row.",
    "mse": "Squared difference, the mean of every row.",
    "binary_cross_entropy": "Cross-entropy of logits with labels from 0 to 1, the mean of a row.",
    "l1": "Absolute difference, the mean of every row.",
    "smooth_l1": "Squared difference halved, a line from 1 on; the mean of every row.",
}


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
    notes = [_COUNTED] if "cross_entropy" in kinds else []
    if losses.labels:
        named = zip(label_names(losses.count), losses.labels, strict=True)
        notes.append(f"the labels are {', '.join(f'{n}: {text}' for n, text in named)}")
    return CarriedSum(
        losses=losses,
        fields=own,
        inputs=network.inputs,
        outputs=outputs,
        note=" ".join(notes),
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
        column = _COLUMNS["cross_entropy" if kind == "cross_entropy" else ""]
        as_columns = all(term.columns for term in carried.losses.terms if term.kind == kind)
        checks = (*(column if as_columns else ()), *_CHECKS.get(kind, _PAIRED))
        lines += [f"    {line}" for line in (*checks, *before)]
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
