"""Migrates a loop with apex's FP16_Optimizer, or says why that is not possible."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Outcome
from crosscast_reading.edits.layout import every_edit
from crosscast_torch.migration.experimental.apex.forward import regions_of
from crosscast_torch.migration.experimental.apex.loop_rewrite import Loop
from crosscast_torch.migration.experimental.apex.preconditions import check_site, check_unsafe
from crosscast_torch.migration.experimental.apex.scaled_steps import Step, steps_of
from crosscast_torch.migration.experimental.apex.scaler_paths import scaler_paths
from crosscast_torch.migration.experimental.apex.uses import Stops
from crosscast_torch.migration.experimental.apex.wrapped import Wrapped, never_made, wrapped_in
from crosscast_torch.migration.experimental.apex.wrapped_rewrite import write_wrapped

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.sources.subject import Subject


def outcomes(subject: Subject) -> list[Outcome]:
    """Return the change of the loop, or the reasons against it; empty without FP16_Optimizer."""
    program, stops = subject.program, Stops()
    found = wrapped_in(program, stops)
    if found is None:
        return list(stops.refusals) or list(never_made(program))
    if stops.refusals:
        return list(stops.refusals)
    sites, start = found.uses.sites, found.start
    regions = regions_of(sites, subject.steps, (), stops)
    steps = steps_of(sites, stops)
    for site in sites:
        check_site(site, found.uses, start, stops)
    check_unsafe(program, stops)
    _clips(found, steps, stops)
    needs: list[tuple[Module, Function | None, ast.AST]]
    needs = [(site.module, site.function, site.node) for site in sites]
    needs += [(module, module.function_of(node), node) for module, node in found.reads]
    paths = scaler_paths(program, start, needs, stops)
    if stops.refusals:
        return list(stops.refusals)
    drafts = write_wrapped(Loop(found.uses, start, regions, steps, paths, stops), found)
    if stops.refusals:
        return list(stops.refusals)
    return [
        Change(
            span=start.module.span(start.statement),
            message="FP16_Optimizer of apex becomes torch.amp: float32 weights, autocast around "
            "forward pass and loss, and a GradScaler",
            edits=every_edit(drafts.values()),
            note=" ".join(_notes(found)),
        )
    ]


def _clips(found: Wrapped, steps: list[Step], stops: Stops) -> None:
    """Report clips that are not between a backward pass and the step of their optimizer."""
    readers = [reader for step in steps for reader in step.readers]
    for call in found.clips:
        statement = call.module.statement_of(call.node)
        if statement not in readers and not stops.refusals:
            message = "clip_master_grads is not between the backward pass and the step"
            hint = "call it right before the optimizer step, within the same function"
            stops.add(call.module, call.node, message, hint)


def _notes(found: Wrapped) -> Iterator[str]:
    yield (
        "torch.amp.GradScaler needs PyTorch 2.3. The weights are now float32 and are cast when "
        "used: the updates are the same, memory use is higher, saved weights are float32, and "
        "evaluation runs in float32 unless you wrap it in autocast."
    )
    yield (
        "The state of the optimizer has another format and no longer contains the loss scale: "
        "older checkpoints cannot be loaded; save scaler.state_dict() to keep the scale."
    )
    if found.scale.may_be_constant:
        yield (
            "With a constant scale, a gradient that overflows skips the step and halves the scale "
            "permanently; FP16_Optimizer kept the scale."
        )
    if found.scale.may_be_dynamic:
        yield "GradScaler has no lower limit for a dynamic scale; FP16_Optimizer stopped at 1."
    if found.scale.by_release:
        # Read in the history of apex: fp16_utils/loss_scaler.py, then amp/scaler.py.
        yield (
            "A dynamic scale begins with 2**16 and grows after 2000 steps, as in apex since "
            "February 2019, which also stopped it at 2**24. Before that, FP16_Optimizer began with "
            "2**32 and grew after 1000 steps: if the program ran with such a release, give "
            "GradScaler init_scale=2.0**32, growth_interval=1000."
        )
    if any(call.name.rpartition(".")[2] != "convert_network" for call in found.networks):
        yield "The names of saved weights no longer begin with the module that apex put around."
    if found.clips:
        yield "After an overflow, the norm of the gradients is infinite; apex returned -1."
