"""CL104: the optimizer steps at the wrong micro-batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before
from crosscast_reading.lint.answers.loop import backward_of, window_steps
from crosscast_reading.lint.answers.windows import compared_remainder, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, Guard, Loop, TrainingStep, WindowTest

_FIRST = re.compile(r"^(is_)?first(_(step|batch|iter|iteration|round|micro\w*))?$", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find window tests that are true too early or too late."""
    for step in subject.steps:
        yield from _first_alone(step)
        yield from _inverted(step)
    for step in window_steps(subject):
        yield from shifted_windows(step)


def shifted_windows(step: TrainingStep) -> Iterator[Finding]:
    """Find window tests of a step whose first window has another length."""
    backward = backward_of(step)
    for event, test in end_tests(step):
        if test.aligned is not False or test.never_again or test.opens or test.by_caller:
            continue
        if test.inverted:
            continue
        before = [candidate for candidate in backward if candidate.order < event.order]
        if not before or any(candidate.order > event.order for candidate in backward):
            continue
        yield Finding(
            span=event.module.span(test.node),
            message=f"the first window has {_micro(test.first_length)} instead of "
            f"{test.steps_text}",
            hint=_hint(test),
            related=(event.span,),
            edits=_edits(event, test),
        )


def _inverted(step: TrainingStep) -> Iterator[Finding]:
    """Find remainders that are a condition where their comparison with 0 is meant."""
    for event, test in end_tests(step):
        if test.inverted:
            length = test.steps_text
            yield Finding(
                span=event.module.owner_of(test.node).span(test.node),
                message=f"with {length} above 1 this is true at every micro-batch but one of "
                f"{length}",
                hint=compared_remainder(test),
                related=(event.span,),
            )


def _first_alone(step: TrainingStep) -> Iterator[Finding]:
    """Find window tests that are also true for the first micro-batch."""
    for event in step.inside("step"):
        for guard in event.guards:
            match guard:
                case Guard(node=test, holds=True, window=WindowTest(opens=False)):
                    node, module = _chosen(test, event.module)
                case _:
                    continue
            match node:
                case ast.BoolOp(op=ast.Or(), values=values):
                    first = [value for value in values if _is_first(value, step)]
                case _:
                    continue
            if first and len(first) < len(values):
                yield Finding(
                    span=module.span(node),
                    message=f"the first micro-batch forms its own window ({module.text(first[0])})",
                    hint="step only at the end of a window",
                    related=(event.span,),
                )


def _chosen(node: ast.expr, module: Module) -> tuple[ast.expr, Module]:
    """Return the only condition that a name stands for: `last` of `step(batch, last)`."""
    owner = module.owner_of(node)
    conditions = [place for place in chase(node, owner) if isinstance(place[0], ast.BoolOp)]
    return conditions[0] if isinstance(node, ast.Name) and len(conditions) == 1 else (node, owner)


def _is_first(node: ast.expr, step: TrainingStep) -> bool:
    """Whether a condition is true only for the first micro-batch of a run."""
    match node, step.loop:
        case ast.Name(id=name), _:
            return bool(_FIRST.search(name))
        case _, Loop(counter=""):
            return _counts_from_zero(node, step)
        case _, Loop(counter=counter, start=start):
            return ast.unparse(node) == f"{counter} == {start}"
    return False


def _counts_from_zero(node: ast.expr, step: TrainingStep) -> bool:
    """Whether a condition is `count == 0`, for a variable that the loop adds 1 to."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name) as count, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            pass
        case _:
            return False
    counted = [event for event in step.events if event.kind == "count" and event.subject == name]
    bound = definitions(count, step.module.owner_of(count))
    begun = [b.value for b in bound if b.kind == "assign"]
    return len(counted) == 1 and bool(begun) and all(map(_is_zero, begun))


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _micro(length: str) -> str:
    if not length:
        return "another number of micro-batches"
    return "1 micro-batch" if length == "1" else f"{length} micro-batches"


def _hint(test: WindowTest) -> str:
    if test.first_length == "1" and test.counter.isidentifier():
        return f"count from 1: `({test.counter} + 1) % {test.steps_text} == 0`"
    return "the test must be true after every full window, for the first time after N micro-batches"


def _edits(event: Event, test: WindowTest) -> tuple[Edit, ...]:
    """Add one to the counter of `counter % n == 0`."""
    match test.node:
        case ast.Compare(
            left=ast.BinOp(left=ast.Name(id=name) as counter, op=ast.Mod()),
            ops=[ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=0)],
        ) if test.first_length == "1" and name == test.counter:
            module = event.module
            assert counter.end_lineno is not None
            assert counter.end_col_offset is not None
            end = column_at(module, counter.end_lineno, counter.end_col_offset)
            return (
                insert_before(module, counter, "("),
                insert(module, counter.end_lineno, end, " + 1)"),
            )
    return ()


RULE = Rule("CL104", check, hints=("%", "==", "equal"))
