"""What the class of an optimizer for Keras 2 uses of its base and of TensorFlow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from crosscast_reading.edits.node_edits import replace_node
from crosscast_tensorflow.migration.experimental.keras.program import imported_as
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_table import (
    ADAM_ARGUMENTS,
    ADAM_COEFFICIENTS,
    HOOKS,
    MOVED_MODULES,
    MOVED_NAMES,
    NOT_CALLED,
    PLAIN,
    PRIVATE_NAMES,
    PROVIDED,
    TAKEN,
)

if TYPE_CHECKING:
    from crosscast_reading.edits.edit import Edit
    from crosscast_reading.pysource.programs.module import Module

_VARIABLES = ("param", "v", "var", "variable", "w", "weight", "x")
_GRAPH = ("op", "_shared_name", "_unique_id", "_in_graph_mode", "graph", "ref", "experimental_ref")


class Problem(NamedTuple):
    """Why a class is not converted."""

    node: ast.stmt | ast.expr
    text: str


def is_super(node: ast.expr) -> bool:
    """Whether an expression is a call of `super`."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def own_parameters(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Return the methods of a class."""
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]


def names_of_variables(node: ast.ClassDef) -> list[ast.Attribute]:
    """Return the expressions like `var.name` in the methods of a class."""
    return [
        part
        for method in own_parameters(node)
        if method.args.args and method.args.args[0].arg == "self"
        for part in ast.walk(method)
        if isinstance(part, ast.Attribute)
        and part.attr == "name"
        and isinstance(part.value, ast.Name)
        and part.value.id in _VARIABLES
    ]


def problems(node: ast.ClassDef, module: Module, base: str) -> Iterator[Problem]:
    """Yield what Keras 3 would do otherwise than Keras 2, or not at all."""
    for method in own_parameters(node):
        if method.name in HOOKS:
            yield Problem(method, f"nothing calls its {method.name}")
        elif method.name in TAKEN:
            yield Problem(method, f"Keras 3 has another {method.name}")
    yield from _members(node)
    yield from _coefficients(node, base)
    yield from _calls(node, base)
    yield from _variables(node)
    yield from _handed(node, module)
    yield from _private(node, module)


def _handed(node: ast.ClassDef, module: Module) -> Iterator[Problem]:
    """Yield variables that are given to functions of the program, which read their names."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        given = [*part.args, *(keyword.value for keyword in part.keywords)]
        if not any(isinstance(value, ast.Name) and value.id in _VARIABLES for value in given):
            continue
        found = module.program.function(module.call(part))
        if found is None or found[0].class_of(found[1]) is not None:
            continue
        reads = any(isinstance(n, ast.Attribute) and n.attr == "name" for n in ast.walk(found[1]))
        if reads:
            yield Problem(part, f"what names {ast.unparse(part.func)} reads is not certain")


def _members(node: ast.ClassDef) -> Iterator[Problem]:
    """Yield members of the base that are not there or mean something else."""
    seen = list(_reached(node))
    own = {method.name for method in own_parameters(node)}
    own |= {name for part in node.body for name in _assigned(part)}
    for part in seen:
        if isinstance(part, ast.Attribute) and _of_self(part) and isinstance(part.ctx, ast.Store):
            own.add(part.attr)
            if part.attr in TAKEN:
                yield Problem(part, f"Keras 3 has another {part.attr}")
        if isinstance(part, ast.Call) and _method(part) == "_set_hyper":
            given = part.args[0] if part.args else None
            if not isinstance(given, ast.Constant) or given.value in TAKEN:
                yield Problem(part, "the name of a hyperparameter is not known")
            else:
                own.add(str(given.value))
    for part in seen:
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
            inherited = is_super(part.value)
            known = PROVIDED if inherited else (*own, *PROVIDED)
            if (inherited or _of_self(part)) and part.attr not in known:
                yield Problem(part, f"what its {part.attr} is in Keras 3 is not known")


def _assigned(part: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement in the body of a class assigns to."""
    if isinstance(part, ast.Assign | ast.AnnAssign):
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _reached(node: ast.ClassDef) -> Iterator[ast.AST]:
    """Yield what may run: `apply_state` is never None, and some methods are not called."""
    waiting: list[ast.AST] = [
        part
        for part in node.body
        if not (isinstance(part, ast.FunctionDef) and part.name in NOT_CALLED)
    ]
    while waiting:
        here = waiting.pop(0)
        yield here
        if isinstance(here, ast.If) and ast.unparse(here.test) == "apply_state is None":
            waiting += here.orelse
        else:
            waiting += ast.iter_child_nodes(here)


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _coefficients(node: ast.ClassDef, base: str) -> Iterator[Problem]:
    """Yield coefficients of `apply_state` that the base does not compute."""
    written = {"lr_t"}
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and _method(part) == "update":
            for given in part.args:
                if isinstance(given, ast.Call) and ast.unparse(given.func) == "dict":
                    written |= {keyword.arg or "" for keyword in given.keywords}
                elif isinstance(given, ast.Dict):
                    written |= {str(k.value) for k in given.keys if isinstance(k, ast.Constant)}
            written |= {keyword.arg or "" for keyword in part.keywords}
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            written.add(_key(part))
    for part in ast.walk(node):
        key = _key(part) if isinstance(part, ast.Subscript) else ""
        if not key or not isinstance(part, ast.Subscript):
            continue
        about = ast.unparse(part.value)
        if "coef" not in about and "apply_state" not in about:
            continue
        if key not in written or (base not in PLAIN and key in ADAM_COEFFICIENTS):
            yield Problem(part, f"{about}[{key!r}] is not computed")


