"""TensorFlow functions and shapes of symbolic tensors, which Keras 3 does not take."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, opening, replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import CALLED, SYMBOLIC, TEXTS
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.backend import OLD
from crosscast_tensorflow.migration.experimental.keras_names.symbols import Symbols

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_FUNCTION = re.compile(r"tensorflow\.(?P<path>[\w.]+)")
_BACKEND = "keras.backend."
WORKS = frozenset((
    "tensorflow.TensorShape", "tensorflow.is_tensor", "tensorflow.print", "tensorflow.cond",
    "tensorflow.function", "tensorflow.Variable", "tensorflow.GradientTape",
    "tensorflow.control_dependencies", "tensorflow.name_scope",
    "keras.backend.int_shape", "keras.backend.is_keras_tensor", "keras.backend.clear_session",
))  # fmt: skip
"""Functions that take symbolic tensors as they are, or whose arguments are none."""
OPAQUE = frozenset((
    "tensorflow.map_fn", "tensorflow.while_loop", "tensorflow.py_function",
    "tensorflow.numpy_function", "tensorflow.scan", "tensorflow.vectorized_map",
    "keras.backend.map_fn", "keras.backend.foldl", "keras.backend.foldr", "keras.backend.rnn",
    "keras.backend.switch",
))  # fmt: skip
"""Functions that take functions of the program, which a layer cannot save."""
SHAPES = {"rank": "len({}.shape)", "ndims": "len({}.shape)"}
"""Attribute of `x.shape` to what it is in Keras 3."""
_METHODS = {"get_shape": "{}.shape", "set_shape": ""}
_LAYER = "write a layer of your own whose call does this, or use keras.ops"
_NOTE = (
    "TensorFlow functions of inputs of a model are called by a layer, as Keras 2 did by itself; "
    "keras.ops has most of them"
)


def symbol_calls(module: Module, symbols: Symbols, out: Outcomes) -> set[str]:
    """Call functions of TensorFlow by a layer where an argument is symbolic.

    Returns:
        The names of the definitions that the module needs.
    """
    needed: set[str] = set()
    for call in module.calls:
        if module.is_dead(call.node) or _within_added(call.node, module):
            continue
        names = {canonical(name) for name in call.names}
        if len(names) == 1 and not any(n.startswith("tf_keras.") for n in call.names):
            needed |= _function(call, names.pop(), symbols, out)
        if call.method in _METHODS and call.receiver is not None:
            _method(call, symbols, out)
    for node in module.every(ast.Attribute):
        if node.attr in (*SHAPES, "as_list") and isinstance(node.ctx, ast.Load):
            _shape(node, module, symbols, out)
    if needed:
        out.notes.append(_NOTE)
    return needed


def _function(call: Call, name: str, symbols: Symbols, out: Outcomes) -> set[str]:
    """Call a function by a layer; return the definitions that this needs."""
    module, node = call.module, call.node
    path = _path(name)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not path or name in WORKS:
        return set()
    if not any(symbols.is_symbolic(argument, module) for argument in arguments):
        return set()
    if name in OPAQUE or any(isinstance(argument, ast.Lambda) for argument in arguments):
        out.refuse(
            module,
            node,
            f"{name} is called with an input of a model, which Keras 3 does not pass to functions "
            "of TensorFlow",
            _LAYER,
        )
        return set()
    start = opening(module, node)
    if start is None:
        hint = "write the name and its parenthesis without anything between them"
        out.refuse(module, node, f"{name} is called with an input of a model", hint)
        return set()
    out.edits.append(
        Edit(
            file=module.source.name,
            line=node.lineno,
            column=column_at(module, node.lineno, node.col_offset),
            end_line=start[0],
            end_column=start[1],
            text=f'{CALLED}("{path}", ',
        )
    )
    return {SYMBOLIC, CALLED}


def _path(name: str) -> str:
    """Return a function of TensorFlow as the path from `tf`; empty for others."""
    if name.startswith(_BACKEND):
        return name if name.removeprefix(_BACKEND) in OLD else ""
    found = _FUNCTION.fullmatch(name)
    lower = name.rpartition(".")[2][:1].islower()
    return found["path"] if found is not None and lower else ""


def _method(call: Call, symbols: Symbols, out: Outcomes) -> None:
    module, node, owner = call.module, call.node, call.receiver
    assert owner is not None
    if not symbols.is_symbolic(owner, module):
        return
    form = _METHODS[call.method]
    parent = module.parent(node)
    if not form:
        hint = "remove it, or reshape with keras.ops.reshape"
        out.refuse(module, node, f"inputs of a model have no {call.method} in Keras 3", hint)
    elif not (isinstance(parent, ast.Attribute) and parent.attr in (*SHAPES, "as_list")):
        out.edits.append(replace_node(module, node, form.format(raw(module, owner))))


def _shape(node: ast.Attribute, module: Module, symbols: Symbols, out: Outcomes) -> None:
    """Rewrite `x.shape.as_list()`, `x.get_shape().as_list()` and `x.shape.rank`."""
    owner: ast.expr | None = None
    match node.value:
        case ast.Attribute(attr="shape", value=inner):
            owner = inner
        case ast.Call(func=ast.Attribute(attr="get_shape", value=inner), args=[]):
            owner = inner
    if owner is None or module.is_dead(node) or not symbols.is_symbolic(owner, module):
        return
    text = raw(module, owner)
    if node.attr in SHAPES:
        out.edits.append(replace_node(module, node, SHAPES[node.attr].format(text)))
        return
    parent = module.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        out.edits.append(replace_node(module, parent, f"list({text}.shape)"))


def _within_added(node: ast.AST, module: Module) -> bool:
    here: ast.AST | None = node
    while here is not None:
        if isinstance(here, ast.FunctionDef | ast.ClassDef) and here.name in TEXTS:
            return True
        here = module.parent(here)
    return False
