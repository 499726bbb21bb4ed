"""Reads DeepSpeed in Python: `deepspeed.initialize` and configurations in dictionaries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact, Layer
from crosscast.pysource.names.containers import chase
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Known, Unknown
from crosscast.readers.config.deepspeed_config import looks_like_deepspeed, tell_deepspeed
from crosscast.readers.python.fact_writer import FactWriter, content, place_of
from crosscast.readers.python.library_calls import matching
from crosscast.readers.python.trainer_settings import plain_of
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

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


def tree_of(node: ast.Dict, module: Module, depth: int = 0) -> Tree:
    """Return a dictionary of a program as a tree with the places of its parts."""
    keys: dict[str, Tree] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            part = _part(value, module, depth + 1)
            part.key = module.span(key)
            keys[key.value] = part
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
    if isinstance(value, Known) or (isinstance(value, Unknown) and value.has_default):
        plain = plain_of(content(value))
        origin = value.origin
        if not isinstance(plain, tuple):
            return Tree(span, value=plain, origin=origin)
        return Tree(span, items=[Tree(span, value=item) for item in plain], origin=origin)
    reason = value.reason if isinstance(value, Unknown) else "only a run can tell"
    return Tree(span, reason=reason)


def _from_file(writer: FactWriter, call: Call) -> None:
    """Record that a configuration file decides."""
    place = place_of(call)
    writer.say("parallel.kind", "deepspeed", place)
    writer.say("precision.enabled", "config", place, origin="config", confidence="likely")
    writer.unknown("precision.compute_dtype", "set in the configuration of DeepSpeed", place)
    writer.say("loss_scaling.mode", "library", place, confidence="likely")
    writer.say("scaler_update.status", "library", place)


READER = DeepSpeed()
