"""What the steps of a source do that those of a recipe do not: told as warnings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_migrate.models.installed import scripts
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.readers.python.loss_kinds import kind_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event, TrainingStep

_WRAPPED = frozenset({"module", "_layers"})
"""Attributes by which a parallel model gives the model in it."""
_BY = "accumulation.normalize_by"


def other_steps(program: Program, steps: Sequence[TrainingStep]) -> list[Diagnostic]:
    """Return a warning for everything that a step does and a recipe cannot say.

    Args:
        program: the source.
        steps: its training steps.
    """
    models = {
        event.module.text(event.node.func)
        for step in steps
        for event in step.of("forward")
        if isinstance(event.node, ast.Call)
    }
    warnings = [
        *_partly_trained(program, models),
        *_filtered(program),
        *_evaluating(program, steps, models),
        *_left_out(steps),
    ]
    return [
        Diagnostic(code="CC938", severity=Severity.WARNING, span=span, message=message)
        for span, message in dict(warnings).items()
    ]


def _partly_trained(program: Program, models: set[str]) -> Iterator[tuple[Span, str]]:
    """Yield optimizers that get the parameters of a part of the model alone."""
    packages = tuple(f"{script.optimizers}." for script in scripts() if script.optimizers)
    for call in program.calls():
        if not any(canonical(name).startswith(packages) for name in call.names):
            continue
        bound = call.bound()
        given = bound.get("params") or bound.get("parameters")
        if given is None:
            continue
        match given:
            case ast.Call(func=ast.Attribute(attr="parameters", value=ast.Attribute() as part)):
                if _is_part(part, call.module, models):
                    text = call.module.text(part)
                    message = f"the source trains {text} alone; the new script trains every weight"
                    yield call.module.span(given), message


def _filtered(program: Program) -> Iterator[tuple[Span, str]]:
    """Yield the filters that not every weight passes."""
    rows = {name: row for script in scripts() for name, row in script.filters.items()}
    for call in program.calls():
        place, word, every = rows.get(canonical(call.name), (0, "", ""))
        named = (k.value for k in call.node.keywords if k.arg == word)
        chosen = next(named, call.node.args[place] if place < len(call.node.args) else None)
        if word and chosen is not None and canonical(call.module.resolve(chosen)) != every:
            text = call.module.text(chosen)[:60]
            message = f"the source trains what {text} selects; the new script trains every weight"
            yield call.module.span(chosen), message


def _is_part(node: ast.Attribute, module: Module, models: set[str]) -> bool:
    """Whether an expression is a layer in the model: `model.head`, and not `self.model`."""
    owner = module.text(node.value)
    return owner in models and node.attr not in _WRAPPED


def _evaluating(
    program: Program, steps: Sequence[TrainingStep], models: set[str]
) -> Iterator[tuple[Span, str]]:
    """Yield where layers are put into evaluation mode, or the model before it is trained."""
    for call in program.calls():
        receiver = call.receiver
        if call.method != "eval" or receiver is None:
            continue
        text = call.module.text(receiver)
        where = call.module.span(call.node)
        if isinstance(receiver, ast.Attribute) and _is_part(receiver, call.module, models):
            yield where, f"{text} is in evaluation mode; the new script trains in training mode"
        elif text in models and any(_is_before(call.node, call.module, step) for step in steps):
            yield where, f"{text} is trained in evaluation mode; the new script's in training mode"


def _is_before(node: ast.Call, module: Module, step: TrainingStep) -> bool:
    """Whether a statement stands before the model's call in the block of a training step."""
    for event in step.of("forward"):
        if event.module is not module:
            continue
        block = _block_of(node, module)
        lines = [statement.lineno for statement in block]
        inside = bool(block) and lines[0] <= event.span.line <= (block[-1].end_lineno or 0)
        if inside and node.lineno < event.span.line and _in_loop_of(node, event, module):
            between = range(node.lineno + 1, event.span.line)
            return not any(
                isinstance(other, ast.Call)
                and isinstance(other.func, ast.Attribute)
                and other.func.attr == "train"
                and other.lineno in between
                for other in module.every(ast.Call)
            )
    return False


def _in_loop_of(node: ast.Call, event: Event, module: Module) -> bool:
    loop = module.enclosing(node, ast.For, ast.While)
    return loop is not None and any(loop is each.node for each in event.loops)


def _block_of(node: ast.Call, module: Module) -> list[ast.stmt]:
    """Return the statements among which a call stands."""
    statement = module.statement_of(node)
    parent = module.parent(statement) if statement is not None else None
    blocks = (getattr(parent, name, []) for name in ("body", "orelse", "finalbody"))
    return next((b for b in blocks if isinstance(b, list) and statement in b), [])


def _left_out(steps: Sequence[TrainingStep]) -> Iterator[tuple[Span, str]]:
    """Yield where a step leaves a batch before its backward pass."""
    for step in steps:
        backward = [event.span.line for event in step.of("backward")]
        for event in step.events:
            first = bool(backward) and event.span.line < min(backward)
            if event.kind == "leave" and first and isinstance(event.node, ast.Continue):
                message = "the source leaves out some batches; the new script trains on all of them"
                yield event.span, message


def with_sums(program: Program, fields: Mapping[str, Filled]) -> dict[str, Filled]:
    """Return fields without a mean of which the source has the sum: `reduction="sum"`."""
    result = dict(fields)
    by = fields.get(_BY)
    for call in program.calls():
        summed = call.argument("reduction")
        is_loss = any(kind_of(canonical(name)) for name in call.names)
        is_sum = isinstance(summed, Known) and summed.value == "sum"
        if is_loss and is_sum and by is not None and by.note == "the mean of a batch":
            places = (call.module.span(call.node),)
            note = "the source differentiates the sum of a batch"
            result[_BY] = replace(by, how="assumed", places=places, note=note)
    return result
