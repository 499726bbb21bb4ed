"""Reads JAX programs: Flax's DynamicScale, Optax optimizers, schedules and wrappers, pmap."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    last,
    plain,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.optimizers import (
    course_facts,
    facts_of,
    family_of,
    optimizer_call,
    schedule_facts,
    with_subjects,
)
from crosscast_reading.readers.python.precision import precision_facts, site
from crosscast_reading.readers.python.schedules import Course

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "jax"
_OPTIMIZERS = re.compile(
    r"optax\.(contrib\.)?(adam|adamw|adamax|nadam|nadamw|sgd|noisy_sgd|lamb|lars|lion|rmsprop|adagrad|adadelta"
    r"|adafactor|radam|amsgrad|novograd|scale_by_adam)|flax\.optim\.(\w+\.)?(Adam|Momentum|LAMB|"
    r"GradientDescent|LARS|Adagrad|RMSProp|Adafactor)"
)
_CLIPS = {
    "optax.clip_by_global_norm": ("global_norm", "max_norm"),
    "optax.clip": ("value", "max_delta"),
    "optax.clip_by_block_rms": ("other_norm", ""),
    "optax.adaptive_grad_clip": ("adaptive", ""),
}
"""How they clip, and the argument with the limit where a recipe has such a one."""
_OF_SUMS = re.compile(r"^(mu|nu)_|moment|accum|state|grad|optim")
_HALVES = frozenset(f"jax.numpy.{name}" for name in HALVES)
_REMAT = (
    "jax.checkpoint",
    "jax.remat",
    "flax.linen.remat",
    "flax.linen.checkpoint",
    "flax.nnx.remat",
)


class JaxReader:
    """Reads Flax and Optax."""

    name = NAME
    hints = ("jax", "flax", "optax")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "jax"):
            return
        yield from _optimizers(program)
        yield from _scaling(program)
        yield from _windows(program)
        yield from _clips(program)
        yield from _parallel(program)


def _optimizers(program: Program) -> Iterator[Fact]:
    optimizers = []
    for name, call in calls_of(program):
        if _OPTIMIZERS.fullmatch(name):
            shown = "adam" if last(name) in ("scale_by_adam", "amsgrad") else last(name)
            optimizers.append(optimizer_call(call, name, family_of(shown)))
    for optimizer in with_subjects(optimizers):
        call = optimizer.call
        yield from facts_of(optimizer, NAME)
        beta = value_of(call.bound().get("beta"), call.module)
        yield from _told("optimizer.momentum", beta, call, optimizer.subject)
        yield from schedule_facts(optimizer, NAME, stepped="step")
    if optimizers:
        yield from _given_rates(program)
        span = optimizers[0].call.module.span(optimizers[0].call.node)
        yield fact_of("zero_grad.where", Known("functional"), span, reader=NAME)


def _told(field: str, value: Value | None, call: Call, subject: str = "") -> Iterator[Fact]:
    """Yield a field with the value of an argument, if it is given."""
    if value is not None:
        span = call.module.span(call.node)
        yield fact_of(field, value, span, subject=subject, reader=NAME)


def _given_rates(program: Program) -> Iterator[Fact]:
    """Yield schedules that pass a rate to every update: `apply_gradient(g, learning_rate=lr)`."""
    for _name, call in calls_of(program):
        words = {k.arg for k in call.node.keywords}
        if call.method in ("apply_gradient", "apply_gradients") and "learning_rate" in words:
            course = Course(decay="custom")
            yield from course_facts(course, NAME, call.module.span(call.node), stepped="step")
            return


def _scaling(program: Program) -> Iterator[Fact]:
    scalers = [
        call
        for name, call in calls_of(program)
        if last(name) == "DynamicScale" and name.startswith(("flax.", "jmp."))
    ]
    for call in scalers:
        span = call.module.span(call.node)
        yield fact_of("api", Known(("jax_dynamic_scale",)), span, reader=NAME)
        yield fact_of("loss_scaling.mode", Known("dynamic"), span, reader=NAME)
        yield fact_of("scaler_update.status", Known("custom"), span, reader=NAME)
        for argument, field in scaling_words("flax").items():
            yield from _told(field, value_of(call.bound().get(argument), call.module), call)
    for call in scalers[:1] if _skips(program) else ():
        span = call.module.span(call.node)
        yield fact_of("schedule.on_skip", Known("guarded"), span, reader=NAME)
    chosen = list(_types(program))
    if scalers or chosen:
        sites = [site(node, module, (kind,)) for node, module, kind in chosen]
        if not sites:
            call = scalers[0]
            sites = [site(call.node, call.module, ("float16",))]
        yield from precision_facts(sites, NAME)


def _skips(program: Program) -> bool:
    """Whether parameters are restored where gradients are not finite."""
    return any(name in ("jax.numpy.where", "jax.lax.select", "functools.partial") and "fin" in
               call.module.text(call.node) for name, call in calls_of(program))  # fmt: skip


def _types(program: Program) -> Iterator[tuple[ast.AST, Module, str]]:
    """Yield the places that choose a half type: a return value or a `dtype` argument."""
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if module.resolve(node) not in _HALVES or module.is_dead(node):
                continue
            parent = module.parent(node)
            around = module.parent(parent) if isinstance(parent, ast.IfExp) else parent
            chosen = isinstance(around, ast.Return | ast.Assign)
            given = isinstance(around, ast.keyword) and _is_for_compute(around, module)
            if chosen or given:
                yield node, module, node.attr


def _is_for_compute(given: ast.keyword, module: Module) -> bool:
    """Whether an argument sets the type of computation, not of an optimizer's state."""
    name = str(given.arg)
    if not name.endswith("dtype") or _OF_SUMS.search(name):
        return False
    function = getattr(module.parent(given), "func", given.value)
    return not module.resolve(function).startswith("optax.")


