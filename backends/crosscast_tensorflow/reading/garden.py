"""Reads programs that enable mixed precision through helper functions of other files.

The official models of TensorFlow do it with `performance.configure_optimizer`,
`performance.set_mixed_precision_policy` and `flags_core.get_loss_scale`; others with functions of
their own whose names say so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.config_tree import MAX_DEPTH, tree_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    last,
    plain,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.origins import origin
from crosscast_reading.readers.python.precision import Site, precision_facts, site, types_in
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_tensorflow.reading.keras import SCALER_OF_KERAS_2, policy_sites
from crosscast_tensorflow.reading.model_garden import tell_experiment

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_WHOLE, _PART = "ExperimentConfig", "OptimizationConfig"

NAME = "tf-helpers"
_POLICY = re.compile(r"set_mixed_precision_policy|setup_mixed_precision\w*|set_policy_for_\w+")
_HELPER = re.compile(
    r"(get|set|init|configure|enable|use|build)\w{0,60}(mxp|precision|amp)\w{0,60}"
)
_SWITCH = re.compile(r"amp|fp16|float16|bf16|half|mixed|mxp|precision|dtype", re.I)
_UPDATES = re.compile(r"create_optimizer|build_optimizer|get_train_op|create_train_op")
_HALF = re.compile(r"(use_|enable_)?(amp|fp16|mixed_precision|float16)")
_WINDOW = re.compile(
    r"(num_)?(gradient_)?(accum\w*_steps|accumulation_steps|accumulate_steps|steps_accum)"
)


class GardenReader:
    """Reads calls of helper functions that are not in the given files."""

    name = NAME
    hints = (
        "precision",
        "configure_optimizer",
        "mxp",
        "get_loss_scale",
        "amp",
        "OptimizationConfig",
    )

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "tensorflow") and not any(
            name.startswith("official.") for name, _ in calls_of(program)
        ):
            return
        yield from _garden_experiments(program, NAME)
        configured = [c for c in _unknown(program) if c.method == "configure_optimizer"]
        for call in configured:
            yield from _configured(call)
        if configured or any(policy_sites(program)):
            return
        sites = list(_helpers(program))
        yield from precision_facts(sites, NAME) if sites else _untyped(program)
        yield from _handed_on(program)


def _unknown(program: Program) -> Iterator[Call]:
    """Yield the calls of functions of other files."""
    for name, call in calls_of(program):
        if program.function(call) is None and not name.startswith(("tensorflow.", "keras.")):
            yield call


def _configured(call: Call) -> Iterator[Fact]:
    """Yield the facts of `configure_optimizer(optimizer, use_float16=, use_graph_rewrite=)`."""
    words = call.bound()
    span = call.module.span(call.node)
    sites: list[Site] = []
    for name, api in (("use_float16", "keras_mp"), ("use_graph_rewrite", "tf_graph_rewrite")):
        if name in words:
            yield fact_of("api", Known((api,)), call.module.span(words[name]), reader=NAME)
            if name == "use_float16":
                sites.append(site(call.node, call.module, ("float16",), switch=words[name]))
    yield from precision_facts(sites, NAME)
    if not sites:
        return
    yield fact_of("loss_scaling.api", Known(SCALER_OF_KERAS_2), span, reader=NAME)
    yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)
    scale = words.get("loss_scale")
    value = value_of(scale, call.module)
    place = call.module.span(scale) if scale is not None else span
    if isinstance(scale, ast.Call):  # of `get_loss_scale`, with the value for float16
        value = value_of(keyword(scale, "default_for_fp16"), call.module)
    known = plain(value)
    if known == "dynamic" or scale is None:
        yield fact_of("loss_scaling.mode", Known("dynamic"), place, reader=NAME)
    elif isinstance(known, int | float):
        yield fact_of("loss_scaling.mode", Known("static"), place, reader=NAME)
        yield fact_of("loss_scaling.scale", Known(known, "flag"), place, reader=NAME)
    else:
        yield fact_of("loss_scaling.mode", Known("selectable"), place, reader=NAME)


def _helpers(program: Program) -> Iterator[Site]:
    """Yield calls of helpers whose arguments name the type."""
    for call in _unknown(program):
        if not _POLICY.fullmatch(call.method):
            continue
        for given in [*call.node.args, *(k.value for k in call.node.keywords)][:1]:
            named_types = types_in(value_of(given, call.module))
            types = named_types if set(named_types) - {"float32"} else HALVES
            yield site(call.node, call.module, types, chosen=given)


def _untyped(program: Program) -> Iterator[Fact]:
    """Yield who decides, if a called helper is not in the given files."""
    for call in _unknown(program):
        if not _HELPER.fullmatch(call.method):
            continue
        given = [*call.node.args, *(k.value for k in call.node.keywords)]
        for argument in given:
            who = origin(argument, call.module)
            if who != "always" and _SWITCH.search(call.module.text(argument)):
                span = call.module.span(call.node)
                yield fact_of(
                    "precision.enabled", Known(who), span, reader=NAME, confidence="likely"
                )
                off = plain(value_of(argument, call.module))
                if off in (False, "none", "float32", "fp32", "no", "off"):
                    yield fact_of("precision.compute_dtype", Known("float32"), span, reader=NAME)
                return


def _handed_on(program: Program) -> Iterator[Fact]:
    """Yield the facts of switches passed to a function of another file that makes the update."""
    for call in _unknown(program):
        if not _UPDATES.fullmatch(call.method):
            continue
        given: list[tuple[str | None, ast.expr]] = [(None, each) for each in call.node.args]
        given += [(k.arg, k.value) for k in call.node.keywords]
        for word, argument in given:
            text = word or call.module.text(argument).rpartition(".")[2]
            who = origin(argument, call.module)
            if who == "always":
                continue
            value = value_of(argument, call.module)
            if _HALF.fullmatch(text) and isinstance(plain(value), bool | None):
                half = site(call.node, call.module, ("float16",), switch=argument)
                yield from precision_facts([half], NAME)
                yield fact_of("loss_scaling.mode", Known("elsewhere"), half.span, reader=NAME)
            elif _WINDOW.fullmatch(text):
                span = call.module.span(argument)
                yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
                yield fact_of("accumulation.steps", value, span, reader=NAME)
        return


def _garden_experiments(program: Program, reader: str) -> Iterator[Fact]:
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


READER = GardenReader()
