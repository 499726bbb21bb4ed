"""Explain why a recipe does not fit into the limit, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.fit.devices import DEVICES
from crosscast.fit.memory_sizes import show_bytes
from crosscast.fit.solver import Outcome, Request, Variant
from crosscast.memory.records import Estimate
from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.document import BertModel, Recipe


def not_native(recipe: Recipe, request: Request) -> Diagnostic | None:
    """Return the error for a recipe in a half type that the device does not have: CC468."""
    if not recipe.half or recipe.half in request.native or request.precision:
        return None
    assert request.device is not None  # without a device every type is allowed
    return Diagnostic(
        code="CC468",
        path="precision.compute_dtype",
        message=f"{request.device.name} does not support {recipe.half}",
        hint=f"try --allow precision, which uses {', '.join(request.device.half_types)} and "
        "changes the numerical results",
    )


def cannot_fit(outcome: Outcome, request: Request, *, with_precision: bool) -> Diagnostic:
    """Return the error for an outcome without an answer: CC460.

    `with_precision`: whether there is an answer with another precision.
    """
    least = outcome.smallest or outcome.now
    hints = list(_helps(least, request, with_precision=with_precision))
    return Diagnostic(
        code="CC460",
        message=f"{outcome.target}: cannot fit, because {because(least, outcome.limit)}",
        hint="; ".join(hints),
    )


def because(least: Variant, limit: int) -> str:
    """Return the part that exceeds the limit in the variant that needs least memory, in words."""
    estimate = least.estimate
    alone = [component for component in estimate.components if component.bytes > limit]
    room = f"the limit of {show_bytes(limit)}"
    if alone:
        parts = ", ".join(
            f"{component.name} ({show_bytes(component.bytes)})" for component in alone
        )
        return f"{parts} alone {'exceeds' if len(alone) == 1 else 'exceed'} {room}"
    how = _described(least)
    if estimate.fixed_bytes > limit:
        return (
            f"the memory held between windows alone is {show_bytes(estimate.fixed_bytes)}, "
            f"more than {room}, for any split"
        )
    return (
        f"{how} still need {show_bytes(estimate.total)}: {_largest(estimate)}; {room} is exceeded"
        f" by {show_bytes(estimate.total - limit)}"
    )


def _described(variant: Variant) -> str:
    candidate = variant.candidate
    checkpointing = " and activation checkpointing" if candidate.checkpointing else ""
    return f"micro-batches of {candidate.micro_batch_size}{checkpointing}"


def _largest(estimate: Estimate) -> str:
    largest = sorted(estimate.components, key=lambda component: -component.bytes)[:3]
    parts = [f"{component.name} {show_bytes(component.bytes)}" for component in largest]
    return ", ".join([*parts, f"margin {show_bytes(estimate.margin_bytes)}"])


def _helps(least: Variant, request: Request, *, with_precision: bool) -> Iterator[str]:
    recipe = least.recipe
    if with_precision:
        yield "it fits with --allow precision, which changes the numerical results"
    larger = [device for device in DEVICES if device.usable_bytes >= least.estimate.total]
    if larger:
        smallest = min(larger, key=lambda device: device.usable_bytes)
        yield f"it would fit on a {smallest.name} ({show_bytes(smallest.usable_bytes)} usable)"
    if not isinstance(recipe.model, BertModel) and not recipe.activation_checkpointing:
        yield "implement activation checkpointing in your model"
    if least.estimate.fixed_bytes > request.limit // 2:
        yield "use a smaller model or an optimizer with fewer moments, which changes the training"
        yield (
            "sharding weights over devices (ZeRO, FSDP) would help as well, but crosscast does "
            "not support it"
        )
    else:
        bert = isinstance(recipe.model, BertModel)
        rows = "a shorter data.sequence_length" if bert else "shorter rows"
        yield f"use {rows} or a smaller model, which changes the training"
