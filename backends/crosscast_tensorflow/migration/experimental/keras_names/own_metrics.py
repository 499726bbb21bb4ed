"""The weights of own metrics and layers, whose arguments Keras 3 has under other names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

AGGREGATIONS = {
    "NONE": "none",
    "SUM": "sum",
    "MEAN": "mean",
    "ONLY_FIRST_REPLICA": "only_first_replica",
}
"""`tf.VariableAggregation`, and what `add_variable` of a Keras 3 metric takes."""
POSITIONAL = ("name", "shape", "aggregation", "synchronization", "initializer", "dtype")
"""The parameters of `add_weight` of a Keras 2 metric; in Keras 3 the first one is the shape."""
LAYER = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")
"""The parameters of `add_weight` of a Keras 2 layer; in Keras 3 they are passed by name."""
_BASE = "keras.metrics."
_LAYERS = ("keras.layers.", "keras.Model", "keras.models.Model", "keras.Sequential")
_IN_LAYERS = frozenset({*LAYER, "autocast", "aggregation"})
_UNUSED = ("use_resource", "synchronization", "partitioner", "collections")
_READ = "tensorflow.VariableSynchronization.ON_READ"
_LAYER_LINE = "write self.add_weight(name=..., shape=..., initializer=...) with names alone"
_KEPT = frozenset({"name", "shape", "initializer", "dtype"})
_LINE = 'write self.add_variable(shape=(), name=..., initializer=..., aggregation="sum")'


def metric_weights(module: Module, program: Program, out: Outcomes) -> None:
    """Give the weights of metrics the names of Keras 3: `aggregation` is of `add_variable`."""
    for call in _calls(module, program):
        given = {word.arg: word.value for word in call.keywords}
        places = dict(zip(POSITIONAL, call.args, strict=False))
        if set(given) <= _KEPT and not places:
            continue
        edits = _edits(module, call, given, places)
        if edits is None:
            out.refuse(module, call, "a weight of a metric has other arguments in Keras 3", _LINE)
        else:
            out.edits += edits


def _calls(
    module: Module, program: Program, bases: tuple[str, ...] = (_BASE,)
) -> Iterator[ast.Call]:
    """Yield the calls of `self.add_weight` in metrics, or in other classes of Keras."""
    for node in module.every(ast.Call):
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr="add_weight"):
                owner = module.class_of(node)
                scope = module.scopes.get(owner) if owner is not None else None
                if scope is None or module.is_dead(node):
                    continue
                if canonical(program.library_base(scope)).startswith(
                    bases
                ) and not program.has_attribute(scope, "add_weight"):
                    yield node


def layer_weights(module: Module, program: Program, out: Outcomes) -> None:
    """Pass the arguments of the weights of layers by name, without those that Keras 3 lacks."""
    for call in _calls(module, program, _LAYERS):
        given = {word.arg: word.value for word in call.keywords}
        if not call.args and set(given) <= _IN_LAYERS - {"aggregation"}:
            continue
        edits = _layer_edits(module, call, given)
        if edits is None:
            hint = _LAYER_LINE
            out.refuse(module, call, "add_weight of a layer has other arguments in Keras 3", hint)
        else:
            out.edits += edits


def _layer_edits(
    module: Module, call: ast.Call, given: dict[str | None, ast.expr]
) -> list[Edit] | None:
    """Return the edits of one call; None if an argument is not known."""
    if len(call.args) > len(LAYER) or any(isinstance(node, ast.Starred) for node in call.args):
        return None
    if not set(given) <= {*_IN_LAYERS, *_UNUSED}:
        return None
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Tuple | ast.List):
        return []  # written for Keras 3
    unused = [node for name, node in given.items() if name in _UNUSED]
    if any(canonical(module.resolve(node)) == _READ for node in unused):
        return None
    edits = [
        insert_before(module, node, f"{name}=")
        for name, node in zip(LAYER, call.args, strict=False)
    ]
    aggregation = given.get("aggregation")
    if aggregation is not None and not isinstance(aggregation, ast.Constant):
        path = canonical(module.resolve(aggregation))
        word = AGGREGATIONS.get(path.removeprefix("tensorflow.VariableAggregation."))
        if word is None:
            return None
        edits.append(replace_node(module, aggregation, f'"{word}"'))
    return [*edits, *(argument_edits(module, call, unused) if unused else [])]


def _edits(
    module: Module, call: ast.Call, given: dict[str | None, ast.expr], places: dict[str, ast.expr]
) -> list[Edit] | None:
    """Return the edits of one call; None if an argument is not known."""
    known = set(given) | set(places)
    if None in known or any(isinstance(node, ast.Starred) for node in call.args):
        return None
    if len(call.args) > len(POSITIONAL) or not known <= {*_KEPT, "aggregation"}:
        return None
    before = {node: f"{name}=" for name, node in places.items()}
    edits: list[Edit] = []
    aggregation = given.get("aggregation", places.get("aggregation"))
    if aggregation is not None:
        path = canonical(module.resolve(aggregation))
        word = AGGREGATIONS.get(path.removeprefix("tensorflow.VariableAggregation."))
        if word is None or "initializer" not in known:
            return None
        assert isinstance(call.func, ast.Attribute)
        name = f"{raw(module, call.func.value)}.add_variable"
        text = f'{before.pop(aggregation, "")}"{word}"'
        edits = [replace_node(module, call.func, name), replace_node(module, aggregation, text)]
        if "shape" not in known:
            last = (*call.args, *(word.value for word in call.keywords))[-1]
            assert last.end_lineno is not None
            assert last.end_col_offset is not None
            column = column_at(module, last.end_lineno, last.end_col_offset)
            edits.append(insert(module, last.end_lineno, column, ", shape=()"))
    return [*edits, *(insert_before(module, node, text) for node, text in before.items())]
