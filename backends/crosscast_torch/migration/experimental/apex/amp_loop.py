"""Migrates the loop of a program with apex.amp, or says why that is not possible."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Outcome, Refusal
from crosscast_migrate.conditions import as_atom
from crosscast_reading.edits.layout import Draft, every_edit
from crosscast_torch.migration.experimental.apex.amp_values import values_in
from crosscast_torch.migration.experimental.apex.forward import Region, regions_of
from crosscast_torch.migration.experimental.apex.imports import (
    is_of_fp16_utils,
    remove_aliases,
    unused,
)
from crosscast_torch.migration.experimental.apex.loop_rewrite import Loop, write
from crosscast_torch.migration.experimental.apex.notes import notes_of
from crosscast_torch.migration.experimental.apex.preconditions import check_calls
from crosscast_torch.migration.experimental.apex.scaled_steps import steps_of
from crosscast_torch.migration.experimental.apex.scaler_creation import start_of
from crosscast_torch.migration.experimental.apex.scaler_paths import scaler_paths
from crosscast_torch.migration.experimental.apex.separate_loops import parts_of, stops_of
from crosscast_torch.migration.experimental.apex.uses import Stops, Uses, uses_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

_REGISTERS = re.compile(r"amp\.(?:register_)?(?:half|float|promote)_function\b")
"""Calls that apex 0.1 answers only after `amp.initialize`."""


def outcomes(subject: Subject) -> list[Outcome]:
    """Return the change of the loop, or the reasons against it; else what is unused."""
    program = subject.program
    if found := of_loops(subject):
        return found
    floats = [change for module in program.modules if (change := _floats(module))]
    if floats:
        return list(floats)
    idle = [(module, unused(module, subject.beside)) for module in program.modules]
    return [_removal(module, imports) for module, imports in idle if imports]


def of_loops(subject: Subject) -> list[Outcome]:
    """Return the change of a loop, or the reasons against it; empty without apex.amp.

    Of several separate loops, the first that can move; the others follow in later rounds.
    """
    stops = Stops()
    uses = uses_of(subject.program, stops)
    if not uses.calls:
        return []
    _registered_elsewhere(subject, uses, stops)
    parts = parts_of(uses) if not list(values_in(subject.program)) else []
    refused: list[Outcome] = []
    for part in parts:
        found = _of_loop(subject, part.uses, stops_of(part, parts, stops), whole=False)
        if not any(isinstance(outcome, Refusal) for outcome in found):
            return found
        refused += [outcome for outcome in found if outcome not in refused]
    return refused or _of_loop(subject, uses, stops, whole=True)


def _of_loop(subject: Subject, uses: Uses, stops: Stops, *, whole: bool) -> list[Outcome]:
    """Return the change of a loop; `whole` if nothing else of the program uses apex.amp."""
    program = subject.program
    start = start_of(uses, stops, subject.beside)
    if start is None or stops.refusals:
        return list(stops.refusals)
    regions: list[Region] = []
    if not start.off:
        regions = regions_of(uses.sites, subject.steps, start.models, stops)
    steps = steps_of(uses.sites, stops, subject.allowed)
    check_calls(subject, uses, start, steps, stops)
    values = [value for value in values_in(program) if not start.off]
    calls = [site.call for site in uses.sites if not start.off]
    calls += [*uses.of("state_dict"), *uses.of("load_state_dict")]
    nodes: list[tuple[Module, ast.expr]] = [(call.module, call.node) for call in calls]
    nodes += [(value.module, value.node) for value in values if value.kind != "is there"]
    needs = [(module, module.function_of(node), node) for module, node in nodes]
    paths = scaler_paths(program, start, needs, stops)
    if stops.refusals:
        return list(stops.refusals)
    loop = Loop(uses, start, regions, steps, paths, stops, values, whole, subject.allowed)
    drafts = write(loop)
    if stops.refusals:
        return list(stops.refusals)
    return [
        Change(
            span=start.module.span(start.statement),
            message=_message(start.off),
            edits=every_edit(drafts.values()),
            note=" ".join((notes_of(uses, start, steps, subject.steps), *loop.notes)).strip(),
        )
    ]


def _floats(module: Module) -> Change | None:
    """Return the change of `to_python_float(loss)` of apex to `loss.item()`; None without any."""
    draft = Draft(module)
    calls = [
        call.node
        for call in module.calls
        if is_of_fp16_utils(call.node.func, "to_python_float", module)
        and len(call.node.args) == 1
        and not call.node.keywords
    ]
    if not calls:
        return None
    for node in calls:
        draft.replace(node, f"{as_atom(node.args[0], module)}.item()")
    message = "to_python_float of apex becomes the method item of a tensor"
    return Change(span=module.span(calls[0]), message=message, edits=tuple(draft.finish()))


def _registered_elsewhere(subject: Subject, uses: Uses, stops: Stops) -> None:
    """Report functions that another file of the sources registers with apex."""
    own = {module.source.name for module in subject.program.modules}
    starts = uses.of("initialize")
    for source in subject.beside if starts else ():
        found = None if source.name in own else _REGISTERS.search(source.text)
        if found is not None:
            stops.add(
                starts[0].module,
                starts[0].node,
                f"{source.name} calls {found.group()}, which works only with the loop of apex",
                "first replace it there: torch.amp has no lists of functions",
            )


def _removal(module: Module, imports: list[ast.Import | ast.ImportFrom]) -> Change:
    """Return the change that removes unused imports."""
    draft, stops = Draft(module), Stops()
    for statement in imports:
        remove_aliases(draft, statement, statement.names, stops)
    return Change(
        span=module.span(imports[0]),
        message="this import of apex is unused: removed",
        edits=tuple(draft.finish()),
    )


def _message(off: bool) -> str:
    if off:
        return "apex.amp at level O0 has no effect: removed"
    return "apex.amp becomes torch.amp: autocast around forward pass and loss, and a GradScaler"
