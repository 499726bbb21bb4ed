"""Losses of libraries without a kind in a recipe: as the loss of logits, or as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import Network
from crosscast_migrate.models.tables import LossWriting
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.recipe_draft import Filled

FILE = "own_loss.py"
FUNCTION = "own_loss:own_losses"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow:
    """What becomes of a loss."""

    kind: str
    """Of the recipe."""
    last: str = ""
    """The last operation of the source's model, which the loss of logits contains."""
    meaning: str = ""
    """Of a function: its docstring."""
    note: str = ""


_ROUNDING = "Keras rounds probabilities below 1e-7, which the loss of logits does not"
ROWS: Mapping[str, LossRow] = {
    "nll": LossRow(kind="cross_entropy", last="log_softmax"),
    "class_probabilities": LossRow(kind="cross_entropy", last="softmax", note=_ROUNDING),
    "binary_probabilities": LossRow(kind="binary_cross_entropy", last="sigmoid"),
    "one_hot_probabilities": LossRow(
        kind="custom",
        last="softmax",
        meaning="Cross-entropy of logits with the probabilities of classes",
        note=_ROUNDING,
    ),
    "one_hot": LossRow(
        kind="custom", meaning="Cross-entropy of logits with the probabilities of classes"
    ),
    "l1": LossRow(kind="custom", meaning="Absolute difference, the mean of every row"),
    "smooth_l1": LossRow(
        kind="custom",
        meaning="Squared difference halved, a line from 1 on; the mean of every row",
    ),
}
"""By the value of the fact `loss.named`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedLoss:
    """The loss of the recipe in place of one without a kind."""

    name: str
    row: LossRow
    fields: Mapping[str, Filled]
    network: Network | None
    """The model, without the operation that is part of the loss."""
    note: str = ""
    """What is to be told."""

    def text(self, backend: str) -> str:
        """Return the file with the function; empty for a loss of the recipe."""
        return function_text(self.name, backend) if self.row.kind == "custom" else ""


def carried_loss(
    fact: Fact | None,
    fields: Mapping[str, Filled],
    network: Network | None,
    backends: Sequence[str],
) -> CarriedLoss | None:
    """Return the loss of the recipe for a loss without a kind.

    Args:
        fact: `loss.named`, if the source has one.
        fields: fields of the recipe.
        network: the model, if it was read.
        backends: frameworks of the targets.

    Returns:
        None where the user must write the loss: there is no such fact, or the model does not end as
        its loss requires.
    """
    kind = fields.get("loss.kind")
    if fact is None or not fact.known or kind is None or kind.how != "assumed":
        return None
    row = ROWS[str(fact.value)]
    if row.last and network is not None:
        ready = without_last(network, row.last)
        if ready is None:
            return None
        network = ready
    if row.kind == "custom" and not all(_element(str(fact.value), each) for each in backends):
        return None
    meant = Filled(
        value=row.kind, how="derived", places=fact.places, note=f"{fact.value}, of the library"
    )
    own: dict[str, Filled] = {"loss.kind": meant}
    if row.kind == "cross_entropy":
        own["loss.label_smoothing"] = replace(meant, value=0.0, note="none in its call")
        own["loss.class_weights"] = replace(meant, value=[], note="none in its call")
    if row.kind == "custom":
        for backend in backends:
            own[f"loss.function.{backend}"] = replace(meant, value=FUNCTION, note=FILE)
    normalized = fields.get("accumulation.normalize_by")
    if normalized is not None and normalized.note == "the loss was not read":
        own["accumulation.normalize_by"] = replace(
            meant, value="sample", note="the mean of a batch"
        )
    return CarriedLoss(name=str(fact.value), row=row, fields=own, network=network, note=row.note)


def without_last(network: Network, kind: str) -> Network | None:
    """Return a model without its last operation; None if that is another one."""
    last = network.steps[-1] if network.steps else None
    if last is None or last.output != network.output or last.kind != kind:
        return None
    shape = network.shapes.get(last.inputs[0])
    axis = last.settings.get("axis", -1)
    if axis != -1 and (shape is None or axis != len(shape) - 1) and axis != 1:
        return None
    return replace(network, steps=network.steps[:-1], output=last.inputs[0])


def writing_of(backend: str) -> LossWriting | None:
    """Return how losses are written for a framework."""
    tables = model_tables().get(backend)
    return tables.writing.loss if tables is not None and tables.writing is not None else None


def _word(name: str) -> str:
    """Return the function of a loss, which is one of several losses."""
    return "one_hot" if name == "one_hot_probabilities" else name


def elements_of(kind: str, backend: str) -> tuple[str, ...]:
    """Return statements and an expression for a part of a sum of losses; empty for none."""
    writing = writing_of(backend)
    return {**writing.elements, **writing.kinds}.get(kind, ()) if writing is not None else ()


def _element(name: str, backend: str) -> tuple[str, ...]:
    """Return statements and an expression for the loss of every element; empty for none."""
    writing = writing_of(backend)
    return writing.elements.get(_word(name), ()) if writing is not None else ()


def function_text(name: str, backend: str) -> str:
    """Return the file with the function of a loss.

    Args:
        name: of the loss; its row is a custom one.
        backend: a framework that has it.
    """
    writing = writing_of(backend)
    assert writing is not None  # `carried_loss` has asked
    *before, code = _element(name, backend)
    total = "sum" if _word(name) == "one_hot" else "mean"
    lines = [
        '"""Your loss, migrated. train.py imports own_losses from here."""',
        "",
        writing.imported,
        "",
        "",
        writing.signature,
        f'    """{ROWS[name].meaning}."""',
        '    inputs = {name: value for name, value in batch.items() if name != "labels"}',
        f"    outputs = {writing.outputs}",
        f"    targets = {writing.targets}",
        "    if outputs.shape != targets.shape:  # they would be broadcast",
        '        raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")',
        *(f"    {statement}" for statement in before),
        f"    losses = {code}",
        f"    return {writing.rows.format(total=total)}",
    ]
    return "\n".join(lines) + "\n"
