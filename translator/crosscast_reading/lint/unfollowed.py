"""What lint could not follow in a program: where a mistake may be that no rule can see."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_reading.lint.engine import UNFOLLOWED
from crosscast_reading.pysource.libraries.packages import TRAINING, package_of_name
from crosscast_reading.pysource.libraries.public_names import STANDARD
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.windows import windows_of
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name
from crosscast_reading.trainstep.windows.validity import LIBRARY_KEYS

_KNOWN = STANDARD | frozenset(dir(builtins)) | {"numpy", "tqdm"}
_SHOWN = 5
"""Most places named for one file."""
Place = tuple[Span, str]


def unfollowed(subject: Subject) -> Iterator[Diagnostic]:
    """Yield a note for each file with something that could not be followed."""
    spans: dict[str, dict[str, Span]] = {}
    for step in subject.steps:
        for span, what in _places(step):
            spans.setdefault(span.file, {}).setdefault(what, span)
    for parts in spans.values():
        ordered = sorted(parts.items(), key=lambda part: (part[1].line, part[1].column))
        shown = [f"{what} (line {span.line})" for what, span in ordered[:_SHOWN]]
        more = len(ordered) - len(shown)
        yield Diagnostic(
            code=UNFOLLOWED,
            severity=Severity.NOTE,
            span=ordered[0][1],
            message="not followed: " + "; ".join(shown) + (f"; {more} more" if more else ""),
            hint="name the files that define it, too; rules that depend on it find nothing here",
        )


def _places(step: TrainingStep) -> Iterator[Place]:
    yield from _windows(step)
    yield from _losses(step)
    yield from _calls(step)


def _windows(step: TrainingStep) -> Iterator[Place]:
    """Yield the tests of which it is not known when they are true."""
    for event, test in windows_of(step):
        span = event.module.span(test.node)
        if test.by_caller:
            yield span, f"the caller of this function decides with {event.module.text(test.node)}"
        elif test.aligned is None and test.key not in LIBRARY_KEYS and not test.never_again:
            yield span, f"when {event.module.text(test.node)} is true"


def _losses(step: TrainingStep) -> Iterator[Place]:
    """Yield the losses of windows of which neither division nor reduction is known."""
    from crosscast_reading.lint.answers.loop import backward_of, own_windows
    from crosscast_reading.lint.answers.reduction import reduction_of
    from crosscast_reading.trainstep.answers.differentiated import loss_expression

    if not own_windows(step) or step.of("divide_loss"):
        return
    for event in backward_of(step):
        loss = loss_expression(event)
        if loss is not None and reduction_of(event) == "unknown":
            text = event.module.text(loss)
            yield event.span, f"whether {text} is a mean"


def _calls(step: TrainingStep) -> Iterator[Place]:
    """Yield the calls of other files in the loop that are given an optimizer or a scaler."""
    if step.loop is None:
        return
    module = step.module.owner_of(step.loop.node)
    program = module.program
    for node in walk(step.loop.node):
        if not isinstance(node, ast.Call):
            continue
        given = [last_name(value) for value in (*node.args, *(k.value for k in node.keywords))]
        if not any(kind_by_name(word) in ("optimizer", "scaler") for word in given):
            continue
        call = module.call(node)
        if program.function(call) is None and _is_of_other_file(call.name, node.func):
            yield module.span(node), f"what {module.text(node.func)} does"


def _is_of_other_file(name: str, function: ast.expr) -> bool:
    """Whether a function is neither of a library that is known here nor a method of an object."""
    if not name:
        return isinstance(function, ast.Name)
    package = package_of_name(name)
    return ":" not in name and package not in _KNOWN and package not in TRAINING
