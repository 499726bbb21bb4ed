"""Custom models and layers, and programs that turn eager execution off."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import column_at, insert
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, remove
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import compiles

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_TRAINED = r"keras\.layers\.(\w*Dropout\w*|BatchNormalization|Gaussian\w+)"
_TAKE_DATA = ("fit", "evaluate", "predict")
_GRAPH_ONLY = re.compile(
    r"tensorflow\.((Interactive)?Session|placeholder\w*|global_variables_initializer|gradients"
    r"|Graph|get_default_graph|get_variable|layers\..*|train\.(\w*Optimizer|Saver|\w*Session)"
    r"|summary\.(merge_all|FileWriter))|keras\.backend\.([gs]et_session|function|placeholder)"
)
_GRAPHS = ("tensorflow.disable_eager_execution", "tensorflow.disable_v2_behavior")


def constructors(module: Module, program: Program, out: Outcomes) -> None:
    """Turn `super().__init__(self)` of models and layers, which Keras 2 let pass, right."""
    for call in module.calls:
        node = call.node
        if call.method != "__init__" or module.is_dead(node) or call.receiver is None:
            continue
        owner = module.class_of(node)
        scope = module.scopes.get(owner) if owner is not None else None
        given = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if scope is None or not isinstance(given, ast.Name) or given.id != "self":
            continue
        base = canonical(program.library_base(scope))
        super_call = isinstance(call.receiver, ast.Call) and call.receiver_text.startswith("super(")
        if super_call and base.startswith(("keras.Model", "keras.models.", "keras.layers.")):
            out.edits += argument_edits(module, node, [given])


def training_arguments(module: Module, program: Program, out: Outcomes) -> None:
    """Pass `training` by name: Keras 3 takes only tensors by position."""
    for call in module.calls:
        node = call.node
        if (
            len(node.args) < 2
            or module.is_dead(node)
            or any(isinstance(argument, ast.Starred) for argument in node.args)
        ):
            continue
        last = node.args[-1]
        switch = isinstance(last, ast.Name) and last.id in ("training", "is_training", "train")
        if not switch and not (isinstance(last, ast.Constant) and isinstance(last.value, bool)):
            continue
        makers = makers_of(node.func, module)
        if makers and all(_takes(maker, len(node.args), program) for maker in makers):
            where = (last.lineno, last.col_offset)
            column = column_at(module, *where)
            out.edits.append(insert(module, where[0], column, "training="))


def _takes(maker: Call, place: int, program: Program) -> bool:
    """Whether the layer that a call makes has `training` at a place of its `call`."""
    for name in maker.names:
        if place == 2 and re.fullmatch(_TRAINED, canonical(name)):
            continue
        scope = program.class_named(name)
        body = getattr(scope.node, "body", []) if scope is not None else []
        found = [n for n in body if isinstance(n, ast.FunctionDef) and n.name == "call"]
        parameters = [argument.arg for argument in found[0].args.args] if found else []
        base = canonical(program.library_base(scope)) if scope is not None else ""
        if not base.startswith("keras.") or parameters[place : place + 1] != ["training"]:
            return False
    return bool(maker.names)


def eager(module: Module, program: Program, out: Outcomes) -> None:
    """Remove what turns eager execution off, unless the program needs graphs of TensorFlow 1."""
    for call in module.calls:
        names = [canonical(name) for name in call.names]
        off = any(name in _GRAPHS for name in names) and not module.is_dead(call.node)
        if not off or not compiles(program):
            continue
        statement = module.parent(call.node)
        need = _needs_graphs(program)
        edit = remove(module, statement) if isinstance(statement, ast.Expr) and not need else None
        if edit is not None:
            out.edits.append(edit)
            out.notes.append("TensorFlow runs eagerly; fit compiles its steps by itself")
            continue
        out.refuse(
            module,
            call.node,
            "fit of Keras 3 fails without eager execution" + (f", and {need}" if need else ""),
            "remove this line; fit compiles its steps by itself",
        )


def _needs_graphs(program: Program) -> str:
    """Return what would fail or mean something else in eager execution; empty if nothing."""
    for module in program.modules:
        for call in module.calls:
            if any(_GRAPH_ONLY.fullmatch(canonical(name)) for name in call.names):
                return f"{call.name} needs a graph"
            if call.method not in _TAKE_DATA or call.receiver is None:
                continue
            for given in call.node.args[:2]:
                for maker in makers_of(given, module) or []:
                    name = canonical(maker.name)
                    if name.startswith("tensorflow.") and not name.startswith("tensorflow.data."):
                        return f"a graph computes {module.text(given)} again in every step"
    return ""
