"""CL101: losses of a window are summed instead of averaged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before
from crosscast_reading.lint.answers.loop import (
    backward_of,
    eager_steps,
    known_word,
    own_windows,
    place_in_loop,
    receiver,
    window_steps,
)
from crosscast_reading.lint.answers.reduction import reduction_of
from crosscast_reading.lint.answers.windows import (
    ACCUMULATES,
    end_tests,
    gradients_changed,
    library_divides,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._branch_means import is_mean_on_a_branch
from crosscast_reading.lint.rules.accumulation._comm_hooks import hook_divisions
from crosscast_reading.lint.rules.accumulation._logged_means import averaged_for_a_message
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import names_in, walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.differentiated import loss_expression
from crosscast_reading.trainstep.events import Event, Loop, TrainingStep
from crosscast_reading.trainstep.frames.loops import counted_to

_DRAW = re.compile(r"^next$|^(get|next|sample|fetch|load)_?(next_|train_)?(micro_?)?batch$", re.I)
"""Functions that return rows that were not used yet."""
_TASKS = re.compile(r"task|domain|view|head|level|scale|client|agent|env|critic|sample", re.I)
"""Names of loops whose rounds are parts of one loss."""
_PROCESSES = re.compile(r"rank|world|distributed|ddp|n_?gpu|nproc", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows in which no loss is divided, if the losses are means."""
    for step in eager_steps(subject):
        yield from _divided_too_late(step)
    for step in window_steps(subject):
        if not own_windows(step) or step.of("divide_loss"):
            continue
        yield from _only_hooks(step)
        if gradients_changed(step) or not _counted(step):
            continue
        backward = backward_of(step)
        if any(_weighted(event) for event in backward) or library_divides(step):
            continue
        length = _length(step)
        end = step.of("step")
        for first in backward[:1] if all(_is_mean(event, step) for event in backward) else ():
            yield Finding(
                span=place_in_loop(first),
                message=f"the gradients of {length or 'a window of'} micro-batches are summed, but "
                "the losses are not divided by their number",
                hint=f"divide before backward: `loss = loss / {length}`" if length else "",
                related=tuple(event.span for event in end[:1]),
                edits=_edits(first, length) if [*map(reduction_of, backward)] == ["mean"] else (),
            )


def _is_mean(backward: Event, step: TrainingStep) -> bool:
    """Whether a loss is a mean, maybe only on one branch of a condition, without a division."""
    reduction = reduction_of(backward)
    if reduction == "unknown":
        return averaged_for_a_message(step, backward) or is_mean_on_a_branch(backward)
    return reduction == "mean"


def _divided_too_late(step: TrainingStep) -> Iterator[Finding]:
    """Find losses that are divided by the length of a window only behind the backward pass."""
    if gradients_changed(step):
        return
    divisions = {id(event.node): event for event in step.of("divide_loss")}
    for event in backward_of(step):
        loss = loss_expression(event)
        before = known_word(event, "divided_at")
        mine = divisions.keys() & set(before if isinstance(before, tuple) else ())
        texts = [str(known_word(divisions[node], "by_text")) for node in mine]
        if not isinstance(loss, ast.Name) or any(ACCUMULATES.search(text) for text in texts):
            continue
        for late, by in _divisions_behind(event, loss):
            if id(late) not in divisions and ACCUMULATES.search(by):
                yield Finding(
                    span=event.span,
                    message=f"{loss.id} is divided by {by} only after its backward pass: the "
                    "gradients are summed",
                    hint="divide before backward",
                    related=(event.module.span(late),),
                )


def _divisions_behind(event: Event, loss: ast.Name) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the divisions of a loss that follow a backward pass in its block, with the divisor."""
    module = event.module
    bindings = {*definitions(loss, module)}
    statement = module.statement_of(event.node)
    around = module.parent(statement) if statement is not None else None
    for block in (getattr(around, "body", ()), getattr(around, "orelse", ())):
        if not isinstance(block, list) or statement not in block:
            continue
        behind = block[block.index(statement) + 1 :]
        for node in (inner for part in behind for inner in (part, *getattr(part, "body", ()))):
            match node:
                case ast.AugAssign(target=ast.Name() as old, op=ast.Div(), value=by):
                    pass
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.BinOp(left=ast.Name() as old, op=ast.Div(), right=by),
                ) if old.id == name:
                    pass
                case _:
                    continue
            if old.id == loss.id and {*definitions(old, module)} <= bindings:
                yield node, module.text(by)


def _counted(step: TrainingStep) -> bool:
    """Whether the loop counts micro-batches, not tasks or views of one batch."""
    if end_tests(step):
        return True
    micro = [[loop for loop in event.loops if loop.role == "micro"] for event in backward_of(step)]
    return all(micro) and all(
        ACCUMULATES.search(loops[-1].over) or _draws_batches(loops[-1], step) for loops in micro
    )


def _weighted(event: Event) -> bool:
    """Whether a factor of the loss may be the share of the micro-batch in its window.

    Weights that are drawn together with what they belong to (`steps, weights = sampler.sample(n)`)
    are of importance sampling, and are 1 on average.
    """
    match known_word(event, "multiplied"):
        case tuple(factors):
            pass
        case unknown:
            return bool(unknown)
    modules = {event.module, *(event.module.owner_of(call) for call in event.calls)}
    drawn = {name for module in modules for name in _drawn(module)}
    return any(factor not in drawn for factor in factors)


def _drawn(module: Module) -> Iterator[str]:
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call() as call):
                if module.call(call).method == "sample":
                    yield from names_in(*names)


def _draws_batches(loop: Loop, step: TrainingStep) -> bool:
    """Whether every round takes other rows: `for _ in range(n): x, y = next(batches)`."""
    module = step.module.owner_of(loop.node)
    counted = "range" in loop.over or counted_to(loop.node) is not None
    if not counted or _TASKS.search(f"{loop.counter} {loop.over}"):
        return False
    calls = [node for part in loop.node.body for node in walk(part) if isinstance(node, ast.Call)]
    return any(_DRAW.search(module.call(call).method) for call in calls)


def _only_hooks(step: TrainingStep) -> Iterator[Finding]:
    """Find divisions by a communication hook that is not always registered."""
    for module, call, length in hook_divisions(step.module.program):
        condition = module.enclosing(call, ast.If)
        while condition is not None and not _PROCESSES.search(module.text(condition.test)):
            condition = module.enclosing(condition, ast.If)
        if condition is not None:
            yield Finding(
                span=module.span(call),
                message=f"only this hook divides by {length}: unless {module.text(condition.test)} "
                "the losses of a window are added up",
                hint="divide the loss instead",
                related=tuple(event.span for event in step.of("backward")[:1]),
            )


def _length(step: TrainingStep) -> str:
    tests = [event.window for event in step.of("step") if event.window is not None]
    return tests[0].steps_text if tests else ""


def _edits(first: Event, length: str) -> tuple[Edit, ...]:
    """Return the edit that divides the loss at backward, if it is a plain variable."""
    loss = loss_expression(first)
    if not isinstance(loss, ast.Name) or not length.isidentifier():
        return ()
    assert loss.end_lineno is not None
    assert loss.end_col_offset is not None
    module = first.module
    end = column_at(module, loss.end_lineno, loss.end_col_offset)
    if receiver(first) is loss:
        return (
            insert_before(module, loss, "("),
            insert(module, loss.end_lineno, end, f" / {length})"),
        )
    return (insert(module, loss.end_lineno, end, f" / {length}"),)


RULE = Rule("CL101", check, hints=("backward", "scaler"))
