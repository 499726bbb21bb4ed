"""Which overflows are injected into a comparison."""

from __future__ import annotations

from itertools import islice

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast_parity.inside.inject import LAST, Fault
from crosscast_parity.recipes.window_rows import expected_counts

MOST_IN_A_ROW = 6
"""Overflows of a default run; a scale that waits for more of them is lowered by none."""


def choose_faults(recipe: Recipe, wanted: tuple[Fault, ...] | None) -> tuple[Fault, ...]:
    """Return the faults to inject: the requested ones, or some if the loss is scaled.

    These are two in a row, or as many as lower the scale, and a single one.

    Raises:
        DiagnosticError: CC706 if faults were asked for without loss scaling, CC705 if one lies
            outside a window, CC712 if one names no parameter.
    """
    if wanted is None:
        if not recipe.scaling_on:
            return ()
        machine = canonical_plan(recipe).find(UpdateScale)
        row = min(MOST_IN_A_ROW, max(2, machine.hysteresis if machine else 0))
        more = [Fault(3 + n, LAST, ("nan", "inf")[n % 2]) for n in range(row - 1)]
        return (Fault(2, 0, "inf"), *more, Fault(row + 4, LAST, "inf"))
    if wanted and not recipe.scaling_on:
        raise DiagnosticError(
            Diagnostic(
                code="CC706",
                path="loss_scaling.mode",
                message="without loss scaling nothing is checked for inf or nan or skipped",
                hint="leave out --fault, or set loss_scaling.mode: dynamic",
            )
        )
    for fault in wanted:
        most, which = _micro_batches(recipe, fault.window)
        if fault.place(most) is None:
            message = f"fault {fault}: {which} has the micro-batches 0 to {most - 1}"
            raise DiagnosticError(Diagnostic(code="CC705", message=message))
        _refuse_unknown_names(fault, recipe)
    return wanted


def _micro_batches(recipe: Recipe, window: int) -> tuple[int, str]:
    """Return how many a window has, or has at most where the rows are in a file; and its name."""
    if isinstance(recipe.data, SyntheticData):
        counts = expected_counts(recipe, recipe.data.train_rows)
        for n_micro, _ in islice(counts, window, window + 1):
            return n_micro, f"window {window}"
    return recipe.accumulation.steps, "a window"


def _refuse_unknown_names(fault: Fault, recipe: Recipe) -> None:
    if not isinstance(recipe.model, BertModel):
        if fault.of_gradients:
            message = f"fault {fault}: weights of custom models have other names in each framework"
            raise DiagnosticError(Diagnostic(code="CC712", message=message))
        return
    if fault.of_input:
        message = f"fault {fault}: the inputs of BERT are integers, which cannot be {fault.kind}"
        raise DiagnosticError(Diagnostic(code="CC712", message=message))
    if fault.names and not fault.chooses(bert_shapes(recipe.model)):
        raise DiagnosticError(
            Diagnostic(
                code="CC712",
                message=f"fault {fault}: no parameter has such a name",
                hint="names are those of weight files, for example 2:1=inf@classifier.*",
            )
        )
