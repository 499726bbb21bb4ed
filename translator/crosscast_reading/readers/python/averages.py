"""Reads moving averages of the weights: the decay of one kept by hand or by a library's class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Instance, Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import content
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.trainstep.answers.windows import windows_of
from crosscast_reading.trainstep.frames.weight_averages import decay_of_function
from crosscast_reading.trainstep.frames.weight_sources import (
    is_of_layer,
    is_weight,
    model_of,
    starts_filled,
)

if TYPE_CHECKING:
    from crosscast_reading.trainstep.events import Event, TrainingStep


@dataclass(frozen=True, slots=True)
class _Class:
    """A library's average with a constant decay."""

    default: float | None = None
    place: int = 1
    """Position of `decay` among its arguments."""
    off: Mapping[str, object] = field(default_factory=dict)
    """Arguments that make the decay move, with the value that leaves it."""


_CLASSES = {
    "timm.utils.ModelEma": _Class(0.9999),
    "timm.utils.ModelEmaV2": _Class(0.9999),
    "timm.utils.ModelEmaV3": _Class(0.9999, off={"use_warmup": False, "update_after_step": 0}),
    "timm.utils.model_ema.ModelEma": _Class(0.9999),
    "timm.utils.model_ema.ModelEmaV2": _Class(0.9999),
    "timm.utils.model_ema.ModelEmaV3": _Class(
        0.9999, off={"use_warmup": False, "update_after_step": 0}
    ),
    "torch_ema.ExponentialMovingAverage": _Class(off={"use_num_updates": False}),
    "tensorflow.train.ExponentialMovingAverage": _Class(
        place=0, off={"num_updates": None, "zero_debias": False}
    ),
    "paddle.static.ExponentialMovingAverage": _Class(0.999, 0, off={"thres_steps": None}),
}
"""Of timm 1.0, torch_ema 0.3, TensorFlow 2 and Paddle 3, as their documentation has them."""
_MOVES_BY_DEFAULT = frozenset({"use_num_updates"})
"""Of `off`: arguments whose default is not the value that leaves the decay."""
_FACTORIES = frozenset({"get_ema_multi_avg_fn", "get_ema_avg_fn"})
_TORCH_DEFAULT = 0.999


def averages_of(steps: Sequence[TrainingStep], reader: str) -> Iterator[Fact]:
    """Yield the decay of the first average that training steps update, main loops first."""
    for step in steps:
        for event in step.of("average_weights"):
            yield replace(_fact(event, step), reader=reader)
            return


def _fact(event: Event, step: TrainingStep) -> Fact:
    value, reason = _decay(event)
    odd = _unlike_recipe(event, step) or _of_other_weights(event, step)
    if value is None or odd:
        return Fact(
            field="ema.decay",
            known=False,
            reason=odd or reason,
            places=(event.span,),
            confidence="likely",
        )
    return fact_of("ema.decay", value, event.span)


def _unlike_recipe(event: Event, step: TrainingStep) -> str:
    """Return why an average is not that of a recipe; empty if it is."""
    if not step.holds(event):
        return "weights are averaged outside the loop over batches"
    steps = [other for other in step.inside("step") if other.by_default]
    if steps and event.order < steps[0].order:
        return "weights are averaged before the step"
    model = _model(event)
    if model and any(_is_part(model, other.subject) for other in step.inside("forward")):
        return f"{model} is an average of the weights and is run in the loop itself"
    shared = {id(guard.node) for other in (*steps, *step.of("backward")) for guard in other.guards}
    inner = _own_loop(event)
    for guard in event.guards:
        if id(guard.node) in shared or id(guard.node) in inner:
            continue
        if guard.by_default is True or guard.at_end:
            continue
        return f"weights are averaged if {guard.text if guard.holds else f'not {guard.text}'}"
    if windows_of(step) and all(guard.window is None for guard in event.guards):
        return "weights are averaged with every micro-batch, not once a window"
    return ""


