"""Entries of configuration files that a program loads: `yaml.safe_load`, OmegaConf, Hydra."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_PLAIN = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load")
_OMEGACONF = "omegaconf.OmegaConf.load"
_OPENS = ("open", "io.open", "codecs.open")
_DEPTH = 6

Content = Mapping[str, object]


def from_document(node: ast.expr, module: Module) -> Value | None:
    """Return the entry that `config.optim.lr` or `config["optim"]["lr"]` reads from a file.

    None if no file given is known to be the one that the program loads.
    """
    if module.program.documents is None:
        return None
    keys: list[str] = []
    here = node
    while isinstance(here, ast.Attribute | ast.Subscript) and len(keys) < _DEPTH:
        key = here.attr if isinstance(here, ast.Attribute) else _constant(here.slice)
        if not key:
            return None
        keys.append(key)
        here = here.value
        for content in _contents(here, module):
            return _entry(content, keys[::-1], module.text(node)[:200])
    return None


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _entry(content: Content, keys: list[str], text: str) -> Value:
    entry: object = content
    for key in keys:
        if not isinstance(entry, Mapping):
            return Unknown(text, "a part of an entry of a configuration", "config", names=(text,))
        if key not in entry:
            return Unknown(text, f"the configuration has no {key!r}", "config", names=(text,))
        entry = entry[key]
    if isinstance(entry, Known):
        return Known(entry.value, "config", text)
    if isinstance(entry, Unknown):
        return Unknown(text, entry.reason, "config", names=(text,))
    return Unknown(text, "a section of a configuration", "config", names=(text,))


def _contents(node: ast.expr, module: Module) -> Iterator[Content]:
    """Yield the content of the file that an expression holds."""
    for here, where in chase(node, module):
        if isinstance(here, ast.Call):
            content = _loaded(here, where)
        else:
            content = _composed(here, where) if isinstance(here, ast.Name) else None
        if content is not None:
            yield content


def _loaded(call: ast.Call, module: Module) -> Content | None:
    name = module.resolve(call.func)
    if not call.args or (name not in _PLAIN and name != _OMEGACONF):
        return None
    if name == _OMEGACONF:
        return _document(evaluate(call.args[0], module), module, numbers=True)
    for here, where in chase(call.args[0], module):
        if isinstance(here, ast.Call) and here.args and where.resolve(here.func) in _OPENS:
            return _document(evaluate(here.args[0], where), where, numbers=False)
    return None


def _composed(name: ast.Name, module: Module) -> Content | None:
    """Return the configuration that `hydra.main` gives the first parameter of a function."""
    for binding in definitions(name, module):
        function = binding.scope.node
        if binding.kind != "parameter" or not isinstance(function, ast.FunctionDef):
            continue
        every = [*function.args.posonlyargs, *function.args.args]
        if not every or every[0] is not binding.node:
            continue
        for decorator in function.decorator_list:
            where = binding.module
            if not isinstance(decorator, ast.Call) or where.resolve(decorator.func) != "hydra.main":
                continue
            given = {k.arg: k.value for k in decorator.keywords}
            config = given.get("config_name")
            value = evaluate(config, where) if config is not None else None
            return _document(value, where, numbers=True, composed=True)
    return None


def _document(
    value: Value | None, module: Module, *, numbers: bool, composed: bool = False
) -> Content | None:
    named = value.value if isinstance(value, Known) else None
    if isinstance(value, Unknown) and value.has_default:
        named = value.default
    program = module.program
    if not isinstance(named, str) or not named or program.documents is None:
        return None
    return program.documents(named, numbers or named.endswith(".json"), composed)
