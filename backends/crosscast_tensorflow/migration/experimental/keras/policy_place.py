"""The location to set a policy: before the first layer of the model is created."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert
from crosscast_reading.pysource.libraries.public_names import INSTALLED
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import TEXTS

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_MAKES = re.compile(
    r"keras\.(layers\.\w+|Sequential|Model|Input|models\.\w+|applications\.[\w.]+)"
    r"|tensorflow_hub\.\w+|transformers\.TF\w+.*"
)
_DEPTH = 5
_SETS = 'mixed_precision.set_global_policy("mixed_float16")'


@dataclass(frozen=True, slots=True)
class Block:
    """The body of a function, or of a module."""

    module: Module
    function: Function | None

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements."""
        return self.module.tree.body if self.function is None else self.function.body


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A statement that requests mixed precision."""

    module: Module
    node: ast.AST
    condition: str = ""
    """Condition of the request, as text; empty if there is none."""
    names: tuple[str, ...] = ()
    """The names that the condition reads."""


def policy_edit(request: PolicyRequest, program: Program) -> Edit | Refusal:
    """Return the edit that sets the policy for a request, or why that is not possible."""
    block = _building_block(request, program)
    if block is None:
        return _refuse(request, "it is not certain where the model is built", "before it is built")
    if _created_by_imports(block, program):
        return _refuse(request, "layers are created during imports", "before these imports")
    package = _keras(block.module)
    if not package:
        return _refuse(request, "the module that builds the model does not import Keras", "there")
    if request.condition and (
        block.module is not request.module or not _same_block(request, block)
    ):
        return _refuse(
            request,
            f"its condition ({request.condition}) is evaluated in another block than the one that "
            "builds the model",
            f"under the condition {request.condition}, before the model is built",
        )
    place = _place(block, request, program)
    if place is None:
        return _refuse(
            request,
            "there is no certain location: the condition must be known, and Keras imported, before "
            "the model is built",
            "before the model is built",
        )
    text = f"{package}.{_SETS}\n"
    column = place.col_offset
    if request.condition:
        step = "\t" if block.module.lines[place.lineno - 1].startswith("\t") else "    "
        indent = block.module.lines[place.lineno - 1][:column]
        text = f"if {request.condition}:\n{indent}{step}{text}{indent}"
    else:
        text += block.module.lines[place.lineno - 1][:column]
    line = min([place.lineno, *(d.lineno for d in getattr(place, "decorator_list", ()))])
    return insert(block.module, line, column + 1, text)


def _created_by_imports(block: Block, program: Program) -> bool:
    """Whether layers are created at module level before a block runs."""
    return any(
        _makes(call, program, 0)
        for module in program.modules
        if module is not block.module or block.function is not None
        for call in _calls(Block(module, None))
        if not _only_runs(call, module)
    )


def _refuse(request: PolicyRequest, why: str, where: str) -> Refusal:
    return Refusal(
        span=request.module.span(request.node),
        message=f"the graph rewrite cannot be replaced by a Keras policy: {why}",
        hint=f"write keras.{_SETS} {where}",
    )


def _keras(module: Module) -> str:
    """Return the name of Keras in a module, `tf.keras` or `keras`; empty if not imported."""
    return _named(module.tree.body)


def _named(body: list[ast.stmt]) -> str:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "tensorflow":
                    return f"{alias.asname or 'tensorflow'}.keras"
                if alias.name in ("keras", "tensorflow.keras") and (
                    alias.asname or alias.name == "keras"
                ):
                    return alias.asname or "keras"
        elif isinstance(statement, ast.ImportFrom) and statement.module == "tensorflow":
            for alias in statement.names:
                if alias.name == "keras":
                    return alias.asname or "keras"
    return ""


def _building_block(request: PolicyRequest, program: Program) -> Block | None:
    """Return the block that builds the model: the request's own block or its caller's."""
    module, function = request.module, request.module.function_of(request.node)
    for _ in range(_DEPTH):
        block = Block(module, function)
        if any(_makes(call, program, 0) for call in _calls(block)):
            return block
        if function is None:
            return None
        sites = program.call_sites(module, function)
        if len(sites) != 1:
            return None
        site = sites[0]
        if _conditional(site.node, site.module):
            return None
        module, function = site.module, site.module.function_of(site.node)
    return None


def _conditional(node: ast.AST, module: Module) -> bool:
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If) and not _is_main(here, module):
            return True
        here = module.parent(here)
    return False


def _is_main(node: ast.If, module: Module) -> bool:
    return "__name__" in module.text(node.test)


def _only_runs(call: Call, module: Module) -> bool:
    """Whether a call at module level calls a function of the program: `main()`."""
    program = module.program
    return program.function(call) is not None


def _calls(block: Block) -> Iterator[Call]:
    """Yield the calls in a block, without those in functions defined in it."""
    for call in block.module.calls:
        mine = block.module.function_of(call.node) is block.function
        if mine and (block.function is not None or block.module.class_of(call.node) is None):
            yield call


def _makes(call: Call, program: Program, depth: int, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a call certainly creates layers, directly or in functions of the program."""
    if any(_MAKES.fullmatch(canonical(name)) for name in call.names):
        return True
    if depth >= _DEPTH:
        return False
    for name in call.names:
        scope = program.class_named(name)
        if scope is not None and "keras" in program.library_base(scope):
            return True
    found = program.function(call) or program.constructor(call)
    if found is None or id(found[1]) in seen:
        return False
    module, function = found
    return any(
        _makes(module.call(node), program, depth + 1, seen | {id(function)})
        for node in walk(function)
        if isinstance(node, ast.Call)
    )


