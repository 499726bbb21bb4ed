"""Attributes and methods of models, layers, weights and optimizers that Keras 3 does not have."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import NAMED, TEXTS
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.arguments import is_optimizer
from crosscast_tensorflow.migration.experimental.keras_names.layers_of import is_layer, is_weight
from crosscast_tensorflow.migration.experimental.keras_names.receivers import is_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


@dataclass(frozen=True, slots=True)
class Removed:
    """An attribute that is gone."""

    owner: Literal["model", "layer", "optimizer", "weight"]
    name: str
    hint: str
    new: str = ""
    """What to write instead of the attribute; empty: a person must decide."""
    called: bool = False
    """Whether a call of it, with its arguments, is replaced as a whole."""


_ARTICLES = {
    "model": "a model",
    "layer": "a layer",
    "optimizer": "an optimizer",
    "weight": "a weight",
}
_NODES = "write layer.output, and layer.input, of a model that calls the layer once"
_UPDATES = "assign to the weights in call: Keras 3 has no list of updates"
_NAMED_METRICS = (
    "write evaluate(..., return_dict=True), or list(model.get_metrics_result()) after it"
)
_SLOTS = "read optimizer.variables"
_TAPE = "compute the gradients with a tf.GradientTape, and call apply_gradients"
REMOVED = (
    Removed("layer", "output_shape", "", "output.shape"),
    Removed("layer", "input_shape", "", "input.shape"),
    *(
        Removed("layer", f"get_{what}_at", _NODES)
        for what in ("input", "input_mask", "input_shape", "output", "output_mask", "output_shape")
    ),
    *(
        Removed(owner, name, _NODES)
        for owner in ("layer", "model")
        for name in ("inbound_nodes", "outbound_nodes")
    ),
    *(
        Removed(owner, name, _UPDATES)
        for owner in ("layer", "model")
        for name in ("updates", "add_update", "get_updates_for")
    ),
    Removed("layer", "get_losses_for", "read layer.losses"),
    Removed("layer", "stateful", "keep what you passed to the layer"),
    Removed("layer", "dynamic", "compile with run_eagerly=True"),
    Removed("model", "metrics_names", _NAMED_METRICS),
    Removed("model", "state_updates", _UPDATES),
    Removed("model", "stateful", "look at the layers that were made with stateful=True"),
    Removed("model", "total_loss", "read model.losses, or the logs of fit"),
    Removed("model", "targets", "Keras 3 has no placeholders of targets: write a train_step"),
    Removed("model", "to_yaml", "write model.to_json()"),
    Removed(
        "model",
        "predict_classes",
        "write predict(x).argmax(-1), or (predict(x) > 0.5).astype('int32') for one output",
    ),
    Removed("model", "predict_proba", "", "predict"),
    Removed("optimizer", "minimize", _TAPE),
    Removed("optimizer", "get_gradients", _TAPE),
    Removed("optimizer", "get_updates", _TAPE),
    Removed("optimizer", "get_slot", _SLOTS),
    Removed("optimizer", "weights", _SLOTS),
    Removed("optimizer", "get_weights", "write [v.numpy() for v in optimizer.variables]"),
    Removed("optimizer", "variables", "", "variables", called=True),
    Removed("optimizer", "_decayed_lr", "", "learning_rate", called=True),
    Removed("weight", "op", "read variable.path"),
    Removed("weight", "device", "Keras 3 has no device of a variable"),
    Removed("weight", "get_shape", "", "shape", called=True),
    Removed("weight", "value", "", "value", called=True),
    Removed("weight", "read_value", "", "value", called=True),
    Removed("weight", "ref", "write id(variable)"),
    Removed("weight", "experimental_ref", "write id(variable)"),
)
"""Attributes that Keras 2 had."""
HYPERPARAMETERS = (
    "beta_1", "beta_2", "rho", "momentum", "epsilon", "nesterov", "amsgrad", "centered",
    "clipnorm", "clipvalue", "global_clipnorm", "initial_accumulator_value",
)  # fmt: skip
"""What Keras 2 kept in variables, or read in every step."""
_ROWS = {name: [row for row in REMOVED if row.name == name] for name in {r.name for r in REMOVED}}
_MODEL = ("keras.Model", "keras.models.Model", "keras.Sequential", "keras.models.Sequential")
_PATHS = (
    "names of variables are now layer/weight:0 made of Variable.path, in a Sequential with the "
    "name of the model before it: check patterns that begin with ^"
)
_SHAPES = "shapes of layers are those of their outputs, and fail for a layer that was called twice"


def removed_attributes(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Replace or refuse the attributes of a module.

    Returns:
        The names of the functions that the module needs.
    """
    is_owner: dict[str, Callable[[ast.expr], bool]] = {
        "model": lambda node: is_model(node, module, program) is True,
        "layer": lambda node: _is_own(node, module, program) or is_layer(node, module, program),
        "optimizer": lambda node: is_optimizer(node, module, program) is True,
        "weight": lambda node: is_weight(
            node, module, lambda owner, place: is_model(owner, place, program) is True
        ),
    }
    needed: set[str] = set()
    for node in module.every(ast.Attribute):
        if module.is_dead(node) or _within_added(node, module):
            continue
        if node.attr == "_name" and isinstance(node.ctx, ast.Store):
            if is_owner["model"](node.value) or is_owner["layer"](node.value):
                out.edits.append(replace_node(module, node, f"{raw(module, node.value)}.name"))
            continue
        if isinstance(node.ctx, ast.Store) and node.attr in HYPERPARAMETERS:
            _set_later(node, module, program, out)
        if not isinstance(node.ctx, ast.Load):
            continue
        if node.attr == "name" and is_weight(node.value, module):
            out.edits.append(replace_node(module, node, f"{NAMED}({raw(module, node.value)})"))
            out.notes.append(_PATHS)
            needed.add(NAMED)
        for row in _ROWS.get(node.attr, ()):
            if is_owner[row.owner](node.value):
                _replace(node, row, module, program, out)
                break
    return needed


