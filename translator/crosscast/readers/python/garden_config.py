"""Experiments of TensorFlow's Model Garden that Python functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.config.model_garden import tell_experiment
from crosscast.readers.python.config_tree import MAX_DEPTH, tree_of
from crosscast.readers.python.library_calls import last
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

_WHOLE, _PART = "ExperimentConfig", "OptimizationConfig"


def garden_experiments(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts of calls of ExperimentConfig, or of OptimizationConfig without one."""
    calls = [call for module in program.modules for call in module.calls if _is_garden(call)]
    whole = [call for call in calls if last(call.name) == _WHOLE]
    inside = {node for call in whole for node in walk(call.node)}
    for call in calls:
        module = call.module
        tree = _tree(call.node, module)
        if last(call.name) == _PART:
            if call.node in inside or whole:
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
    if isinstance(node, ast.Name):
        bound = [binding for binding in definitions(node, module) if binding.kind == "assign"]
        value = bound[0].value if len(bound) == 1 and not bound[0].path else None
        if isinstance(value, ast.Call | ast.Dict):
            return _tree(value, bound[0].module, depth + 1)
    if isinstance(node, ast.Dict):
        keys: dict[str, Tree] = {}
        for key, inner in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                keys[str(key.value)] = _keyed(inner, key, module, depth)
        return Tree(module.span(node), keys=keys)
    if isinstance(node, ast.Call) and last(module.call(node).name).endswith("Config"):
        keys = dict(_tree(node.args[0], module, depth + 1).keys or {}) if node.args else {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                keys[keyword.arg] = _keyed(keyword.value, keyword, module, depth)
        return Tree(module.span(node), keys=keys)
    return tree_of(node, module)


def _keyed(node: ast.expr, key: ast.AST, module: Module, depth: int) -> Tree:
    found = _tree(node, module, depth + 1)
    found.key = module.span(key)
    return found
