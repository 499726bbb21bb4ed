"""Determines the framework that trains if a program imports several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.libraries.packages import (
    TABLE,
    TRAINING,
    framework_of_name,
    packages_of,
)
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.program import Program

NAME = "frameworks"
_KNOWN: WeakKeyDictionary[Program, str] = WeakKeyDictionary()
_STEPS = {row.name: row.steps for row in TABLE if row.steps}
_OF_PADDLE = frozenset({"clear_grad", "clear_gradients"})
_RETIRED = {"mxnet": "MXNet"}


class FrameworkReader:
    """Weighs what a program imports and calls."""

    name = NAME
    hints = (*sorted(TRAINING - packages_of("pytorch") - packages_of("")), *sorted(_OF_PADDLE))

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the framework, except PyTorch, which has its own readers."""
        main_framework = weigh(program)
        if not main_framework:
            return
        framework, span = main_framework
        if framework != "pytorch" and framework not in _RETIRED:
            yield fact_of("framework", Known(framework, "presence"), span, reader=NAME)
        if framework == "tensorflow":
            yield from _of_tensorflow_1(program)


def _of_tensorflow_1(program: Program) -> Iterator[Fact]:
    """Yield that no default of TensorFlow 2 holds for TF32, if the program needs TensorFlow 1."""
    for name, call in calls_of(program):
        if name.startswith("tensorflow.contrib."):
            reason = "TensorFlow 1 has no TF32, builds of others have"
            span = call.module.span(call.node)
            yield unknown("precision.tf32", reason, span, reader=NAME)
            return


def framework_of(program: Program) -> str:
    """Return the framework that a program trains with; empty if it uses none."""
    known = _KNOWN.get(program)
    if known is None:
        main_framework = weigh(program)
        known = _KNOWN[program] = main_framework[0] if main_framework else ""
    return known


def retired(program: Program) -> Diagnostic | None:
    """Return the note (CC913) about a discontinued framework, if the program trains with it."""
    main_framework = weigh(program)
    if main_framework is None or main_framework[0] not in _RETIRED:
        return None
    framework, span = main_framework
    name = _RETIRED[framework]
    return Diagnostic(
        code="CC913",
        severity=Severity.NOTE,
        message=f"this trains with {name}, a retired framework: its training is not read",
        span=span,
        hint=f"docs/reference/lifting.md says what the calls of {name} mean in a recipe",
    )


def weigh(program: Program) -> tuple[str, Span] | None:
    """Return the framework that most of the training is written for, and a place that shows it."""
    weights: Counter[str] = Counter()
    first: dict[str, Span] = {}
    for name, call in calls_of(program):
        framework = framework_of_name(name)
        if framework not in _STEPS or ":" in name:
            continue
        first.setdefault(framework, call.module.span(call.node))
        step = any(word in name for word in _STEPS[framework])
        weights[framework] += 12 if step else 1
    for module in program.modules:
        for name in module.imports.values():
            framework = framework_of_name(name)
            if framework in _STEPS:
                weights[framework] += 1
                first.setdefault(framework, module.span(module.tree))
    if not weights:
        return _by_methods(program)
    best = weights.most_common(1)[0][0]
    return best, first[best]


def _by_methods(program: Program) -> tuple[str, Span] | None:
    """Return Paddle for steps whose optimizers clear gradients as only its optimizers do."""
    calls = list(program.calls())
    if not any(call.method == "backward" for call in calls):
        return None
    for call in calls:
        owner = call.receiver if call.method in _OF_PADDLE else None
        if owner is not None and kind_by_name(last_name(owner)) == "optimizer":
            return "paddle", call.module.span(call.node)
    return None


READER = FrameworkReader()
