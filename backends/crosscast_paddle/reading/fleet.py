"""Reads how Paddle programs run in parallel: fleet strategies, DataParallel, the old transpiler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast_paddle.reading.amp import mode_facts
from crosscast_paddle.reading.static import SETTINGS
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.decisions import RECOMPUTING, decide, decide_recomputing
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    last,
    plain,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.origins import located
from crosscast_reading.readers.python.precision import precision_facts, site

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "paddle-fleet"
_STRATEGY = re.compile(
    r"paddle\.(distributed\.fleet|fluid\.incubate\.fleet)\.[\w.]*DistributedStrategy"
)
_PARALLEL = re.compile(r"paddle\.(([\w.]+\.)?dygraph\.(parallel\.)?)?DataParallel")
_ENABLES = frozenset({"set_recompute", "enable_recompute", "recompute_enable"})
"""Methods of models of PaddleNLP and ppdiffusers that switch recomputing on."""
_HYBRID = ("mp_degree", "pp_degree", "sharding_degree", "sep_degree")
Entries = Mapping[str, tuple[ast.expr, "Module"]]


class PaddleFleetReader:
    """Reads DistributedStrategy and other forms of parallel training."""

    name = NAME
    hints = (
        "fleet",
        "DistributedFusedLamb",
        "DataParallel",
        "DistributeTranspiler",
        "GradientMerge",
        "recompute",
        "Recompute",
        "with_data_parallel",
        "ParallelExecutor",
    )

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "paddle"):
            return
        for module in program.modules:
            yield from _strategy(module)
        yield from _wrapped(program)
        yield from _kinds(program)
        yield from _api(program)


def _api(program: Program) -> Iterator[Fact]:
    for name, call in calls_of(program):
        if _STRATEGY.fullmatch(name):
            yield fact_of("api", Known(("paddle_fleet",)), call.module.span(call.node), reader=NAME)
            return


def attributes(module: Module) -> Iterator[tuple[str, ast.Assign, ast.expr]]:
    """Yield assignments to attributes of strategies: name, statement, object."""
    for node in module.every(ast.Assign):
        if not module.is_dead(node):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and _is_strategy(target.value, module):
                    yield target.attr, node, target.value


def _is_strategy(node: ast.expr, module: Module) -> bool:
    names = module.resolve_all(node)
    if any(last(name) == "DistributedStrategy" for name in names):
        return True
    return "strategy" in module.text(node).lower() and not names


def entries(node: ast.expr, module: Module) -> dict[str, tuple[ast.expr, Module]]:
    """Return the entries of a dictionary display, also behind a name."""
    for here, where in chase(node, module):
        match here:
            case ast.Dict(keys=keys, values=values):
                words = [str(getattr(key, "value", "")) for key in keys]
                return {word: (value, where) for word, value in zip(words, values, strict=True)}
            case ast.Call(func=ast.Name(id="dict"), keywords=given):
                return {keyword.arg or "": (keyword.value, where) for keyword in given}
    return {}


def _off(node: ast.expr, module: Module) -> bool:
    value = value_of(node, module)
    return isinstance(value, Known) and value.value in (False, 0) and value.origin == "literal"


def _strategy(module: Module) -> Iterator[Fact]:
    for name, node, _owner in attributes(module):
        if _off(node.value, module):
            continue
        if name in ("amp", "use_amp"):
            fixed = isinstance(node.value, ast.Constant)
            cast = site(node, module, ("float16",), switch=None if fixed else node.value)
            yield from precision_facts([cast], NAME)
            if not any(n == "amp_configs" for n, _, _ in attributes(module)):
                yield from mode_facts(None, False, module.span(node), cast.decision.under, NAME)
            yield fact_of("scaler_update.status", Known("library"), module.span(node), reader=NAME)
        elif name == "amp_configs":
            yield from _amp(node, module)
        elif name == "gradient_merge":
            yield from _merge(node, module)
        elif name == "gradient_merge_configs":
            yield from _merge_configs(entries(node.value, module), node, module)
        elif name == "pipeline_configs":
            yield from _pipeline(entries(node.value, module), node, module)
        elif name in ("recompute", "forward_recompute"):
            decision = decide(branches(node, module), node.value, module, RECOMPUTING, unnamed=True)
            if decision.who == "never":
                continue
            word = {"always": "yes", "caller": "yes"}.get(decision.who, decision.who)
            span = module.span(node)
            yield fact_of("activation_checkpointing", Known(word), span, reader=NAME)
        else:
            settings = entries(node.value, module)
            if any(
                plain(value_of(*settings[k])) not in (1, 0, -1) for k in _HYBRID if k in settings
            ):
                span = module.span(node)
                yield fact_of("parallel.kind", Known(("fleet_hybrid",)), span, reader=NAME)


def _amp(node: ast.Assign, module: Module) -> Iterator[Fact]:
    settings = entries(node.value, module)
    under = tuple(c.text for c in branches(node, module))
    dynamic = settings.get("use_dynamic_loss_scaling")
    stated = any(name in settings for name in SETTINGS)
    value = value_of(*dynamic) if dynamic is not None else None
    yield from mode_facts(value, stated, module.span(node), under, NAME)
    for name, field in SETTINGS.items():
        if name in settings:
            inner, where = settings[name]
            setting = value_of(inner, where)
            yield fact_of(field, setting, where.span(inner), under=under, reader=NAME)


def _merge(node: ast.Assign, module: Module) -> Iterator[Fact]:
    span = module.span(node)
    yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
    yield fact_of("accumulation.no_sync", Known("library"), span, reader=NAME)
    yield fact_of("accumulation.tail", Known("carried_over"), span, reader=NAME)
    if not any(name == "gradient_merge_configs" for name, _, _ in attributes(module)):
        yield fact_of("accumulation.loss_divided", Known("library"), span, reader=NAME)


def _merge_configs(settings: Entries, node: ast.AST, module: Module) -> Iterator[Fact]:
    span = module.span(node)
    if "k_steps" in settings:
        inner, where = settings["k_steps"]
        value = located(value_of(inner, where), inner, where)
        yield fact_of("accumulation.steps", value, where.span(inner), reader=NAME)
    average = value_of(*settings["avg"]) if "avg" in settings else None
    word = "library"
    if isinstance(average, Known):
        word = "yes" if average.value else "no"
    yield fact_of("accumulation.loss_divided", Known(word), span, reader=NAME)


def _pipeline(settings: Entries, node: ast.AST, module: Module) -> Iterator[Fact]:
    """Yield the micro-batches that a pipeline splits every batch into; it divides their losses."""
    if "accumulate_steps" not in settings:
        return
    inner, where = settings["accumulate_steps"]
    value = located(value_of(inner, where), inner, where)
    if plain(value) == 1:
        return
    span = module.span(node)
    yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
    yield fact_of("accumulation.steps", value, where.span(inner), reader=NAME)
    for field in ("loss_divided", "no_sync", "tail"):
        yield fact_of(f"accumulation.{field}", Known("library"), span, reader=NAME)


def _wrapped(program: Program) -> Iterator[Fact]:
    """Yield the facts of optimizer wrappers and of calls of recompute."""
    for name, call in calls_of(program):
        span = call.module.span(call.node)
        shown = last(name)
        if shown == "GradientMergeOptimizer":
            settings = {k: (v, call.module) for k, v in call.bound().items()}
            yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
            yield fact_of("accumulation.no_sync", Known("library"), span, reader=NAME)
            yield fact_of("accumulation.tail", Known("carried_over"), span, reader=NAME)
            yield from _merge_configs(settings, call.node, call.module)
        elif shown == "DistributedFusedLamb":
            yield fact_of("api", Known(("paddle_fleet",)), span, reader=NAME)
            yield from _fused(call)
        elif name.startswith("paddle.") and shown in ("recompute", "RecomputeOptimizer"):
            decision = decide_recomputing(call)
            if decision.who == "never":
                continue
            word = {"always": "yes", "caller": "yes"}.get(decision.who, decision.who)
            yield fact_of("activation_checkpointing", Known(word), span, reader=NAME)
        elif call.method in _ENABLES:
            yield from _enabled(call)


def _enabled(call: Call) -> Iterator[Fact]:
    """Yield who decides about recomputing in `model.set_recompute(args.recompute)`."""
    given = call.node.args[0] if call.node.args else None
    around = branches(call.node, call.module)
    decision = decide(around, given, call.module, RECOMPUTING, unnamed=given is not None)
    if decision.who != "never":
        word = {"always": "yes", "caller": "yes"}.get(decision.who, decision.who)
        span = call.module.span(call.node)
        yield fact_of("activation_checkpointing", Known(word), span, reader=NAME)


def _fused(call: Call) -> Iterator[Fact]:
    """Yield the window of the optimizer that counts its micro-batches itself."""
    given = call.bound().get("gradient_accumulation_steps")
    value = value_of(given, call.module)
    if value is None or plain(value) == 1:
        return
    span = call.module.span(call.node)
    yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
    yield fact_of("accumulation.steps", value, span, reader=NAME)
    for field in ("loss_divided", "tail", "no_sync"):
        yield fact_of(f"accumulation.{field}", Known("library"), span, reader=NAME)


def _is_parallel(name: str, call: Call) -> bool:
    """Whether a call splits batches over devices and averages gradients: it gets the loss."""
    place = {"with_data_parallel": 0, "ParallelExecutor": 1}.get(last(name))
    given = {keyword.arg for keyword in call.node.keywords}
    trains = place is not None and ("loss_name" in given or len(call.node.args) > place)
    return trains or bool(_PARALLEL.fullmatch(name))


def _kinds(program: Program) -> Iterator[Fact]:
    inits = [c for name, c in calls_of(program) if ".fleet." in name and c.method == "init"]
    spread = any(last(name) == "DistributeTranspiler" for name, _ in calls_of(program))
    words = False
    for name, call in calls_of(program):
        shown = last(name)
        word = ""
        if shown == "ParallelExecutor" and spread:
            continue  # it runs what the transpiler has spread
        if _is_parallel(name, call):
            word = "paddle_dp"
        elif ".fleet." in name and shown in (
            "distributed_optimizer",
            "distributed_model",
            "distributed_scaler",
        ):
            word = "fleet"
            if not words:
                span = call.module.span(call.node)
                yield fact_of("api", Known(("paddle_fleet",)), span, reader=NAME)
        elif shown == "DistributeTranspiler":
            word = "paddle_transpiler"
        if word:
            span = call.module.span(call.node)
            yield fact_of("parallel.kind", Known((word,)), span, reader=NAME)
            words = True
    for call in inits[:1] if not words else ():  # gradients are averaged in another file or by hand
        span = call.module.span(call.node)
        yield fact_of("parallel.kind", Known(("fleet",)), span, reader=NAME)
    for module in program.modules:
        for node in module.every(ast.Assign):
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(attr="mode"), *_], value=ast.Constant(value="nccl2")
                ):
                    yield fact_of("parallel.backend", Known("nccl"), module.span(node), reader=NAME)


READER = PaddleFleetReader()
