"""Which overflows are injected into a comparison."""

from __future__ import annotations

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import Recipe
from crosscast_parity.inside.inject import Fault
from crosscast_parity.recipes.derived import bert_of


def choose_faults(recipe: Recipe, wanted: tuple[Fault, ...] | None) -> tuple[Fault, ...]:
    """Return the faults to inject: the requested ones, or three if the loss is scaled.

    Raises:
        DiagnosticError: CC706 if faults were asked for without loss scaling, CC705 if one lies
            outside a window, CC712 if one names no parameter.
    """
    last = recipe.accumulation.steps - 1
    if wanted is None:
        if not recipe.scaling_on:
            return ()
        return (Fault(2, 0, "inf"), Fault(3, last, "nan"), Fault(6, last, "inf"))
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
        if fault.micro > last:
            message = f"fault {fault}: a window has the micro-batches 0 to {last}"
            raise DiagnosticError(Diagnostic(code="CC705", message=message))
        _refuse_unknown_names(fault, recipe)
    return wanted


def _refuse_unknown_names(fault: Fault, recipe: Recipe) -> None:
    if fault.of_input:
        message = f"fault {fault}: the inputs of BERT are integers, which cannot be {fault.kind}"
        raise DiagnosticError(Diagnostic(code="CC712", message=message))
    if fault.names and not fault.chooses(bert_shapes(bert_of(recipe))):
        raise DiagnosticError(
            Diagnostic(
                code="CC712",
                message=f"fault {fault}: no parameter has such a name",
                hint="names are those of weight files, for example 2:1=inf@classifier.*",
            )
        )
