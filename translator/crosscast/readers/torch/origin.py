"""Where the value of an expression comes from: the command line, a configuration, the caller."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.containers import definitions
from crosscast.pysource.evaluate import evaluate
from crosscast.pysource.flags import flag_read
from crosscast.pysource.nodes import walk
from crosscast.pysource.values import Known, Unknown
from crosscast.readers.python.switches import leaves
from crosscast.readers.torch.told import parts_of

if TYPE_CHECKING:
    from crosscast.pysource.flags import Flag
    from crosscast.pysource.module import Module
    from crosscast.pysource.scopes import Binding

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
_ORDER = ("flag", "config", "caller")
_DEPTH = 6


def flag_behind(node: ast.expr, module: Module) -> Flag | None:
    """Return the flag that fills `config.AMP_LEVEL`, where the names agree."""
    if not isinstance(node, ast.Attribute) or root_of(node) not in _CONFIGS:
        return None
    program = module.program
    return program.flags.get(node.attr.lower()) if program is not None else None


def root_of(node: ast.expr) -> str:
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


def origin(node: ast.expr, module: Module, depth: int = 0) -> str:
    """Return flag, config or caller; `always` if the source fixes it."""
    found = {_leaf(leaf, module, depth) for leaf in leaves(node)}
    return next((who for who in _ORDER if who in found), "always")


def _leaf(node: ast.expr, module: Module, depth: int) -> str:
    if flag_read(node, module) is not None or flag_behind(node, module) is not None:
        return "flag"
    compound = isinstance(node, ast.Attribute | ast.Subscript)
    if compound and root_of(node) in _FLAGS:
        return "flag"
    match evaluate(node, module):
        case Known(origin="flag") | Unknown(origin="flag" | "shell_variable"):
            return "flag"
        case Known(origin="config") | Unknown(origin="config"):
            return "config"
    if compound and root_of(node) in _CONFIGS:
        return "config"
    if depth >= _DEPTH:
        return "always"
    found = {who for one in definitions(node, module) for who in _of_binding(one, node, depth)}
    return next((who for who in _ORDER if who in found), "always")


def _of_binding(one: Binding, use: ast.expr, depth: int) -> list[str]:
    if one.kind == "parameter" and isinstance(one.node, ast.arg):
        return _of_parameter(one, one.node.arg, depth)
    if one.kind not in ("assign", "with") or one.value is None or one.value is use:
        return []
    deeper = depth + 1 if _is_transparent(one.value, one.module) else _DEPTH
    found = [origin(one.value, one.module, deeper)]
    for test in tests_around(one.node, one.module):
        if not _within(use, test):
            found.append(origin(test, one.module, depth + 1))
    return found


def tests_around(node: ast.AST, module: Module) -> list[ast.expr]:
    """Return the tests of the branches that a node stands in within its function."""
    found = []
    child, here = node, module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If) and child is not here.test:
            found.append(here.test)
        child, here = here, module.parent(here)
    return found


def _is_transparent(node: ast.expr, module: Module) -> bool:
    """Whether the value of a call is that of its arguments, or a library's object made of them."""
    if not isinstance(node, ast.Call):
        return True
    name = module.resolve(node.func)
    return name.startswith("torch.") or name in ("bool", "int", "str", "float", "getattr", "not")


def _within(node: ast.AST, other: ast.AST) -> bool:
    return any(one is node for one in walk(other))


def _of_parameter(one: Binding, name: str, depth: int) -> list[str]:
    program = one.module.program
    given = program.arguments_for(one, name) if program is not None else []
    if given:
        return [origin(inner, where, depth + 1) for inner, where in given]
    if name in ("self", "cls"):
        return []
    small = name.lower()
    if spread := _spread(one):
        return [spread]
    if small in _FLAGS:
        return ["flag"]
    return ["config" if small in _CONFIGS or one.scope.qualname.endswith("__init__") else "caller"]


def _spread(one: Binding) -> str:
    """Return whose `**settings` may fill a parameter: of a configuration, of the command line."""
    program, function = one.module.program, one.scope.node
    if program is None or not isinstance(function, ast.FunctionDef):
        return ""
    for site in program.call_sites(one.module, function):
        for keyword in site.node.keywords:
            if keyword.arg is None:
                words = parts_of(site.module.text(keyword.value))
                if words & {"config", "cfg", "conf", "settings", "hparams", "params"}:
                    return "config"
                if words & {"args", "arguments", "opts", "options"}:
                    return "flag"
    return ""
