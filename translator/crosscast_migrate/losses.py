"""Losses of libraries without a kind in a recipe: as the loss of logits, or as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crosscast_migrate.models.network import Network
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
_CODE: Mapping[str, Mapping[str, str]] = {
    "torch": {
        "l1": 'F.l1_loss(outputs, targets, reduction="none")',
        "smooth_l1": 'F.smooth_l1_loss(outputs, targets, reduction="none")',
        "one_hot": "-targets * F.log_softmax(outputs, dim=-1)",
    },
    "paddle": {
        "l1": 'F.l1_loss(outputs, targets, reduction="none")',
        "smooth_l1": 'F.smooth_l1_loss(outputs, targets, reduction="none")',
        "one_hot": "-targets * F.log_softmax(outputs, axis=-1)",
    },
    "tensorflow": {
        "l1": "tf.abs(outputs - targets)",
        "smooth_l1": "tf.where(size < 1.0, 0.5 * size * size, size - 0.5)",
        "one_hot": "-targets * tf.nn.log_softmax(outputs)",
    },
}
"""Backend and loss to the loss of every element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedLoss:
    """The loss of the recipe in place of one without a kind."""

    name: str
    row: LossRow
    fields: Mapping[str, Filled]
    network: Network | None
    """The model, without the operation that is part of the loss."""

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
    if row.kind == "custom" and not set(backends) <= _CODE.keys():
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
    return CarriedLoss(name=str(fact.value), row=row, fields=own, network=network)


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


def function_text(name: str, backend: str) -> str:
    """Return the file with the function of a loss.

    Args:
        name: of the loss; its row is a custom one.
        backend: one of the frameworks.
    """
    row = ROWS[name]
    word = "one_hot" if name == "one_hot_probabilities" else name
    code = _CODE[backend][word]
    total = "sum" if word == "one_hot" else "mean"
    head = ['"""Your loss, migrated. train.py imports own_losses from here."""', ""]
    doc = f'    """{row.meaning}."""'
    inputs = '    inputs = {name: value for name, value in batch.items() if name != "labels"}'
    check = [
        "    if outputs.shape != targets.shape:  # they would be broadcast",
        '        raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")',
    ]
    if backend == "tensorflow":
        body = [
            "    outputs = tf.cast(model(inputs, training=training), tf.float32)",
            '    targets = tf.cast(batch["labels"], tf.float32)',
            *check,
            *(["    size = tf.abs(outputs - targets)"] if "size" in code else []),
            f"    losses = {code}",
            f"    return tf.reduce_{total}(tf.reshape(losses, [tf.shape(losses)[0], -1]), axis=1)",
        ]
        signature = "def own_losses(model, batch, training):"
        head.append("import tensorflow as tf")
    else:
        cast = ".float()" if backend == "torch" else '.astype("float32")'
        body = [
            f"    outputs = model(**inputs){cast}",
            f'    targets = batch["labels"]{cast}',
            *check,
            f"    losses = {code}",
            f"    return losses.reshape([len(losses), -1]).{total}(1)",
        ]
        signature = "def own_losses(model, batch):"
        head.append(f"from {backend}.nn import functional as F")
    return "\n".join([*head, "", "", signature, doc, inputs, *body]) + "\n"
