"""Origins of values: a flag, a configuration, the caller of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.python.library_calls import parts_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.module import Module

Who = Literal["always", "flag", "config", "caller"]
_FLAGS = frozenset(
    {
        *("args", "flags", "opt", "opts", "options", "flags_obj", "arg", "arguments", "argv"),
        *("cli_args", "cmd_args", "parsed_args"),
    }
)
_CONFIGS = frozenset(
    {
        *("config", "cfg", "conf", "params", "hparams", "hps", "hp", "configs", "settings"),
        *("train_config", "training_config", "model_config", "opt_params", "training_args"),
        *("c", "hyp", "h", "train_cfg", "fabric_config", "trainer_config"),
    }
)
_PARSES = frozenset({"parse_args", "parse_args_into_dataclasses"})
_ORDER: tuple[Who, ...] = ("flag", "config", "caller")
_SETTINGS = ("ml_collections.ConfigDict.", "easydict.EasyDict.", "addict.Dict.")
"""Classes of settings whose attributes are entries of a file."""
_DEPTH = 6


def flag_behind(node: ast.expr, module: Module) -> Flag | None:
    """Return the flag that fills `config.amp`, if the names agree (ignoring case for `AMP_LEVEL`).

    A single upper-case word is just as often an entry of the configuration itself.
    """
    if not isinstance(node, ast.Attribute) or root_of(node) not in _CONFIGS:
        return None
    flags = module.program.flags
    return flags.get(node.attr) or (flags.get(node.attr.lower()) if "_" in node.attr else None)


def root_of(node: ast.expr) -> str:
    """Return the name of the owning object: `config` of `self.config.amp`."""
    here: ast.expr = node
    while isinstance(here, ast.Attribute | ast.Subscript):
        inner = here.value
        if isinstance(inner, ast.Attribute):
            small = inner.attr.lower().strip("_")
            if small in _FLAGS or small in _CONFIGS:
                return small
        here = inner
    return here.id.lower().strip("_") if isinstance(here, ast.Name) else ""


def origin(node: ast.expr, module: Module, depth: int = 0) -> Who:
    """Return flag, config or caller; `always` if the value is fixed in the source."""
    origins = {_leaf(leaf, module, depth) for leaf in leaves(node)}
    return next((who for who in _ORDER if who in origins), "always")


@overload
def located(value: Value, node: ast.expr, module: Module) -> Value: ...
@overload
def located(value: Value | None, node: ast.expr, module: Module) -> Value | None: ...
def located(value: Value | None, node: ast.expr, module: Module) -> Value | None:
    """Return an unknown value with its origin filled in."""
    if isinstance(value, Unknown) and value.origin == "derived" and not value.has_default:
        where = origin(node, module.owner_of(node))
        if where in ("flag", "config"):
            return replace(value, origin=where)
    return value


def by_words(value: Value) -> Value:
    """Return an unknown value with the origin that the names in its text suggest."""
    if not isinstance(value, Unknown) or value.origin != "derived":
        return value
    if value.has_default and "getattr(" not in value.text:
        return value
    try:
        node = ast.parse(value.text, mode="eval").body
    except (SyntaxError, ValueError):
        return value
    roots = {root_of(leaf) for leaf in leaves(node) if not isinstance(leaf, ast.Name)}
    if roots & _FLAGS:
        return replace(value, origin="flag")
    return replace(value, origin="config") if roots & _CONFIGS else value


def leaves(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the maximal names, attributes and subscripts inside an expression."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        root: ast.AST = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name):
            yield node
            return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.value  # `cfg.get("amp")`: follow the owner of the method
        for given in (*node.args, *(k.value for k in node.keywords)):
            yield from leaves(given)
        return
    if isinstance(node, ast.Call):
        for given in (*node.args, *(k.value for k in node.keywords)):
            yield from leaves(given)
        return
    for child in ast.iter_child_nodes(node):
        yield from leaves(child)


def _leaf(node: ast.expr, module: Module, depth: int) -> Who:
    if flag_read(node, module) is not None or flag_behind(node, module) is not None:
        return "flag"
    compound = isinstance(node, ast.Attribute | ast.Subscript)
    if root_of(node) in _FLAGS:
        return "config" if _is_nested(node) else "flag"
    if isinstance(node, ast.Subscript) and depth < _DEPTH:
        by_key = origin(node.slice, module, depth + 1)  # `TYPES[args.dtype]`
        if by_key == "flag":
            return by_key
    value = evaluate(node, module)
    match value:
        case Known(origin="flag") | Unknown(origin="flag" | "shell_variable"):
            return "flag"
        case Known(origin="config") | Unknown(origin="config"):
            return "config"
        case Known(origin="literal" | "constant") if not compound:
            return "always"
    if compound and is_parsed(node, module):
        return "flag"
    if compound and root_of(node) in _CONFIGS:
        return "config"
    if compound and module.resolve(node).startswith(_SETTINGS):
        return "config"
    if depth >= _DEPTH:
        return "always"
    bindings = definitions(node, module)
    own = isinstance(node, ast.Attribute) and module.text(node.value) == "self"
    if own and isinstance(value, Unknown) and not bindings:
        return "config"  # what a base class in another file sets
    origins = {who for binding in bindings for who in _of_binding(binding, node, depth)}
    return next((who for who in _ORDER if who in origins), "always")


def _is_nested(node: ast.expr) -> bool:
    """Whether it is an entry of a section, which no parser of flags has.

    `args["meta"]["amp"]`, `args.train.amp`
    """
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name() | ast.Attribute() as owner)):
            return identifier(owner).lower().strip("_") in _FLAGS
        case ast.Subscript(
            value=ast.Subscript(slice=ast.Constant(value=str())), slice=ast.Constant(value=str())
        ):
            return True
    return False


def is_parsed(node: ast.expr, module: Module) -> bool:
    """Whether it belongs to what a parser of the command line returned, whatever its name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    made = [binding.value for binding in definitions(node, module)]
    return bool(made) and all(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _PARSES
        for value in made
    )