def _of_other_weights(event: Event, step: TrainingStep) -> str:
    """Return why what a program averages itself is no average of all weights since their start."""
    if "by_hand" not in event.detail:
        return ""
    others = [
        other
        for other in step.of("average_weights")
        if _model(other) != _model(event) and _decay(other) != _decay(event)
    ]
    if others and not any(other.excludes(event) for other in others):
        return f"several averages of the weights are kept: {_model(event)}, {_model(others[0])}"
    module = event.module
    names = [n for n in walk(event.node) if isinstance(n, ast.Name | ast.Attribute)]
    if any(is_of_layer(name, module) for name in names):
        return "it is an average of some of the weights"
    models = [module.text(model_of(name, module)) for name in names if is_weight(name, module)]
    for whole in {other.subject for other in step.inside("forward")} - {"", "self"}:
        if any(model.startswith(f"{whole}.") and "(" not in model for model in models):
            return f"it is an average of some of the weights of {whole}"
    if any(starts_filled(model_of(name, module), module) for name in names):
        return "the average does not start as a copy of the weights"
    return ""


def _model(event: Event) -> str:
    return str(content(event.detail.get("of")) or "")


def _is_part(one: str, other: str) -> bool:
    """Whether one of two paths is the other or within it: `slow` and `slow.encoder`."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _own_loop(event: Event) -> set[int]:
    """Return the nodes of the loop over the weights: conditions in it choose among them."""
    if event.loops and event.loops[-1].role == "other":
        return {id(node) for node in walk(event.loops[-1].node)}
    return set()


def _decay(event: Event) -> tuple[Value | None, str]:
    """Return the decay of an average, or why it is not known."""
    unread = "weights are averaged; the decay was not read"
    if "decay" in event.detail:
        return settled(event.detail["decay"]), ""
    node = event.node
    if "by_hand" in event.detail or not isinstance(node, ast.Call):
        return None, unread
    if not isinstance(node.func, ast.Attribute):
        return None, unread
    match evaluate(node.func.value, event.module):
        case Instance(made_by=name, call=Call() as call):
            return _of_class(name, call, unread)
    return None, unread


def _of_class(name: str, call: Call, unread: str) -> tuple[Value | None, str]:
    if last(name) == "AveragedModel" and name.startswith("torch."):
        return _of_averaged_model(call, unread)
    known = _CLASSES.get(name)
    if known is None or call.has_star:
        return None, unread
    given = {keyword.arg: keyword.value for keyword in call.node.keywords}
    for argument, off in known.off.items():
        if argument not in given and argument not in _MOVES_BY_DEFAULT:
            continue
        written = given.get(argument)
        match written is not None and evaluate(written, call.module):
            case Known(value=value) if value == off:
                continue
        return None, f"the decay moves ({argument})"
    decay = given.get("decay")
    if decay is None and len(call.node.args) > known.place:
        decay = call.node.args[known.place]
    if decay is not None:
        return settled(evaluate(decay, call.module)), ""
    return (None, unread) if known.default is None else (_default(known.default), "")


def _of_averaged_model(call: Call, unread: str) -> tuple[Value | None, str]:
    """PyTorch's class averages all updates alike unless it is given a function."""
    bound = call.bound()
    function = bound.get("multi_avg_fn") or bound.get("avg_fn")
    if function is None:
        return None, "all weights since the start are averaged alike (SWA)"
    for here, where in chase(function, call.module):
        if isinstance(here, ast.Lambda):
            decay = decay_of_function(here, where)
            return (None, unread) if decay is None else (evaluate(decay, where), "")
        if isinstance(here, ast.Call) and last(where.resolve(here.func)) in _FACTORIES:
            given = [*here.args[:1], *(k.value for k in here.keywords if k.arg == "decay")]
            if given:
                return settled(evaluate(given[0], where)), ""
            return _default(_TORCH_DEFAULT), ""
    return None, unread


def _default(value: float) -> Known:
    return Known(value, "library_default")
