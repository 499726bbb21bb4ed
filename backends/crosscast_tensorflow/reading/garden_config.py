"""Experiments of TensorFlow's Model Garden that Python functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.readers.python.config_tree import MAX_DEPTH, tree_of
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_tensorflow.reading.model_garden import tell_experiment

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_WHOLE, _PART = "ExperimentConfig", "OptimizationConfig"


def garden_experiments(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts of calls of ExperimentConfig, or of OptimizationConfig without one."""
    calls = [call for module in program.modules for call in module.calls if _is_garden(call)]
    whole = [call for call in calls if last(call.name) == _WHOLE]
    for call in calls:
        module = call.module
        tree = _tree(call.node, module)
        if last(call.name) == _PART:
            if whole:
                continue
            trainer = Tree(tree.span, keys={"optimizer_config": tree})
            tree = Tree(tree.span, keys={"trainer": trainer})
        writer = SettingWriter(reader, home=(module.span(call.node),))
        tell_experiment(writer, tree)
        yield from writer.facts


def _is_garden(call: Call) -> bool:
    """Whether a call makes a configuration object of the Model Garden."""
    name = call.name
    return last(name) in (_WHOLE, _PART) and name.startswith("official.")


def _tree(node: ast.expr, module: Module, depth: int = 0) -> Tree:
    """Return an expression as a tree; a call of a class `...Config` is a mapping."""
    if depth > MAX_DEPTH:
        return tree_of(node, module)
    match definitions(node, module):
        case [Binding(kind="assign", value=ast.Call() | ast.Dict() as value, path=()) as bound]:
            return _tree(value, bound.module, depth + 1)
    if isinstance(node, ast.Dict):
        keys: dict[str, Tree] = {}
        for key, inner in zip(node.keys, node.values, strict=True):
            match key:
                case ast.Constant(value=name):
                    keys[str(name)] = _keyed(inner, key, module, depth)
        return Tree(module.span(node), keys=keys)
    if isinstance(node, ast.Call) and last(module.call(node).name).endswith("Config"):
        keys = dict(_tree(node.args[0], module, depth + 1).keys or {}) if node.args else {}
        for keyword in node.keywords:
            match keyword:
                case ast.keyword(arg=str(name), value=inner):
                    keys[name] = _keyed(inner, keyword, module, depth)
        return Tree(module.span(node), keys=keys)
    return tree_of(node, module)


def _keyed(node: ast.expr, key: ast.AST, module: Module, depth: int) -> Tree:
    tree = _tree(node, module, depth + 1)
    tree.key = module.span(key)
    return tree
