"""What models that train themselves are told besides the step: weights of classes, phases."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast_migrate.models.installed import model_tables
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_migrate.models.tables import FitMethods
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_WEIGHTS = "loss.class_weights"
_BATCHES = ("batch_size", "shuffle", "drop_last")
"""Arguments that say which rows make a batch."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A call by which a model trains itself."""

    call: Call
    methods: FitMethods

    @property
    def given(self) -> Mapping[str, ast.expr]:
        """The arguments by name."""
        return self.call.bound()

    @property
    def rows(self) -> tuple[ast.expr, ...]:
        """The arguments with the rows of the training."""
        given = self.given
        nodes = (given.get(name) for name in self.methods.rows)
        return tuple(node for node in nodes if node is not None and _is_given(node))

    @property
    def others(self) -> tuple[ast.expr, ...]:
        """The arguments with the rows for evaluation, which may be a pair of arrays."""
        node = self.given.get(self.methods.others)
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(part for part in parts if part is not None and _is_given(part))

    @property
    def refused(self) -> tuple[str, ast.expr] | None:
        """The first argument by which rows are others, or have weights, with its value."""
        for name, node in self.given.items():
            if name in self.methods.refused and _is_given(node):
                return name, node
        return None

    @property
    def text(self) -> str:
        """The rows and their batches, as they are written."""
        nodes = (self.given.get(name) for name in (*self.methods.rows, *_BATCHES))
        return ", ".join(self.call.module.text(node) if node is not None else "" for node in nodes)


def _is_given(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and not node.value)


def fits_of(program: Program) -> Iterator[Fit]:
    """Yield the calls by which models of a program train themselves."""
    yield from (Fit(call, methods) for call, methods in _calls(program, lambda each: each.fits))


def compiled_of(program: Program) -> Iterator[Call]:
    """Yield the calls that give a model of a library its losses."""
    yield from (call for call, _ in _calls(program, lambda each: each.compiles))


def with_class_weights(program: Program, fields: Mapping[str, Filled]) -> dict[str, Filled]:
    """Return fields with the weights of classes that `fit` is given; its loss is a mean of rows."""
    result = dict(fields)
    for call, methods in _calls(program, lambda methods: methods.fits):
        name = methods.class_weights
        node = next((k.value for k in call.node.keywords if k.arg == name), None)
        if not name or node is None or (isinstance(node, ast.Constant) and node.value is None):
            continue
        places = (call.module.span(node),)
        weights = _weights(evaluate(node, call.module))
        kind = fields.get("loss.kind")
        of_classes = kind is not None and kind.value == "cross_entropy" and kind.how != "assumed"
        if weights and of_classes:
            result[_WEIGHTS] = Filled(value=weights, places=places)
            continue
        note = f"{name}={call.module.text(node)[:40]} of the source"
        open_ = _WEIGHTS if of_classes else "loss.kind"
        if open_ in fields:
            result[open_] = replace(fields[open_], how="assumed", places=places, note=note)
    return result


def _weights(value: object) -> list[float]:
    """Return the weights of the classes 0, 1, ...; nothing if they are not known."""
    if not isinstance(value, Known) or not isinstance(value.value, dict):
        return []
    weights = {
        key: part.value if isinstance(part, Known) else part for key, part in value.value.items()
    }
    numbers = [weights.get(place) for place in range(len(weights))]
    if all(isinstance(n, int | float) and n > 0 for n in numbers):
        return [float(n) for n in numbers if isinstance(n, int | float)]
    return []


def with_added_losses(program: Program, fields: Mapping[str, Filled]) -> dict[str, Filled]:
    """Return fields with an open loss where `fit` adds others to it: those of `add_loss`."""
    result, kind = dict(fields), fields.get("loss.kind")
    names = {fit.methods.adds for fit in fits_of(program)} - {""}
    added = [call for call in program.calls() if call.method in names]
    if added and kind is not None:
        places = (added[0].module.span(added[0].node),)
        note = f"{added[0].method} of the source adds to it"
        result["loss.kind"] = replace(kind, how="assumed", places=places, note=note)
    return result


def phases(program: Program) -> list[Diagnostic]:
    """Return a warning if a model is compiled and trained again with other settings."""
    compiled = [call for call, _ in _calls(program, lambda methods: methods.compiles)]
    texts = {(c.receiver_text, c.module.text(c.node)) for c in compiled}
    by_model = [text for text, _ in texts]
    several = [c for c in compiled if by_model.count(c.receiver_text) > 1]
    if not several or len(list(_calls(program, lambda methods: methods.fits))) < 2:
        return []
    last = several[-1]
    return [
        Diagnostic(
            code="CC937",
            severity=Severity.WARNING,
            path="schedule.total_steps",
            span=last.module.span(last.node),
            message=f"{last.receiver_text} is compiled again and trained on; the new script has "
            "only one training, with the first settings",
        )
    ]


def _calls(
    program: Program, method: Callable[[FitMethods], str]
) -> Iterator[tuple[Call, FitMethods]]:
    """Yield the calls of a method of such models, with the methods that they have."""
    all_methods = [tables.fitting for tables in model_tables().values() if tables.fitting]
    for call in program.calls():
        for methods in all_methods:
            package = f"{methods.package}."
            named = any(canonical(name).startswith(package) for name in call.names)
            if call.method == method(methods) and call.receiver is not None and named:
                yield call, methods