def _may_make(statement: ast.stmt, module: Module, program: Program) -> bool:
    """Whether a statement may create layers: it certainly does, or calls an unknown function."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    for node in walk(statement):
        if not isinstance(node, ast.Call):
            continue
        call = module.call(node)
        if _makes(call, program, 0):
            return True
        if program.function(call) is not None or program.constructor(call) is not None:
            continue
        if not _is_harmless(call):
            return True
    return False


def _is_harmless(call: Call) -> bool:
    """Whether a call is to a library without layers, or to a method of an object."""
    if call.names:
        return all(_is_known(name) for name in call.names)
    root: ast.expr = call.node.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return True
    if root is call.node.func:
        return hasattr(builtins, root.id)
    target = call.module.imports.get(root.id)
    return target is None or target.partition(".")[0] in INSTALLED


def _is_known(name: str) -> bool:
    """Whether a qualified name belongs to a known library, the builtins or the program."""
    head = name.partition(".")[0]
    return ":" in name or head in INSTALLED or hasattr(builtins, head)


def _same_block(request: PolicyRequest, block: Block) -> bool:
    return request.module.function_of(request.node) is block.function


def _place(block: Block, request: PolicyRequest, program: Program) -> ast.stmt | None:
    """Return the statement before which to set the policy; None if there is none."""
    body = block.body
    making = [_may_make(statement, block.module, program) for statement in body]
    last = making.index(True) if True in making else len(body)
    first = min(_behind_imports(body), last)
    while first < last and getattr(body[first], "name", "") in TEXTS:
        first += 1
    if not request.condition:
        ready = first < len(body) and (block.function is not None or _imports_keras(body[:first]))
        return body[first] if ready else None
    if last == len(body):
        return None
    bound = _globals(block) | set(dir(builtins))
    for statement in body[:last]:
        bound |= set(_binds(statement))
    later = {name for statement in body[last:] for name in _binds(statement)}
    if (
        not set(request.names) <= bound
        or later & set(request.names)
        or _stored(body[last:], request)
    ):
        return None
    return body[last] if block.function is not None or _imports_keras(body[:last]) else None


def _imports_keras(body: list[ast.stmt]) -> bool:
    """Whether Keras is imported by the given statements of a module."""
    return bool(_named(body))


def _stored(body: list[ast.stmt], request: PolicyRequest) -> bool:
    """Whether a part of a condition is assigned, as in `args.amp = False`."""
    return any(
        isinstance(node, ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node) in request.condition
        for statement in body
        for node in walk(statement)
    )


def _globals(block: Block) -> set[str]:
    """Return the names that are defined when a function begins."""
    if block.function is None:
        return set()
    arguments = block.function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {argument.arg for argument in every} | {
        name for statement in block.module.tree.body for name in _binds(statement)
    }


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds."""
    for node in walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _behind_imports(body: list[ast.stmt]) -> int:
    """Return the index after the docstring and the imports at the beginning of a block."""
    last = 0
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            last = place + 1
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            break
        elif _is_text(statement) and place == 0:
            last = 1
    return last


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
