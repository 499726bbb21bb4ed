"""Reads TensorFlow's graph rewrite: by call, by session configuration, by options, by environment.

Their effect on the loss: the call wraps the optimizer in a loss scaler, the configuration and
the options only rewrite the graph, the variable does both in the builds of TensorFlow that read it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_reading.readers.python.origins import origin
from crosscast_reading.readers.python.precision import Site, precision_facts, site
from crosscast_tensorflow.reading.eager_steps import eager_tape
from crosscast_tensorflow.reading.keras import policy_sites, scaler_calls

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "tf-rewrite"
VARIABLE = re.compile(r"TF_ENABLE_AUTO_MIXED_PRECISION(_GRAPH_REWRITE|_LOSS_SCALING)?")
_SCALE = ("tf_graph_rewrite", "tf_contrib_mp")
_OWNER = re.compile(r"rewrit|options")
_OPTION = re.compile(r"auto_mixed_precision(_mkl|_onednn_bfloat16|_cpu)?")


class RewriteReader:
    """Reads the four ways to enable automatic mixed precision of graphs."""

    name = NAME
    hints = ("mixed_precision", "TF_ENABLE_AUTO_MIXED_PRECISION", "LossScale")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        rewrites = [*_by_call(program), *_by_config(program), *_by_environment(program)]
        for word, cast in rewrites:
            span = cast.module.span(cast.node)
            yield fact_of("api", Known((word,)), span, reader=NAME)
        beside = list(policy_sites(program)) if rewrites else []
        tape = eager_tape(program) if any(rewrites_by_call(program)) and not beside else None
        casts = [cast for _, cast in rewrites]
        yield from precision_facts(casts, NAME, beside, with_default=tape is None)
        if tape is not None:
            reason = "only graphs are rewritten, and the training step is none"
            span = tape.module.span(tape.node)
            yield unknown("precision.compute_dtype", reason, casts[0].span, span, reader=NAME)
        scaled = bool(scaler_calls(program)) or any(word in _SCALE for word, _ in rewrites)
        for word, cast in rewrites:
            if word == "tf_env_amp" and not scaled:  # else the wrapper tells how
                span = cast.module.span(cast.node)
                under = cast.decision.under
                yield fact_of(
                    "loss_scaling.mode", Known("env_default"), span, under=under, reader=NAME
                )
                yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)
        yield from _scalers(program)


def float16_options(program: Program) -> Iterator[Site]:
    """Yield the options that rewrite graphs: if nothing wraps the optimizer, no loss is scaled."""
    for _word, cast in (*_by_call(program), *_by_config(program)):
        if cast.dtypes == ("float16",):
            yield cast


def rewrites_by_call(program: Program) -> Iterator[Site]:
    """Yield the calls that ask for a rewrite of the graphs of TensorFlow 2 to float16."""
    for word, cast in _by_call(program):
        if word in ("tf_graph_rewrite", "tf_config_automp") and cast.dtypes == ("float16",):
            yield cast


def _by_call(program: Program) -> Iterator[tuple[str, Site]]:
    for name, call in calls_of(program):
        if last(name) == "enable_mixed_precision_graph_rewrite":
            yield "tf_graph_rewrite", site(call.node, call.module, ("float16",))
        elif name == "tensorflow.contrib.mixed_precision.LossScaleOptimizer":
            yield "tf_contrib_mp", site(call.node, call.module, ("float16",))
        elif name.endswith("config.optimizer.set_experimental_options"):
            yield from _options(call)


def _options(call: Call) -> Iterator[tuple[str, Site]]:
    given = call.bound().get("options")
    if not isinstance(given, ast.Dict):
        return
    for key, value in zip(given.keys, given.values, strict=True):
        match key:
            case ast.Constant(value=str() as name) if _OPTION.fullmatch(name):
                if not _is_off(value_of(value, call.module)):
                    yield "tf_config_automp", _switched(call.node, value, call.module, name)


def _switched(node: ast.AST, value: ast.expr, module: Module, key: str) -> Site:
    half = "bfloat16" if key.endswith(("_mkl", "_onednn_bfloat16")) else "float16"
    fixed = isinstance(value, ast.Constant) or origin(value, module) == "always"
    return site(node, module, (half,), switch=None if fixed else value)


def _by_config(program: Program) -> Iterator[tuple[str, Site]]:
    for name, call in calls_of(program):
        if last(name) == "RewriterConfig" or call.method == "RewriterConfig":
            for keyword in call.node.keywords:
                name = keyword.arg or ""
                if _OPTION.fullmatch(name) and _is_on(keyword.value, call.module):
                    cast = _switched(call.node, keyword.value, call.module, name)
                    yield "tf_rewriter_config", cast
    for module in program.modules:
        if "auto_mixed_precision" not in module.source.text:
            continue
        for node, target in assignments(module):
            match target:
                case ast.Attribute(value=owner, attr=option) if _OPTION.fullmatch(option):
                    if _OWNER.search(module.text(owner)) and _is_on(node.value, module):
                        cast = _switched(node, node.value, module, option)
                        yield "tf_rewriter_config", cast


def assignments(module: Module) -> Iterator[tuple[ast.Assign, ast.expr]]:
    """Yield the assignments that can run, and each of their targets."""
    for node in module.every(ast.Assign):
        if not module.is_dead(node):
            for target in node.targets:
                yield node, target


def _is_on(node: ast.expr, module: Module) -> bool:
    match value_of(node, module):
        case Known(value=number, flag=""):
            return number not in (0, 2, None)  # DEFAULT and OFF of a RewriterConfig
        case Symbol(name=name) | Unknown(text=name):
            return last(name) != "OFF"
    return True


def _is_off(value: Value | None) -> bool:
    """Whether a value is False for every launch command."""
    return isinstance(value, Known) and value.value is False and not value.flag


def _by_environment(program: Program) -> Iterator[tuple[str, Site]]:
    for module in program.modules:
        if "TF_ENABLE_AUTO_MIXED_PRECISION" not in module.source.text:
            continue
        for node, target in assignments(module):
            match target:
                case ast.Subscript(value=owner, slice=key) if _is_variable(key):
                    if module.resolve(owner) == "os.environ":
                        yield from _variable(node, node.value, module)
        for call in module.calls:
            yield from _environment_call(call)


def _environment_call(call: Call) -> Iterator[tuple[str, Site]]:
    match call.name, call.node.args:
        case "os.putenv" | "os.environ.setdefault" | "os.environ.__setitem__", [name, given]:
            entries: list[tuple[ast.expr | None, ast.expr]] = [(name, given)]
        case "os.environ.update", [ast.Dict(keys=keys, values=values)]:
            entries = list(zip(keys, values, strict=True))
        case _:
            return
    for key, value in entries:
        if _is_variable(key):
            yield from _variable(call.node, value, call.module)


def _is_variable(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=str() as name):
            return bool(VARIABLE.fullmatch(name))
    return False


def _variable(node: ast.AST, value: ast.expr, module: Module) -> Iterator[tuple[str, Site]]:
    match value_of(value, module):
        case Known(value="" | "0" | "false" | "False", origin="literal" | "constant"):
            return
    yield "tf_env_amp", _switched(node, value, module, "")


def _scalers(program: Program) -> Iterator[Fact]:
    """Yield the loss scale of optimizer wrappers."""
    for name, call in calls_of(program):
        shown = last(name)
        argument = ""
        if shown in ("enable_mixed_precision_graph_rewrite", "MixedPrecisionLossScaleOptimizer"):
            argument = "loss_scale"
        elif name == "tensorflow.contrib.mixed_precision.LossScaleOptimizer":
            argument = "loss_scale_manager"
        if not argument:
            continue
        span = call.module.span(call.node)
        under = tuple(c.text for c in branches(call.node, call.module))
        value = call.argument(argument)
        node = call.bound().get(argument)
        yield from _scale(value, node, call.module, span, under)
        yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)


def _scale(
    value: Value | None,
    node: ast.expr | None,
    module: Module,
    span: Span,
    under: tuple[str, ...],
) -> Iterator[Fact]:
    def mode(word: str) -> Fact:
        return fact_of("loss_scaling.mode", Known(word), span, under=under, reader=NAME)

    match value:
        case None:
            yield mode("framework_default")
        case Known(value="dynamic") | Unknown(default="dynamic", has_default=True):
            yield mode("dynamic")
        case Known(value=int() | float()):
            yield mode("static")
            yield fact_of("loss_scaling.scale", value, span, under=under, reader=NAME)
        case Instance(made_by=made, call=Call() as maker) if "LossScale" in canonical(made):
            yield mode("static" if "Fixed" in made else "dynamic")
            yield from _keeper(maker, under)
        case _:
            yield mode("selectable")
            text = module.owner_of(node).text(node) if node is not None else ""
            if "dynamic" not in text:
                yield fact_of("loss_scaling.scale", value, span, under=under, reader=NAME)


def _keeper(call: Call, under: tuple[str, ...]) -> Iterator[Fact]:
    for argument, field in scaling_words("tensorflow").items():
        value = call.argument(argument) if argument in call.bound() else None
        if value is not None:
            span = call.module.span(call.node)
            yield fact_of(field, value, span, under=under, reader=NAME)


READER = RewriteReader()
