"""Models that their library trains, with `fit`, and the callbacks that may change training."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.libraries.packages import framework_of_name
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import canonical

_FITS = frozenset({"fit", "fit_generator", "train_on_batch"})
_HARMLESS = frozenset(
    {
        *("ModelCheckpoint", "EarlyStopping", "TensorBoard", "CSVLogger", "TerminateOnNaN"),
        *("ProgbarLogger", "History", "RemoteMonitor", "BackupAndRestore", "BaseLogger"),
        *("TqdmCallback", "WandbCallback", "WandbMetricsLogger", "WandbModelCheckpoint"),
        *("VisualDL",),
        *("BroadcastGlobalVariablesCallback", "MetricAverageCallback"),
    }
)
"""Callbacks that only watch."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A call with which a library trains a model."""

    place: Span
    callbacks: str = ""
    """The first of its callbacks that may change training, as text."""
    at_callbacks: Span | None = None
    cuts: Span | None = None
    """Where a data set may leave out its last rows: `batch(n, drop_remainder=True)`."""


def fit_of(program: Program) -> Fit | None:
    """Return the first call that trains a model in a loop of its library; None without one."""
    for call in program.calls():
        if any(has_role(canonical(name), "fits") for name in call.names):
            return _fit(call)
    modules = [module for module in program.modules if _has_keras(module)]
    calls = [call for module in modules for call in module.calls]
    if not any(call.method == "compile" and _has_optimizer(call) for call in calls):
        return None
    for call in calls:
        if call.method in _FITS and call.receiver is not None and program.function(call) is None:
            return _fit(call, _cut(calls))
    return None


def _fit(call: Call, cuts: Span | None = None) -> Fit:
    text, at = next(_unknown_callbacks(call), ("", None))
    return Fit(call.module.span(call.node), text, at, cuts)


def _cut(calls: Sequence[Call]) -> Span | None:
    for call in calls:
        if any(keyword.arg == "drop_remainder" for keyword in call.node.keywords):
            return call.module.span(call.node)
    return None


def _has_keras(module: Module) -> bool:
    return any(framework_of_name(name) == "tensorflow" for name in module.imported)


def _has_optimizer(call: Call) -> bool:
    named = {keyword.arg for keyword in call.node.keywords}
    return call.receiver is not None and bool(call.node.args or named & {"optimizer", "loss"})


def _unknown_callbacks(call: Call) -> Iterator[tuple[str, Span]]:
    """Yield text and place of callbacks that may do more than watch."""
    given = [keyword.value for keyword in call.node.keywords if keyword.arg == "callbacks"]
    for node in given:
        elements: list[tuple[ast.expr, Module]] = []
        for here, where in chase(node, call.module):
            if isinstance(here, ast.List | ast.Tuple):
                elements += [(element, where) for element in here.elts]
        if not elements and not (isinstance(node, ast.List | ast.Constant)):
            yield call.module.text(node), call.module.span(node)
        for element, where in elements:
            made = [here for here, _ in chase(element, where) if isinstance(here, ast.Call)]
            names = {where.resolve(each.func) or where.text(each.func) for each in made}
            if not names or any(name.rpartition(".")[2] not in _HARMLESS for name in names):
                yield where.text(element), where.span(element)
