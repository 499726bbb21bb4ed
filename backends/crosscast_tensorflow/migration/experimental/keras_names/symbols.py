"""Which expressions are symbolic tensors of a functional model: `Input(...)` and what follows."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import CALLED
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras_names.receivers import is_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

_INPUTS = ("keras.Input", "keras.layers.Input")
_MAKES = re.compile(
    r"keras\.(layers\.([\w.]+\.)?|applications\.([\w.]+\.)?)[A-Z]\w*|keras\.(models\.)?(Model|Sequential)"
)
_FUNCTION = re.compile(r"(tensorflow|keras\.(layers|activations|backend|ops))\.([\w.]+\.)?[a-z]\w*")
_EAGER = re.compile(r"tensorflow\.(ones|zeros|constant|random\.\w+|convert_to_tensor|Variable)")
_ENDS = ("output", "outputs", "input", "inputs")
_TENSORS = ("call", "train_step", "test_step", "predict_step")
"""Methods whose arguments are tensors."""
_DEPTH = 120


class Symbols:
    """Answers for one program; what is not certain is not symbolic."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._found: dict[int, bool] = {}
        self._open: list[int] = []
        self._depth = 0

    def is_symbolic(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression can be a symbolic tensor, or a list that has one."""
        known = self._found.get(id(node))
        if known is not None:
            return known
        self._found[id(node)] = False  # while it is being found
        if self._depth > _DEPTH:
            return False
        self._open.append(id(node))
        self._depth += 1
        try:
            found = self._found[id(node)] = self._of(node, module)
        finally:
            self._depth -= 1
        if self._depth == 0:
            for key in self._open if found else ():
                if not self._found[key]:
                    del self._found[key]  # perhaps only cut off in a circle
            self._open.clear()
        return found

    def _any(self, nodes: list[ast.expr], module: Module) -> bool:
        return any(self.is_symbolic(node, module) for node in nodes)

    def _of(self, node: ast.expr, module: Module) -> bool:
        match node:
            case ast.Call():
                return self._call(module.call(node))
            case ast.Name():
                return any(self._binding(b) for b in bindings_of(node.id, node, module))
            case ast.Attribute():
                return self._attribute(node, module)
            case ast.Subscript() | ast.Starred():
                return self.is_symbolic(node.value, module)
            case ast.List() | ast.Tuple():
                return self._any(node.elts, module)
            case ast.BinOp():
                return self._any([node.left, node.right], module)
            case ast.UnaryOp():
                return self.is_symbolic(node.operand, module)
            case ast.IfExp():
                return self._any([node.body, node.orelse], module)
            case ast.ListComp():
                return self.is_symbolic(node.elt, module)
        return False

    def _attribute(self, node: ast.Attribute, module: Module) -> bool:
        if node.attr in _ENDS:
            return is_model(node.value, module, self.program) is True or (
                isinstance(node.value, ast.Call) and module.call(node.value).method == "get_layer"
            )
        return False

    def _binding(self, binding: Binding) -> bool:
        module = binding.module
        if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
            return self._parameter(binding.node, module)
        if binding.value is None or binding.kind not in ("assign", "loop", "augment"):
            return False
        value = binding.value
        if binding.kind == "loop" and isinstance(value, ast.Call):
            value = _iterated(value, binding.path)
        if binding.path and isinstance(value, ast.Tuple | ast.List):
            place = binding.path[0]
            if isinstance(place, int) and place < len(value.elts):
                return self.is_symbolic(value.elts[place], module)
        return self.is_symbolic(value, module)

    def _parameter(self, node: ast.arg, module: Module) -> bool:
        function = module.function_of(node) or module.parent(module.parent(node) or node)
        if not isinstance(function, ast.FunctionDef) or _takes_tensors(function, module):
            return False
        names = [argument.arg for argument in function.args.args]
        for site in self.program.call_sites(module, function):
            given = {k.arg: k.value for k in site.node.keywords}
            value = given.get(node.arg)
            if value is None and node.arg in names:
                place = names.index(node.arg) - (names[:1] == ["self"])
                value = next(iter(site.node.args[place : place + 1]), None) if place >= 0 else None
            if value is not None and self.is_symbolic(value, site.module):
                return True
        return False

    def _call(self, call: Call) -> bool:
        names = [canonical(name) for name in call.names]
        if any(name in _INPUTS for name in names):
            return True
        arguments = [*call.node.args, *(k.value for k in call.node.keywords)]
        added = isinstance(call.node.func, ast.Name) and call.node.func.id == CALLED
        if added or (names and all(_FUNCTION.fullmatch(name) for name in names)):
            return self._any(arguments, call.module)
        made = self._makes(call)
        if made is not None:
            return self._any(arguments, call.module) or (made and self._builds(call))
        found = self.program.function(call)
        return found is not None and self._returns(found[1], found[0])

    def _makes(self, call: Call) -> bool | None:
        """Whether what is called is a layer made right there; None if it is no layer."""
        function = call.node.func
        if isinstance(function, ast.Call):
            return True if self._is_layer(call.module.call(function).names) else None
        makers = makers_of(function, call.module)
        if makers and all(self._is_layer(maker.names) for maker in makers):
            return False
        return False if is_model(function, call.module, self.program) else None

    def _is_layer(self, names: tuple[str, ...]) -> bool:
        return bool(names) and all(_MAKES.fullmatch(self._base(name)) for name in names)

    def _base(self, name: str) -> str:
        scope = self.program.class_named(name)
        return canonical(self.program.library_base(scope) if scope is not None else name)

    def _builds(self, call: Call) -> bool:
        """Whether a layer is made and called in a function that builds a model."""
        module = call.module
        given = call.node.args[:1]
        plain = [
            canonical(name)
            for node in given
            if isinstance(node, ast.Call)
            for name in module.call(node).names
        ]
        if not given or any(_EAGER.match(name) for name in plain):
            return False
        function = module.function_of(call.node)
        if not isinstance(function, ast.FunctionDef) or _takes_tensors(function, module):
            return False
        return isinstance(given[0], ast.Name) and given[0].id in {
            argument.arg for argument in function.args.args
        }

    def _returns(self, function: Function, module: Module) -> bool:
        return any(
            node.value is not None and self.is_symbolic(node.value, module)
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and module.function_of(node) is function
        )


def _takes_tensors(function: ast.FunctionDef, module: Module) -> bool:
    """Whether a function is a step, or is compiled: its arguments are tensors."""
    return function.name in _TENSORS or any(
        "function" in module.text(decorator) for decorator in function.decorator_list
    )


def _iterated(value: ast.Call, path: tuple[int | str, ...]) -> ast.expr:
    """Return the list that a loop over `enumerate` or `zip` takes a name from."""
    if isinstance(value.func, ast.Name) and path and value.args:
        if value.func.id == "enumerate" and path[0] == 1:
            return value.args[0]
        place = path[0]
        if value.func.id == "zip" and isinstance(place, int) and place < len(value.args):
            return value.args[place]
    return value
