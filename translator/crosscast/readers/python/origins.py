"""Where the value of an expression comes from: a flag, a configuration, a function's caller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from crosscast.pysource.containers import definitions
from crosscast.pysource.evaluate import evaluate
from crosscast.pysource.flags import flag_read
from crosscast.pysource.values import Choice, Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast.pysource.module import Module

Who = Literal["always", "flag", "config", "caller"]
_FLAGS = frozenset({"args", "flags", "opt", "opts", "options", "flags_obj", "arg", "arguments"})
_CONFIGS = frozenset(
    {
        *("config", "cfg", "conf", "params", "hparams", "hps", "hp", "configs", "settings"),
        *("train_config", "training_config", "model_config", "opt_params", "training_args"),
    }
)


def origin(node: ast.expr, module: Module, depth: int = 0) -> Who:
    """Return where the value of an expression comes from; `always` if the source fixes it."""
    found: set[Who] = set()
    for leaf in leaves(node):
        found.add(_leaf(leaf, module, depth))
    order: tuple[Who, ...] = ("flag", "config", "caller")
    return next((w for w in order if w in found), "always")


def located(value: Value | None, node: ast.expr, module: Module) -> Value | None:
    """Return a value that is not known with the place that decides about it as its origin."""
    if isinstance(value, Unknown) and value.origin == "derived" and not value.has_default:
        where = origin(node, module.owner_of(node))
        if where in ("flag", "config"):
            return replace(value, origin=where)
    return value


def by_words(value: Value) -> Value:
    """Return a value that is not known with the origin that the names in its text tell."""
    if not isinstance(value, Unknown) or value.origin != "derived" or value.has_default:
        return value
    try:
        node = ast.parse(value.text, mode="eval").body
    except (SyntaxError, ValueError):
        return value
    roots = {_root(leaf) for leaf in leaves(node) if not isinstance(leaf, ast.Name)}
    if roots & _FLAGS:
        return replace(value, origin="flag")
    return replace(value, origin="config") if roots & _CONFIGS else value


def leaves(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the longest names, attributes and entries within an expression."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        root: ast.AST = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name):
            yield node
            return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.value  # `cfg.get("amp")`: whose method it is
        for given in (*node.args, *(k.value for k in node.keywords)):
            yield from leaves(given)
        return
    if isinstance(node, ast.Call):
        for given in (*node.args, *(k.value for k in node.keywords)):
            yield from leaves(given)
        return
    for child in ast.iter_child_nodes(node):
        yield from leaves(child)


def by_name_of_flag(node: ast.expr, module: Module) -> bool | None:
    """Return the default of the flag that fills `config.amp`, where the names agree."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = by_name_of_flag(node.operand, module)
        return None if inner is None else not inner
    if not isinstance(node, ast.Attribute) or _root(node) not in _CONFIGS:
        return None
    program = module.program
    flag = program.flags.get(node.attr) if program is not None else None
    if flag is None:
        return None
    value = flag.given or flag.default
    return bool(value.value) if isinstance(value, Known) else None


def _root(node: ast.expr) -> str:
    """Return the name that says whose member it is: `config` of `self.config.amp`."""
    here: ast.expr = node
    while isinstance(here, ast.Attribute | ast.Subscript):
        inner = here.value
        if isinstance(inner, ast.Attribute):
            small = inner.attr.lower().strip("_")
            if small in _FLAGS or small in _CONFIGS:
                return small
        here = inner
    return here.id.lower().strip("_") if isinstance(here, ast.Name) else ""


def _leaf(node: ast.expr, module: Module, depth: int) -> Who:
    program = module.program
    if flag_read(node, module) is not None:
        return "flag"
    root = _root(node)
    compound = isinstance(node, ast.Attribute | ast.Subscript)
    if root in _FLAGS:
        return "flag"
    written = node.attr if isinstance(node, ast.Attribute) and root in _CONFIGS else ""
    if program is not None and written in program.flags:
        return "flag"
    value = evaluate(node, module)
    match value:
        case Known(origin="flag") | Unknown(origin="flag" | "shell_variable"):
            return "flag"
        case Known(origin="config") | Unknown(origin="config"):
            return "config"
        case Known() if not (compound and root in _CONFIGS):
            return "always"
        case Unknown(origin="function_argument") if not compound and root not in _CONFIGS:
            return "caller"
        case Choice():
            pass
    if root in _CONFIGS:
        return "config"
    own = isinstance(node, ast.Attribute) and module.text(node.value) == "self"
    if own and isinstance(value, Unknown) and not definitions(node, module):
        return "config"  # what a base class in another file sets
    return _definitions(node, module, depth) if depth < 4 else "always"


def _definitions(node: ast.expr, module: Module, depth: int) -> Who:
    from crosscast.readers.python.switches import conditions

    found: set[Who] = set()
    for one in definitions(node, module):
        if one.kind == "assign" and one.value is not None:
            found.add(origin(one.value, one.module, depth + 1))
            for around in conditions(one.node, one.module, 3):
                if around.node is not node:
                    found.add(origin(around.node, around.module, depth + 1))
        elif one.kind == "parameter":
            program = module.program
            given = program.arguments_for(one, getattr(one.node, "arg", "")) if program else []
            for inner, where in given:
                found.add(origin(inner, where, depth + 1))
            if not given:
                found.add("caller")
    order: tuple[Who, ...] = ("flag", "config", "caller")
    return next((w for w in order if w in found), "always")