def _windows(program: Program) -> Iterator[Fact]:
    for name, call in calls_of(program):
        if name == "optax.MultiSteps":
            value: Value | None = call.argument("every_k_schedule")
            divided = "no" if plain(call.argument("use_grad_mean")) is False else "library"
        elif name == "optax.apply_every":
            value, divided = call.argument("k"), "no"
        elif (steps := _summed_by(call)) is not None:
            span = call.module.span(call.node)
            yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
            yield from _told("accumulation.steps", value_of(steps, call.module), call)
            continue
        else:
            continue
        span = call.module.span(call.node)
        yield fact_of("api", Known(("jax_multisteps",)), span, reader=NAME)
        yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
        yield from _told("accumulation.steps", value, call)
        yield fact_of("accumulation.loss_divided", Known(divided), span, reader=NAME)
        yield fact_of("accumulation.no_sync", Known("library"), span, reader=NAME)


def _summed_by(call: Call) -> ast.expr | None:
    """Return the number of parts: `accumulate_gradient(value_and_grad(f), ..., accum_steps)`."""
    if not re.match(r"accum\w*_grad", call.method):
        return None
    given = (*call.node.args, *(k.value for k in call.node.keywords))
    text = call.module.text
    if not any(re.search(r"grad", text(argument)) for argument in given):
        return None
    return next((argument for argument in given if re.search(r"accum|micro", text(argument))), None)


def _clips(program: Program) -> Iterator[Fact]:
    for name, call in calls_of(program):
        if name not in _CLIPS or isinstance(call.module.parent(call.node), ast.Expr):
            continue
        kind, limit = _CLIPS[name]
        span = call.module.span(call.node)
        yield fact_of("clipping.kind", Known(kind), span, reader=NAME)
        yield fact_of("clipping.per", Known("step"), span, reader=NAME)
        if limit:
            yield from _told("clipping.value", call.argument(limit), call)


def _parallel(program: Program) -> Iterator[Fact]:
    spans = []
    for name, call in calls_of(program):
        first = [call.module.resolve(each) for each in call.node.args[:1]]
        if name == "jax.pmap" or first == ["jax.pmap"]:
            spans.append(call.module.span(call.node))
        elif name in _REMAT:
            span = call.module.span(call.node)
            yield fact_of("activation_checkpointing", Known("yes"), span, reader=NAME)
    for module in program.modules:
        for function in module.functions.values():
            for decorator in function.decorator_list:
                resolved = module.resolve(decorator) if not isinstance(decorator, ast.Call) else ""
                if resolved == "jax.pmap":
                    spans.append(module.span(decorator))
                elif resolved in _REMAT:
                    yield fact_of(
                        "activation_checkpointing",
                        Known("yes"),
                        module.span(decorator),
                        reader=NAME,
                    )
    if spans:
        yield fact_of("parallel.kind", Known(("pmap",)), *spans, reader=NAME)


READER = JaxReader()