def _key(node: ast.Subscript) -> str:
    key = node.slice
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _calls(node: ast.ClassDef, base: str) -> Iterator[Problem]:
    """Yield slots with a shape, slots of the base, and constructors with unknown arguments."""
    added = {ast.unparse(c.args[1]) for c in _named(node, "add_slot") if len(c.args) > 1}
    for call in _named(node, "add_slot"):
        if len(call.args) > 3 or any(k.arg in ("shape", None) for k in call.keywords):
            yield Problem(call, "a slot with a shape of its own is not known")
    if base in PLAIN:
        return
    for call in _named(node, "get_slot"):
        if not call.args[1:] or ast.unparse(call.args[1]) not in added:
            yield Problem(call, "the slots of the base are not there")
    for call in _named(node, "__init__"):
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        if starred or len(call.args) > len(ADAM_ARGUMENTS):
            yield Problem(call, "the arguments of the base are not visible")


def _named(node: ast.ClassDef, method: str) -> list[ast.Call]:
    return [c for c in ast.walk(node) if isinstance(c, ast.Call) and _method(c) == method]


def _variables(node: ast.ClassDef) -> Iterator[Problem]:
    """Yield names and properties of variables that are others in Keras 3."""
    converted = names_of_variables(node)
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute):
            continue
        if part.attr in _GRAPH:
            yield Problem(part, f"{ast.unparse(part)} is not known")
        if part.attr == "name" and not _of_self(part) and part not in converted:
            yield Problem(part, f"what {ast.unparse(part)} names is not certain")


def _private(node: ast.ClassDef, module: Module) -> Iterator[Problem]:
    """Yield private names of TensorFlow that are not known."""
    for part, full in _chains(node, module):
        owner, _, name = full.rpartition(".")
        known = full in MOVED_NAMES or name in PRIVATE_NAMES.get(owner, ())
        if owner in MOVED_MODULES:
            known = name in PRIVATE_NAMES["tensorflow.python.ops.gen_training_ops"]
        if not known:
            yield Problem(part, f"{full} is private and perhaps not there any more")


def private_names(node: ast.ClassDef, module: Module) -> Iterator[Edit]:
    """Yield the edits of private names that moved."""
    for part, full in _chains(node, module):
        if full in MOVED_NAMES:
            yield replace_node(module, part, MOVED_NAMES[full])
    used = {full.rpartition(".")[0] for _, full in _chains(node, module)}
    for statement in module.tree.body:
        if not isinstance(statement, ast.ImportFrom) or len(statement.names) != 1:
            continue
        alias = statement.names[0]
        full = f"{statement.module}.{alias.name}"
        if full in MOVED_MODULES and full in used:
            text = MOVED_MODULES[full][1].format(name=alias.asname or alias.name)
            yield replace_node(module, statement, text)


def _chains(node: ast.ClassDef, module: Module) -> Iterator[tuple[ast.Attribute, str]]:
    """Yield the private names of TensorFlow in a class, in full."""
    inner = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and id(part) not in inner:
            source = imported_as(part, module)
            full = ".".join([source[0], *source[1]]) if source is not None else ""
            if full.startswith("tensorflow.python.") and not module.is_dead(part):
                yield part, full
