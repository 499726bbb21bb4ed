"""Reads DeepSpeed in Python: `deepspeed.initialize` and configurations in dictionaries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.config.deepspeed_config import (
    looks_like_deepspeed,
    tell_changes,
    tell_deepspeed,
)
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of
from crosscast_reading.readers.python.library_calls import matching
from crosscast_reading.readers.python.trainer_settings import plain_of
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "deepspeed"
_INITIALIZE = re.compile(r"deepspeed\.initialize")
_DEPTH = 6


class DeepSpeed:
    """Reads deepspeed.initialize."""

    name = NAME
    hints = ("deepspeed",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts of DeepSpeed's configuration, as far as the program contains it."""
        writer = FactWriter(NAME)
        for _, call in matching(program, _INITIALIZE):
            place = place_of(call)
            writer.say("api", "deepspeed", place)
            facts = _configured(call)
            if facts:
                writer.facts += facts
            else:
                _from_file(writer, call)
                writer.facts += _changed(call)
            writer.say("zero_grad.where", "library", place)
            break
        yield from writer.facts


def _configured(call: Call) -> list[Fact]:
    """Return the facts of a configuration in a dictionary of the program."""
    bound = call.bound()
    for name in ("config", "config_params"):
        node = bound.get(name)
        if node is None:
            continue
        module = call.module.owner_of(node)
        for here, where in chase(node, module):
            if isinstance(here, ast.Dict):
                tree = tree_of(here, where)
                if not looks_like_deepspeed(tree):
                    continue
                writer = SettingWriter(NAME, layer=Layer.SCRIPT)
                tell_deepspeed(writer, tree)
                place = (place_of(call),)
                return [f if f.places else replace(f, places=place) for f in writer.facts]
    return []


def _changed(call: Call) -> list[Fact]:
    """Return the facts of entries that the program sets in a configuration of a file."""
    node = call.bound().get("config") or call.bound().get("config_params")
    if not isinstance(node, ast.Name):
        return []
    module = call.module.owner_of(node)
    tree = Tree(module.span(node), keys={})
    for place in module.nodes:
        match place:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                path = _path(target, node.id)
                if path and module.function_of(place) is module.function_of(call.node):
                    _enter(tree, path, target, value, module)
    writer = SettingWriter(NAME, layer=Layer.CONFIG)
    tell_changes(writer, tree)
    # What is set replaces what the file says; what remains unknown does not.
    placed = [fact for fact in writer.facts if fact.places]
    return [replace(fact, layer=Layer.LAUNCHER) if fact.known else fact for fact in placed]


def _path(target: ast.expr, name: str) -> list[str]:
    """Return the keys of `config["a"]["b"]`; empty for another name or other keys."""
    keys: list[str] = []
    while True:
        match target:
            case ast.Subscript(value=target, slice=ast.Constant(value=str(key))):
                keys.insert(0, key)
            case ast.Name(id=root):
                return keys if root == name else []
            case _:
                return []


def _enter(tree: Tree, path: list[str], target: ast.expr, value: ast.expr, module: Module) -> None:
    for key in path[:-1]:
        inner = (tree.keys or {}).get(key)
        if inner is None:
            inner = Tree(module.span(target), keys={}, key=module.span(target))
            tree.keys = {**(tree.keys or {}), key: inner}
        tree = inner
    part = _part(value, module, 0)
    part.key = module.span(target)
    tree.keys = {**(tree.keys or {}), path[-1]: part}


def tree_of(node: ast.Dict, module: Module, depth: int = 0) -> Tree:
    """Return a dictionary of a program as a tree with the places of its parts."""
    keys: dict[str, Tree] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        match key:
            case ast.Constant(value=str(word)):
                keys[word] = _part(value, module, depth + 1)
                keys[word].key = module.span(key)
    return Tree(module.span(node), keys=keys)


def _part(node: ast.expr, module: Module, depth: int) -> Tree:
    span = module.span(node)
    if depth < _DEPTH:
        for here, where in chase(node, module):
            if isinstance(here, ast.Dict):
                return tree_of(here, where, depth)
    if isinstance(node, ast.List | ast.Tuple):
        return Tree(span, items=[_part(element, module, depth + 1) for element in node.elts])
    value = evaluate(node, module)
    match value:
        case Known(origin=origin) | Unknown(has_default=True, origin=origin):
            plain = plain_of(content(value))
            if not isinstance(plain, tuple):
                return Tree(span, value=plain, origin=origin)
            return Tree(span, items=[Tree(span, value=item) for item in plain], origin=origin)
        case Unknown(reason=reason):
            return Tree(span, reason=reason)
    return Tree(span, reason="only a run can tell")


def _from_file(writer: FactWriter, call: Call) -> None:
    """Record that a configuration file decides."""
    place = place_of(call)
    writer.say("parallel.kind", "deepspeed", place)
    writer.say("precision.enabled", "config", place, origin="config", confidence="likely")
    writer.unknown("precision.compute_dtype", "set in the configuration of DeepSpeed", place)
    writer.say("loss_scaling.mode", "library", place, confidence="likely")
    writer.say("scaler_update.status", "library", place)


READER = DeepSpeed()
