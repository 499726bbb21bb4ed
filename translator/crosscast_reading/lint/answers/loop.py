"""Predicates on training loops, shared by rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep

_WHOLE = frozenset({"tensorflow", "jax", "paddle_static", "deepspeed", "mmengine", "timm"})
"""Libraries that implement what the rules check, or do so differently."""
_SCALERS = ("GradScaler", "AmpScaler", "ShardedGradScaler")


def eager_steps(subject: Subject) -> Iterator[TrainingStep]:
    """Yield the training loops in which `backward()` accumulates gradients."""
    for step in subject.steps:
        if all(is_eager(event) for event in step.of("backward")):
            yield step


def tape_steps(subject: Subject) -> Iterator[TrainingStep]:
    """Yield the training loops in which tapes of TensorFlow compute the gradients."""
    for step in subject.steps:
        if all(event.library == "tensorflow" for event in step.of("backward")):
            yield step


def window_steps(subject: Subject) -> Iterator[TrainingStep]:
    """Yield the training loops in which gradients accumulate, including inside a scaler's call."""
    for step in subject.steps:
        if all(event.library == "timm" or is_eager(event) for event in step.of("backward")):
            yield step


def is_eager(backward: Event) -> bool:
    """Whether gradients are computed by a call of `backward` that adds them to the parameters."""
    if backward.library in _WHOLE:
        return False
    if "functional" in backward.detail:
        return True  # torch.autograd.grad in addition to the backward pass
    match backward.node:
        case ast.Call(func=ast.Attribute(attr="backward" | "manual_backward") as function):
            # RPC stores gradients in a context that ends with the iteration.
            name = backward.module.resolve(function)
            return not name.startswith("torch.distributed.autograd")
    return False


def backward_of(step: TrainingStep) -> list[Event]:
    """Return the backward passes in the loop that accumulate gradients of parameters."""
    return [event for event in step.inside("backward") if "functional" not in event.detail]


def trained_passes(step: TrainingStep) -> list[Event]:
    """Return the forward passes in and around the loop that gradients are computed of."""
    return [event for event in step.of("forward") if event.context("no_grad") is None]


def own_windows(step: TrainingStep) -> bool:
    """Whether the program itself counts the micro-batches of a window."""
    return step.windowed and step.by_hand and fixed(step.steps) != 1


def place_in_loop(event: Event) -> Span:
    """Return where the file of the innermost loop brings an event about.

    That is the event itself, or the call of the function of another file that it happens in.
    """
    home = event.module.owner_of(event.loops[-1].node) if event.loops else event.module
    if home is event.module:
        return event.span
    inside = [call for call in event.calls if event.module.owner_of(call) is home]
    return home.span(inside[-1]) if inside else event.span


# ---- conditions


def compatible(event: Event, other: Event) -> bool:
    """Whether two events can happen in the same iteration, judged by their conditions."""
    if event.excludes(other):
        return False
    mine = dict(conditions(event))
    return all(mine.get(text, holds) == holds for text, holds in conditions(other))


def unscaled_before(step: TrainingStep, event: Event) -> bool:
    """Whether gradients are unscaled before something that happens in the same round."""
    return any(
        unscale.order < event.order and compatible(unscale, event) for unscale in step.of("unscale")
    )


def implies(event: Event, other: Event, *, windows: bool = False) -> bool:
    """Whether the second event happens in every iteration of the first one.

    Args:
        event: the first event.
        other: the second event.
        windows: ignore the tests that end a window.
    """
    nodes = {id(guard.node): guard.holds for guard in event.guards}
    mine = set(conditions(event))
    for guard in other.guards:
        if windows and guard.window is not None:
            continue
        if nodes.get(id(guard.node)) == guard.holds:
            continue
        if _whole(guard) not in mine and not set(conditions_of(guard)) <= mine:
            return False
    return True


def of_one_window(event: Event, other: Event) -> bool:
    """Whether two events can happen in one window: only the tests that end it set them apart."""
    first, second = (
        replace(each, guards=tuple(guard for guard in each.guards if guard.window is None))
        for each in (event, other)
    )
    return compatible(first, second)