def _of_binding(binding: Binding, use: ast.expr, depth: int) -> list[Who]:
    match binding:
        case Binding(kind="parameter", node=ast.arg(arg=name)):
            return _of_parameter(binding, name, depth)
        case Binding(kind="assign" | "with", value=ast.expr() as value):
            deeper = depth + 1 if _is_transparent(value, binding.module) else _DEPTH
            origins = [origin(value, binding.module, deeper)]
            for test in tests_around(binding.node, binding.module):
                if not _within(use, test):
                    origins.append(origin(test, binding.module, depth + 1))
            return origins
    return []


def tests_around(node: ast.AST, module: Module) -> list[ast.expr]:
    """Return the tests of the branches that a node stands in within its function."""
    tests = []
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If):
            tests.append(here.test)
        here = module.parent(here)
    return tests


def _is_transparent(node: ast.expr, module: Module) -> bool:
    """Whether a call passes its arguments on: a conversion or an object of a library."""
    if not isinstance(node, ast.Call):
        return True
    name = module.resolve(node.func)
    return is_of_framework(name) or name in ("bool", "int", "str", "float", "getattr", "not")


def _within(node: ast.AST, other: ast.AST) -> bool:
    return any(descendant is node for descendant in walk(other))


def _of_parameter(binding: Binding, name: str, depth: int) -> list[Who]:
    given = binding.module.program.arguments_for(binding)
    if given:
        return [origin(inner, where, depth + 1) for inner, where in given]
    small = name.lower()
    if spread := _spread(binding):
        return [spread]
    if small in _FLAGS:
        return ["flag"]
    return ["config" if small in _CONFIGS else "caller"]


def _spread(binding: Binding) -> Who | None:
    """Return the origin of `**settings` that may fill a parameter: config or flag."""
    function = binding.scope.node
    if not isinstance(function, ast.FunctionDef):
        return None
    for site in binding.module.program.call_sites(binding.module, function):
        for keyword in site.node.keywords:
            if keyword.arg is None:
                words = parts_of(site.module.text(keyword.value))
                if words & {"config", "cfg", "conf", "settings", "hparams", "params"}:
                    return "config"
                if words & {"args", "arguments", "opts", "options"}:
                    return "flag"
    return None
