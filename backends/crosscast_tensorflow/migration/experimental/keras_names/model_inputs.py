"""Where inputs of functional models reach functions of TensorFlow, which do not take them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_INPUT = re.compile(r"keras\.(layers\.)?Input")
_LAYER = re.compile(r"keras\.layers\.([\w.]+\.)?[A-Z]\w*")
_MODEL = re.compile(
    r"keras\.((models\.)?(Model|Sequential|clone_model|load_model)|applications\..*)"
)
_FUNCTION = re.compile(r"(tensorflow|keras\.backend)\.(?!keras\.)([\w.]+\.)?[a-z]\w*")
_TAKES = re.compile(
    r"tensorflow\.(is_tensor|print|name_scope|debugging\..*)"
    r"|keras\.backend\.(int_shape|is_keras_tensor|clear_session|ndim|dtype)"
)
"""Functions that take inputs of models as they are."""
_SHAPES = ("get_shape", "set_shape", "as_list")
_ENDS = ("input", "inputs", "output", "outputs")
_DEPTH = 12


class ModelInputs:
    """Follows inputs of models through names and functions; what is not certain is no input."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places: dict[Module, dict[str, ast.Call]] = {}
        """Module to functions that get an input, with the first call of each."""
        self._known: dict[tuple[int, bool], bool] = {}
        self._depth = 0
        for module in program.modules:
            self.returns(module, module.tree, given=False)
            for block in (*module.every(ast.FunctionDef), *module.every(ast.AsyncFunctionDef)):
                if not _takes_tensors(block, module):
                    self.returns(module, block, given=self._builds(block, module))

    def returns(self, module: Module, block: ast.AST, *, given: bool) -> bool:
        """Whether a block returns inputs of models; notes its places.

        Args:
            module: of the block.
            block: a function, or a whole module.
            given: whether its parameters are inputs of models.
        """
        key = (id(block), given)
        if key in self._known or self._depth > _DEPTH:
            return self._known.get(key, False)
        self._known[key] = False  # while it is followed
        self._depth += 1
        nodes = [*_own(block)]
        names = _parameters(block) if given else set[str]()
        for _ in range(2):  # what a loop binds may be read above
            for node in nodes:
                self._bind(node, names, module)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._note(module.call(node), names)
        ends = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
        self._known[key] = any(self._is_input(value, names, module) for value in ends)
        self._depth -= 1
        return self._known[key]

    def _bind(self, node: ast.AST, names: set[str], module: Module) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AugAssign(target=target, value=value) | ast.For(target=target, iter=value):
                targets = [target]
            case ast.comprehension(target=target, iter=value):
                targets = [target]
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=target), args=[value]):
                targets = [target]
            case _:
                return
        if self._is_input(value, names, module):
            names.update(text for target in targets for text in _bound(target, module))

    def _is_input(self, node: ast.expr, names: set[str], module: Module) -> bool:
        if isinstance(node, ast.Call):
            return self._is_made(module.call(node), names)
        if isinstance(node, ast.Name | ast.Attribute) and module.text(node) in names:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _ENDS:
            made = node.value
            return isinstance(made, ast.Call) and module.call(made).method == "get_layer"
        if isinstance(node, ast.Lambda | ast.Constant):
            return False
        parts = ast.iter_child_nodes(node)
        return any(self._is_input(n, names, module) for n in parts if isinstance(n, ast.expr))

    def _is_made(self, call: Call, names: set[str]) -> bool:
        full = [canonical(name) for name in call.names]
        if any(_INPUT.fullmatch(name) for name in full):
            return True
        if any(_MODEL.fullmatch(name) or _LAYER.fullmatch(name) for name in full):
            return False
        given = self._is_given(call, names)
        target = self.program.function(call)
        if target is not None:
            return not _takes_tensors(target[1], target[0]) and self.returns(*target, given=given)
        made = call.receiver is not None and self._is_input(call.receiver, names, call.module)
        return given or made

    def _is_given(self, call: Call, names: set[str]) -> bool:
        values = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        return any(self._is_input(value, names, call.module) for value in values)

    def _note(self, call: Call, names: set[str]) -> None:
        self._is_made(call, names)  # follows it
        full = [canonical(name) for name in call.names]
        function = full[0] if len(full) == 1 and _FUNCTION.fullmatch(full[0]) else ""
        taken = bool(function) and not _TAKES.fullmatch(function) and self._is_given(call, names)
        if call.method in _SHAPES and call.receiver is not None:
            taken = self._is_input(call.receiver, names, call.module)
            function = call.method
        if taken and not call.module.is_dead(call.node):
            self.places.setdefault(call.module, {}).setdefault(function, call.node)

    def _builds(self, block: ast.AST, module: Module) -> bool:
        """Whether a function calls a layer that it makes on one of its parameters."""
        parameters = _parameters(block)
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Call)
            and any(_LAYER.fullmatch(canonical(name)) for name in module.call(node.func).names)
            and any(isinstance(a, ast.Name) and a.id in parameters for a in node.args)
            for node in _own(block)
        )


def _parameters(block: ast.AST) -> set[str]:
    if not isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    if block.name == "__init__":
        return set()
    given = block.args
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self"}


def _own(block: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a block, in order, without those of functions and classes inside."""
    for node in ast.iter_child_nodes(block):
        if not isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from _own(node)


def _bound(target: ast.expr, module: Module) -> Iterator[str]:
    match target:
        case ast.Name() | ast.Attribute():
            yield module.text(target)
        case ast.Subscript(value=value) | ast.Starred(value=value):
            yield from _bound(value, module)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _bound(part, module)


def _takes_tensors(block: ast.AST, module: Module) -> bool:
    """Whether a function is a method of a layer or model, or compiled: it gets tensors."""
    owner = module.class_of(block)
    scope = module.scopes.get(owner) if owner is not None else None
    base = canonical(module.program.library_base(scope)) if scope is not None else ""
    compiled = any("function" in module.text(d) for d in getattr(block, "decorator_list", ()))
    return compiled or (base.startswith("keras.") and getattr(block, "name", "") != "__init__")
