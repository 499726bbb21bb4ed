"""The program's own layers: cells without a base in Keras 3, and `if`s on tensors in `call`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import indent_of
from crosscast_reading.edits.node_edits import insert, replace_node
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import CELL
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import imported_as

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_ABSTRACT = "keras.layers.AbstractRNNCell"
_TENSORS = re.compile(
    r"tensorflow\.((random|math|linalg|image|nn|strings)\.\w+|reduce_\w+|logical_\w+|shape|size|rank"
    r"|cast|constant|equal|not_equal|greater\w*|less\w*|abs|argmax|argmin|maximum|minimum|range)"
)
"""Functions of TensorFlow that return tensors."""
_STATE = ("add_loss", "add_metric", "add_update")
_FILLS = ("append", "extend", "insert", "add", "update", "pop", "clear", "setdefault")
_PYTHON = ("numpy.random.", "random.", "time.")
"""Functions whose value a `tf.function` would keep from its first call."""
_SET_UP = ("__init__", "build")
_LINE = "write it with tf.cond, tf.where or tf.while_loop, or decorate a function of its own"


def cells(module: Module, out: Outcomes) -> bool:
    """Give cells another base for AbstractRNNCell, which Keras 3 does not have."""
    found = False
    for node in module.every(ast.ClassDef):
        for base in node.bases:
            source = imported_as(base, module)
            name = canonical(".".join([source[0], *source[1]])) if source is not None else ""
            if name == _ABSTRACT and isinstance(base, ast.Attribute) and not module.is_dead(node):
                out.edits.append(replace_node(module, base, CELL))
                found = True
    return found


def graph_calls(module: Module, program: Program, out: Outcomes) -> None:
    """Let AutoGraph convert `call` where it asks for the value of a tensor, as Keras 2 did."""
    tensorflow = next((n for n, target in module.imports.items() if target == "tensorflow"), "")
    for node in module.every(ast.ClassDef):
        call = next((part for part in _methods(node) if part.name == "call"), None)
        scope = module.scopes.get(node)
        if call is None or scope is None or call.decorator_list or module.is_dead(node):
            continue
        if not canonical(program.library_base(scope)).startswith(("keras.layers.", "keras.Model")):
            continue
        reached = list(_reached(node, call))
        test = next((t for part in reached for t in _tests(part) if _asks(t, part, module)), None)
        if test is None:
            continue
        kept = next((k for part in reached for k in _kept(part, module)), None)
        kept = kept or next(_changed(node, reached, module), None)
        kept = kept or next((k for f, home in _free(reached, module) for k in _kept(f, home)), None)
        if kept is not None or not tensorflow:
            out.refuse(
                module,
                test,
                "Keras 3 does not convert call by AutoGraph: Python cannot ask for the value of "
                "this tensor in a graph",
                _LINE,
            )
            continue
        indent = indent_of(module, call)
        out.edits.append(
            insert(module, call.lineno, len(indent) + 1, f"@{tensorflow}.function\n{indent}")
        )
        out.notes.append("call of a layer is no longer converted by AutoGraph by itself")


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (part for part in node.body if isinstance(part, ast.FunctionDef))


def _reached(node: ast.ClassDef, first: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """Yield a method and those of its class that it calls."""
    methods = {part.name: part for part in _methods(node) if not part.decorator_list}
    methods[first.name] = first
    waiting, done = [first.name], set[str]()
    while waiting:
        name = waiting.pop()
        if name in done or name not in methods:
            continue
        done.add(name)
        yield methods[name]
        waiting += [
            part.func.attr
            for part in walk(methods[name])
            if isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and isinstance(part.func.value, ast.Name)
            and part.func.value.id == "self"
        ]


def _free(reached: list[ast.FunctionDef], module: Module) -> Iterator[tuple[Function, Module]]:
    """Yield the functions of the program, outside of classes, that methods call."""
    for method in reached:
        for part in walk(method):
            found = (
                module.program.function(module.call(part)) if isinstance(part, ast.Call) else None
            )
            if found is not None and found[0].class_of(found[1]) is None:
                yield found[1], found[0]


def _tests(function: Function) -> Iterator[ast.expr]:
    """Yield the expressions whose value Python needs."""
    for node in walk(function):
        if isinstance(node, ast.If | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.For):
            yield node.iter


def _asks(node: ast.expr, function: Function, module: Module, depth: int = 0) -> bool:
    """Whether an expression is certainly a tensor."""
    match node:
        case ast.Call():
            names = module.call(node).names
            return bool(names) and all(_TENSORS.fullmatch(canonical(name)) for name in names)
        case ast.Compare(ops=ops):
            parts = [node.left, *node.comparators]
            plain = any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops)
            return not plain and any(_asks(part, function, module, depth) for part in parts)
        case ast.BinOp():
            return any(_asks(part, function, module, depth) for part in (node.left, node.right))
        case ast.BoolOp():
            return any(_asks(part, function, module, depth) for part in node.values)
        case ast.UnaryOp() | ast.Subscript():
            inner = node.operand if isinstance(node, ast.UnaryOp) else node.value
            return _asks(inner, function, module, depth)
        case ast.Name() if depth < 3:
            given = [
                part.value
                for part in walk(function)
                if isinstance(part, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == node.id for t in part.targets)
            ]
            return bool(given) and all(_asks(value, function, module, depth + 1) for value in given)
    return False


def _kept(function: Function, module: Module) -> Iterator[ast.AST]:
    """Yield what a `tf.function` would not do each time, or would let tensors out of."""
    for node in walk(function):
        if isinstance(node, ast.Attribute):
            owner = isinstance(node.value, ast.Name) and node.value.id == "self"
            if owner and (isinstance(node.ctx, ast.Store) or node.attr in _STATE):
                yield node
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store) and _in_self(node.value):
                yield node
        elif isinstance(node, ast.Call):
            call = module.call(node)
            fills = call.method in _FILLS and call.receiver is not None and _in_self(call.receiver)
            if fills or call.method == "numpy" or call.name.startswith(_PYTHON):
                yield node


def _in_self(node: ast.expr) -> bool:
    """Whether an expression is an attribute of `self`, or a part of one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _changed(
    owner: ast.ClassDef, reached: list[ast.FunctionDef], home: Module
) -> Iterator[ast.AST]:
    """Yield attributes that a `tf.function` would read once, and the program sets later."""
    read = {
        node.attr: node
        for function in reached
        for node in walk(function)
        if isinstance(node, ast.Attribute) and _in_self(node)
    }
    for module in home.program.modules:
        for node in module.every(ast.Attribute):
            if node.attr not in read or not isinstance(node.ctx, ast.Store):
                continue
            function = module.function_of(node)
            own = not _in_self(node) or module.class_of(node) is owner
            if own and not (_in_self(node) and getattr(function, "name", "") in _SET_UP):
                yield read[node.attr]
