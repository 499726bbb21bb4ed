"""Migrates the loop of a program with apex.amp, or says why that is not possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Outcome
from crosscast_reading.edits.layout import every_edit
from crosscast_torch.migration.experimental.apex.forward import Region, regions_of
from crosscast_torch.migration.experimental.apex.left_imports import beside_loops
from crosscast_torch.migration.experimental.apex.loop_rewrite import Loop, write
from crosscast_torch.migration.experimental.apex.notes import notes_of
from crosscast_torch.migration.experimental.apex.places import check_registered_elsewhere
from crosscast_torch.migration.experimental.apex.preconditions import check_calls
from crosscast_torch.migration.experimental.apex.scaled_steps import steps_of
from crosscast_torch.migration.experimental.apex.scaler_creation import start_of
from crosscast_torch.migration.experimental.apex.scaler_paths import scaler_paths
from crosscast_torch.migration.experimental.apex.uses import Stops, uses_of

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject


def outcomes(subject: Subject) -> list[Outcome]:
    """Return the change of the loop, or the reasons against it; else what is left of apex."""
    return of_loops(subject) or list(beside_loops(subject))


def of_loops(subject: Subject) -> list[Outcome]:
    """Return the change of the loop, or the reasons against it; empty without apex.amp."""
    program, stops = subject.program, Stops()
    uses = uses_of(program, stops)
    if not uses.calls:
        return []
    check_registered_elsewhere(subject, uses, stops)
    start = start_of(uses, stops, subject.beside)
    if start is None or stops.refusals:
        return list(stops.refusals)
    regions: list[Region] = []
    if not start.off:
        regions = regions_of(uses.sites, subject.steps, start.models, stops)
    steps = steps_of(uses.sites, stops)
    check_calls(subject, uses, start, steps, stops)
    calls = [site.call for site in uses.sites if not start.off]
    calls += [*uses.of("state_dict"), *uses.of("load_state_dict")]
    needs = [(call.module, call.module.function_of(call.node), call.node) for call in calls]
    paths = scaler_paths(program, start, needs, stops)
    if stops.refusals:
        return list(stops.refusals)
    drafts = write(Loop(uses, start, regions, steps, paths, stops))
    if stops.refusals:
        return list(stops.refusals)
    return [
        Change(
            span=start.module.span(start.statement),
            message=_message(start.off),
            edits=every_edit(drafts.values()),
            note=notes_of(uses, start, subject.steps),
        )
    ]


def _message(off: bool) -> str:
    if off:
        return "apex.amp at level O0 has no effect: removed"
    return "apex.amp becomes torch.amp: autocast around forward pass and loss, and a GradScaler"