def conditions(event: Event) -> list[tuple[str, bool]]:
    """Return the conditions of an event: text without negations, and the required value."""
    requirements: dict[tuple[str, bool], None] = {}
    for guard in event.guards:
        requirements.update(dict.fromkeys(conditions_of(guard)))
        requirements.setdefault(_whole(guard))
    return list(requirements)


def _whole(guard: Guard) -> tuple[str, bool]:
    """Return a condition as a whole, without splitting it."""
    if isinstance(guard.node, ast.Constant):
        return (guard.text, guard.holds)
    return (ast.unparse(guard.node), guard.holds)


def conditions_of(guard: Guard) -> tuple[tuple[str, bool], ...]:
    """Return the parts of a condition that must all hold: text, and the required value."""
    if isinstance(guard.node, ast.Constant):
        return ((guard.text, guard.holds),)
    return literals(guard.node, guard.holds)


@lru_cache(maxsize=4096)
def literals(node: ast.expr, holds: bool) -> tuple[tuple[str, bool], ...]:
    """Return the texts of the parts of a condition, and whether each holds where it does."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return literals(inner, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
            return tuple(literal for value in values for literal in literals(value, holds))
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[other]):
            if isinstance(other, ast.Constant) and other.value in (None, False):
                return ((ast.unparse(left), not holds),)
            if isinstance(other, ast.Constant) and other.value is True:
                return ((ast.unparse(left), holds),)
            return ((f"{ast.unparse(left)} == {ast.unparse(other)}", holds),)
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[other]):
            equal = ast.Compare(left=left, ops=[ast.Eq()], comparators=[other])
            return literals(equal, not holds)
    return ((ast.unparse(node), holds),)


def asks_settings(node: ast.expr) -> bool:
    """Whether a condition asks settings alone, `args.decay and args.name != "x"`, no counter."""
    owners = {each.value for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Call)]
    return bool(owners) and all(each in owners for each in inside)


# ---- loss scalers

MAY_SWITCH_SCALER = re.compile(
    r"fp16|bf16|\bamp\b|_amp\b|amp_|apex|half|float|mixed|scaler|precision|cuda", re.I
)
"""Words of settings on which it may depend whether there is a loss scale."""


def plain_scaler(event: Event) -> bool:
    """Whether a GradScaler of PyTorch or Paddle is used as documented."""
    if not event.scaler or event.library not in ("", "paddle"):
        return False
    names = scaler_names(event)
    return not names or all(name.split(".")[-1] in _SCALERS for name in names)


def scaler_names(event: Event) -> tuple[str, ...]:
    """Return the possible classes of an event's loss scaler; empty if unknown."""
    scaler = _scaler_expression(event)
    return made_by(event, scaler) if scaler is not None else ()


def _scaler_expression(event: Event) -> ast.expr | None:
    """Return `scaler` of `scaler.step(optimizer)`, `scaler.scale(loss).backward()`."""
    match event.node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Attribute(value=scaler, attr="scale")), attr="backward"
            )
        ):
            return scaler
        case ast.Call(func=ast.Attribute(attr="backward")):
            return None
    return receiver(event)


def uses_scaler(modules: Iterable[Module]) -> bool:
    """Whether a loss scaler is created in some modules."""
    return any(
        name.rpartition(".")[2].endswith(("Scaler", "ScaleOptimizer", "LossScaleManager"))
        for module in modules
        for call in module.calls
        for name in (call.name or call.method,)
    )


def made_by(event: Event, expression: ast.expr) -> tuple[str, ...]:
    """Return the calls that may have created the object of an expression at an event."""
    return tuple(filter(None, event.module.resolve_all(expression)))


def receiver(event: Event) -> ast.expr | None:
    """Return the object of an event's method call: `optimizer` of `optimizer.step()`."""
    match event.node:
        case ast.Call(func=ast.Attribute(value=value)):
            return value
    return None


def known_word(event: Event, name: str) -> object:
    """Return a detail of an event if its value is known; None otherwise."""
    return getattr(event.detail.get(name), "value", None)
