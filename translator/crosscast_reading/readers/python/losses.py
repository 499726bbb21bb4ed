"""Reads the loss of a training loop, where it is certainly one that a recipe can name.

The loss of every backward pass is followed to the call that computes it. What is more than that
call (a sum of several losses, a weighted one, the output of a model) is a loss of the program's
own, and its expression is reported instead of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of
from crosscast_reading.readers.python.ignored_labels import LOSS, counts_ignored
from crosscast_reading.readers.python.loss_kinds import Found, loss_of_value, smoothing_of
from crosscast_reading.readers.python.loss_sources import returned_sources, sources
from crosscast_reading.trainstep.answers.differentiated import differentiated

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.trainstep.events import TrainingStep


def losses_of(step: TrainingStep, reader: str) -> Iterator[Fact]:
    """Yield the facts about the loss of the backward passes that run by default."""
    passes = [e for e in step.of("backward") if e.by_default and "functional" not in e.detail]
    losses: list[Found] = []
    for event in passes:
        loss = differentiated(event)
        if loss is not None:
            losses += sources(loss, event.module)
    yield from _facts(losses, reader)


def compiled_losses(calls: Iterator[Call], reader: str, method: str = "compile") -> Iterator[Fact]:
    """Yield the facts about the losses that a method like `compile` of Keras' models is given."""
    losses: list[Found] = []
    for call in calls:
        node = call.bound().get("loss")
        if node is None or call.method != method or call.receiver is None:
            continue
        value = evaluate(node, call.module)
        if _is_nothing(value):
            continue
        loss = loss_of_value(value, node, call.module)
        weights = call.bound().get("loss_weights")
        if loss.kind and weights is not None and not _is_nothing(call.argument("loss_weights")):
            loss = Found("", f"loss_weights={call.module.text(weights)}, {loss.text}", loss.place)
        losses.append(loss)
    yield from _facts(losses, reader)


def returned_losses(
    hooks: Iterable[tuple[Module, Function]], key: str | int, reader: str
) -> Iterator[Fact]:
    """Yield the facts about the losses that functions return to a trainer.

    Args:
        hooks: The functions. Where one returns nothing, no loss is differentiated.
        key: The entry with the loss where they return a container.
        reader: The name of the reader.
    """
    losses = [
        each for module, function in hooks for each in returned_sources(module, function, key)
    ]
    yield from _facts(losses, reader)


def _facts(losses: list[Found], reader: str) -> Iterator[Fact]:
    if not losses:
        return
    writer = FactWriter(reader)
    places = tuple(dict.fromkeys(loss.place for loss in losses))
    texts = list(dict.fromkeys(loss.text for loss in losses))
    kinds = {"" if loss.by_element else loss.kind for loss in losses}
    makers = {id(loss.maker.node): loss.maker for loss in losses if loss.maker is not None}
    smoothed = {str(loss.smoothing): loss.smoothing for loss in losses}
    settings = {_settings(maker) for maker in makers.values()}
    if "" in kinds or any(len(each) > 1 for each in (kinds, settings, smoothed)):
        own = "a recipe has no such settings" if losses[0].is_set else "it is the program's own"
        reason = "several losses" if len(texts) > 1 else own
        writer.unknown("loss.kind", reason, *places, expression=" and ".join(texts)[:200])
        named = {loss.named for loss in losses}
        if len(named) == 1 and "" not in named:
            writer.say("loss.named", named.pop(), *places)
    else:
        writer.say("loss.kind", kinds.pop(), *places)
        writer.number("loss.label_smoothing", losses[0].smoothing, *places)
        for maker in list(makers.values())[:1]:
            _of_settings(writer, maker)
    yield from writer.facts


def _settings(maker: Call) -> str:
    """Return the settings of a loss as text, without what it is computed of."""
    data = ("input", "target", "label", "logit", "labels", "logits", "y_true", "y_pred", "x")
    given = sorted(maker.bound().items())
    told = [f"{n}={maker.module.text(node)}" for n, node in given if n not in data]
    return ", ".join([*told, str(smoothing_of(maker))])


def _of_settings(writer: FactWriter, maker: Call) -> None:
    """Record smoothing, weights and the label that counts for nothing."""
    place = place_of(maker)
    writer.number("loss.label_smoothing", smoothing_of(maker), place)
    if not _is_nothing(maker.argument("weight")):
        writer.say("loss.class_weights", "weighted_mean", place)
    match maker.argument("ignore_index"):
        case None | Known(value=-100):
            pass
        case ignored:
            writer.number("loss.ignore_index", ignored, place)
    if LOSS.fullmatch(maker.name) and counts_ignored(maker):
        writer.say("loss.mean_over", "all_labels", place)


def _is_nothing(value: Value | None) -> bool:
    match value:
        case None | Known(value=None):
            return True
    return False