def _set_later(node: ast.Attribute, module: Module, program: Program, out: Outcomes) -> None:
    """Refuse a hyperparameter that is set after the optimizer was made."""
    makers = makers_of(node.value, module) or []
    classes = [program.class_named(name) for maker in makers for name in maker.names]
    own = bool(classes) and all(
        scope is not None and canonical(program.library_base(scope)).startswith("keras.optimizers.")
        for scope in classes
    )
    if own or is_optimizer(node.value, module, program):
        out.refuse(
            module,
            node,
            f"{node.attr} is a plain number in Keras 3: a step that is compiled keeps the one of "
            "its first call",
            "make the optimizer with it; only learning_rate can be set between steps",
        )


def _replace(
    node: ast.Attribute, row: Removed, module: Module, program: Program, out: Outcomes
) -> None:
    parent = module.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if _is_defined(node, module, program) or row.called > called:
        return
    if not row.new:
        what = f" of {_ARTICLES[row.owner]}"
        out.refuse(module, node, f"{row.name}{what} is not in Keras 3", row.hint)
        return
    text = f"{raw(module, node.value)}.{row.new}"
    out.edits.append(replace_node(module, parent if row.called else node, text))  # type: ignore[arg-type]
    out.notes += [_SHAPES] if row.new.endswith(".shape") else []


def _is_own(node: ast.expr, module: Module, program: Program) -> bool:
    """Whether a node is `self` in a layer or model of the program."""
    owner = module.class_of(node) if isinstance(node, ast.Name) and node.id == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    return scope is not None and canonical(program.library_base(scope)).startswith(
        ("keras.layers.", *_MODEL)
    )


def _is_defined(node: ast.Attribute, module: Module, program: Program) -> bool:
    """Whether the program itself gives `self` the attribute."""
    owner = module.class_of(node)
    scope = module.scopes.get(owner) if owner is not None else None
    mine = isinstance(node.value, ast.Name) and node.value.id == "self"
    return mine and scope is not None and program.has_attribute(scope, node.attr)


def _within_added(node: ast.AST, module: Module) -> bool:
    here: ast.AST | None = node
    while here is not None:
        if isinstance(here, ast.FunctionDef | ast.ClassDef) and here.name in TEXTS:
            return True
        here = module.parent(here)
    return False
