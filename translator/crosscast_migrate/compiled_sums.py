"""Sums of losses that a model is compiled with: `compile(loss=[...], loss_weights=[...])`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.changed_values import only_source
from crosscast_migrate.fit_methods import compiled_of
from crosscast_migrate.loss_terms import NOTE, Sum, Term, kind_of_part, number_of
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.readers.python.loss_kinds import loss_of_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Key = int | str
Entries = dict[Key, tuple[ast.expr, "Module"]]


def compiled_sum(program: Program) -> Sum | None:
    """Return the sum of the losses that a model is compiled with, one for each of its outputs."""
    calls = list(compiled_of(program))
    if len(calls) != 1:
        return None
    given, module = calls[0].bound(), calls[0].module
    losses = _entries(given.get("loss"), module)
    weights = _weights(given.get("loss_weights"), module, losses)
    if len(losses) < 2 or weights is None:
        return None
    terms = []
    for place, (key, (node, where)) in enumerate(losses.items()):
        kind = kind_of_part(loss_of_value(evaluate(node, where), node, where))
        if not kind:
            return None
        terms.append(Term(kind=kind, weight=weights[key], output=key, labels=place, columns=True))
    place_of = Filled(
        value="custom", how="derived", places=(module.span(given["loss"]),), note=NOTE
    )
    names = tuple(key for key in losses if isinstance(key, str))
    return Sum(terms=tuple(terms), place=place_of, labels=names, by_name=bool(names))


def _weights(node: ast.expr | None, module: Module, losses: Entries) -> Mapping[Key, float] | None:
    """Return the weights of losses; None where they are not certain."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return dict.fromkeys(losses, 1.0)
    weights = {key: number_of(*place) for key, place in _entries(node, module).items()}
    numbers = {key: number for key, number in weights.items() if number is not None}
    return numbers if numbers.keys() == losses.keys() else None


def _entries(node: ast.expr | None, module: Module) -> Entries:
    """Return the entries of a list or a dictionary; nothing for anything else."""
    source = only_source(node, module) if node is not None else None
    if source is not None:
        expression, where = source
        match expression:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return {place: (part, where) for place, part in enumerate(parts)}
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                entries: Entries = {
                    key.value: (value, where)
                    for key, value in pairs
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                }
                return entries if len(entries) == len(values) else {}
    return {}
