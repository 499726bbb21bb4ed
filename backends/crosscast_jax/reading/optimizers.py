"""Reads the optimizers of JAX programs: those of optax, alone or in a chain, and others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import optimizer_words
from crosscast_jax.reading.chains import Chain, chain_around
from crosscast_jax.reading.names import NAME
from crosscast_jax.reading.schedules import length_of_schedule
from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.default_conditions import holds_by_default
from crosscast_reading.readers.python.library_calls import calls_of, last, plain, value_of
from crosscast_reading.readers.python.optimizers import (
    OptimizerCall,
    course_facts,
    facts_of,
    family_of,
    number,
    optimizer_call,
    schedule_facts,
    with_subjects,
)
from crosscast_reading.readers.python.schedules import Course

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_FAMILIES = re.compile(
    r"optax\.(contrib\.)?(adam|adamw|sgd|lamb|lars|lion|rmsprop|adagrad|adadelta|adafactor|radam"
    r"|novograd|scale_by_adam|scale_by_lion)"
    r"|flax\.optim\.(\w+\.)?(Adam|Momentum|LAMB|GradientDescent|LARS|Adagrad|RMSProp|Adafactor)"
    r"|jax\.(example_libraries|experimental)\.optimizers\.(sgd|momentum|nesterov|adam|adagrad"
    r"|rmsprop(_momentum)?)"
)
_OTHERS = re.compile(
    r"optax\.(contrib\.)?(adabelief|adamaxw?|adan|amsgrad|nadamw?|noisy_sgd|fromage|lbfgs|muon|optimistic_\w+|polyak_sgd"
    r"|prodigy|rprop|schedule_free\w*|sign_sgd|signum|sm3|sophia|yogi|dog|dowg|dadapt_adamw"
    r"|madgrad|cocob|momo\w*)"
)
"""Optimizers that no recipe has."""
_SHOWN = {"scale_by_adam": "adam", "scale_by_lion": "lion"}
_EXAMPLES = re.compile(r"jax\.(example_libraries|experimental)\.optimizers\.(\w+)")
_APART = re.compile(r"optax\.([\w.]+\.)?(masked|multi_transform|partition|selective_transform)")
"""Transformations of a part of the weights."""
_DECAYING = frozenset({"adamw", "lamb", "lion"})
"""Optimizers whose decay may be given a mask."""
_OPEN = ("optimizer.name", "clipping.kind", "schedule.name")
"""What a transformation of another file decides."""
_SHORT = 80
"""Letters of a function in a note."""


def optimizer_facts(program: Program) -> Iterator[Fact]:
    """Yield the facts about every optimizer that a program makes, and their schedules."""
    calls = list(calls_of(program))
    named = [(name, call) for name, call in calls if _FAMILIES.fullmatch(name)]
    usable = [(name, call) for name, call in named if not _looks_ahead(call)]
    others = [call for name, call in calls if _OTHERS.fullmatch(name)]
    others += [call for _, call in named if _looks_ahead(call)]
    optimizers = with_subjects([_record(name, call) for name, call in usable])
    running = [each for each in optimizers if not _is_off(each.call)]
    if optimizers and not running:
        yield from _chosen_elsewhere(optimizers)
    elif len(_alternatives(running)) > 1:
        yield from _selectable(running)
    else:
        for optimizer in running:
            yield from _of_one(optimizer)
    for call in others:
        span = call.module.span(call.node)
        ahead = " that looks ahead" if _looks_ahead(call) else ""
        reason = f"a recipe has no {last(call.name)}{ahead}"
        yield unknown("optimizer.name", reason, span, subject=last(call.name), reader=NAME)
    if optimizers or others:
        yield from _given_rates(program)
        first = optimizers[0].call if optimizers else others[0]
        span = first.module.span(first.node)
        yield fact_of("zero_grad.where", Known("functional"), span, reader=NAME)
    else:
        yield from _of_other_files(program)


def _record(name: str, call: Call) -> OptimizerCall:
    shown = _SHOWN.get(last(name), last(name))
    family = family_of(shown)
    chain = chain_around(call)
    if chain is not None and chain.has_decay_behind(call) and family == "adam":
        family = "adamw"
    return optimizer_call(call, name, family)


def _is_off(call: Call) -> bool:
    """Whether a call does not run with the defaults of flags."""
    return any(holds_by_default(test) is False for test in branches(call.node, call.module))


def _alternatives(optimizers: Sequence[OptimizerCall]) -> set[str]:
    """Return the families of optimizers that an unknown setting of a factory chooses from."""
    open_ones = [each for each in optimizers if _is_chosen(each.call)]
    return {each.family for each in open_ones} if len(open_ones) == len(optimizers) else set()


def _is_chosen(call: Call) -> bool:
    """Whether a function of the program that makes an optimizer is called under a condition."""
    module = call.module
    function = module.function_of(call.node)
    if function is None or any(branches(call.node, module)):
        return bool(any(branches(call.node, module)))
    sites = module.program.call_sites(module, function)
    return bool(sites) and all(any(branches(site.node, site.module)) for site in sites)


def _selectable(optimizers: Sequence[OptimizerCall]) -> Iterator[Fact]:
    """Yield that a setting chooses between optimizers, and what is said of each."""
    spans = [each.call.module.span(each.call.node) for each in optimizers]
    yield fact_of("optimizer.name", Known("selectable"), *spans, reader=NAME)
    for optimizer in optimizers:
        yield from (fact for fact in _of_one(optimizer) if not fact.field.startswith("optimizer."))


def _chosen_elsewhere(optimizers: Sequence[OptimizerCall]) -> Iterator[Fact]:
    """Yield that none of the optimizers that were read is the one by default."""
    spans = [each.call.module.span(each.call.node) for each in optimizers]
    yield fact_of("optimizer.name", Known("selectable"), *spans, reader=NAME)
    for fact in _of_one(optimizers[0]):
        if fact.field == "optimizer.learning_rate" or not fact.field.startswith("optimizer."):
            yield replace(fact, subject="")


def _of_one(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield the facts of one optimizer: its settings, what its chain adds, its schedule."""
    call, subject = optimizer.call, optimizer.subject
    inside = _epsilon_inside(optimizer)
    told = facts_of(optimizer, NAME)
    yield from (fact for fact in told if inside is None or fact.field != "optimizer.eps")
    if inside is not None:
        yield inside
    if last(optimizer.name) in ("nesterov", "momentum") and _EXAMPLES.fullmatch(optimizer.name):
        yield from _of_examples(optimizer)
    beta = value_of(call.bound().get("beta"), call.module)
    if beta is not None:
        yield _setting("optimizer.momentum", beta, call, subject)
    yield from _starred(optimizer)
    yield from _all_alike(optimizer)
    chain = chain_around(call)
    if chain is not None:
        yield from _of_chain(optimizer, chain)
    yield from schedule_facts(optimizer, NAME, stepped="step")
    yield from length_of_schedule(call)


def _setting(field: str, value: Value, call: Call, subject: str) -> Fact:
    span = call.module.span(call.node)
    return fact_of(field, value, span, subject=subject, reader=NAME)


def _of_examples(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield the momentum of the small optimizers that JAX brings for examples."""
    mass = optimizer.call.argument("mass")
    if mass is not None:
        yield _setting("optimizer.momentum", mass, optimizer.call, optimizer.subject)
    if last(optimizer.name) == "nesterov":
        word = Known("yes")
        yield _setting("optimizer.nesterov", word, optimizer.call, optimizer.subject)


def _looks_ahead(call: Call) -> bool:
    """Whether a setting makes Adam another optimizer: NAdam, which no recipe has."""
    bound = call.bound()
    is_set = "nesterov" in bound and last(call.name) in ("adam", "adamw", "scale_by_adam")
    return is_set and plain(call.argument("nesterov")) is not False


def _epsilon_inside(optimizer: OptimizerCall) -> Fact | None:
    """Return that an epsilon stands inside of the root, which that of a recipe does not."""
    call = optimizer.call
    inside = call.argument("eps_root") if "eps_root" in call.bound() else None
    if inside is None or plain(inside) == 0:
        return None
    reason, span = "another one stands inside of the root", call.module.span(call.node)
    return unknown("optimizer.eps", reason, span, subject=optimizer.subject, reader=NAME)


def _starred(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield settings that may be among `*betas` or `**settings`: they are not the defaults."""
    call = optimizer.call
    if not call.has_star:
        return
    for argument, field in optimizer_words("optax").items():
        if argument in call.parameters() and argument not in call.bound():
            value = call.argument(argument)
            if value is not None:
                yield _setting(field, value, call, optimizer.subject)


def _all_alike(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield that no weights have rates of their own, or are spared from decay: nothing masks."""
    call, subject = optimizer.call, optimizer.subject
    if call.has_star or any(_APART.fullmatch(name) for name, _ in calls_of(call.module.program)):
        return
    yield _setting("optimizer.rate_groups", Known("no", "presence"), call, subject)
    if last(optimizer.name) in _DECAYING and "mask" not in call.bound():
        yield _setting("optimizer.no_decay", Known("no", "presence"), call, subject)


def _of_chain(optimizer: OptimizerCall, chain: Chain) -> Iterator[Fact]:
    """Yield decay and rate that other links of a chain add."""
    call, subject = optimizer.call, optimizer.subject
    for decay in chain.named("add_decayed_weights"):
        value = decay.argument("weight_decay")
        before = chain.place(decay) < chain.place(call)
        if value is None or not (before or chain.is_bare(call)):
            yield unknown(
                "optimizer.weight_decay",
                "what is added behind the optimizer is not multiplied by its rate",
                decay.module.span(decay.node),
                subject=subject,
                reader=NAME,
            )
            continue
        yield _setting(f"optimizer.{'l2' if before else 'weight_decay'}", value, decay, subject)
    if chain.is_bare(call):
        yield from _rate_of_chain(optimizer, chain)


def _rate_of_chain(optimizer: OptimizerCall, chain: Chain) -> Iterator[Fact]:
    """Yield the rate of `scale_by_adam`, which a later link multiplies by."""
    subject = optimizer.subject
    rates = [*chain.named("scale_by_learning_rate"), *chain.named("scale_by_schedule")]
    scales = [link for link in chain.named("scale") if not _is_sign(link)]
    if len(rates) == 1 and not scales and last(rates[0].name) == "scale_by_learning_rate":
        stands_in = optimizer_call(rates[0], optimizer.name, optimizer.family)
        yield from length_of_schedule(rates[0])
        for fact in schedule_facts(stands_in, NAME, stepped="step"):
            yield replace(fact, subject=subject if fact.field.startswith("optimizer.") else "")
    elif len(scales) == 1 and not rates:
        match scales[0].node.args[:1]:
            case [ast.UnaryOp(op=ast.USub(), operand=rate)]:
                yield from number("learning_rate", rate, optimizer, NAME)
    elif rates or scales:
        span = (rates or scales)[0].module.span((rates or scales)[0].node)
        reason = "several links of the chain multiply by it"
        yield unknown("optimizer.learning_rate", reason, span, subject=subject, reader=NAME)
        yield unknown("schedule.name", reason, span, reader=NAME)


def _is_sign(link: Call) -> bool:
    """Whether a link only turns the sign: `optax.scale(-1)`."""
    match link.node.args:
        case [ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))]:
            return True
    return False


def _given_rates(program: Program) -> Iterator[Fact]:
    """Yield schedules that pass a rate to every update: `apply_gradient(g, learning_rate=lr)`."""
    for _name, call in calls_of(program):
        words = {k.arg for k in call.node.keywords}
        if call.method in ("apply_gradient", "apply_gradients") and "learning_rate" in words:
            course = Course(decay="custom")
            yield from course_facts(course, NAME, call.module.span(call.node), stepped="step")
            return


def _of_other_files(program: Program) -> Iterator[Fact]:
    """Yield that a transformation of another file decides: it may clip, and have a schedule."""
    for name, call in calls_of(program):
        applied = last(name) == "apply_updates" and name.startswith(("optax.", "equinox."))
        if not (applied or call.method == "apply_gradients" or name == "flax.nnx.Optimizer"):
            continue
        place, text = _transformation(program) or (call, "")
        span = place.module.span(place.node)
        shown = text or place.module.text(place.node.func)[:_SHORT]
        for field in _OPEN:
            told = fact_of(field, Known("elsewhere", "config"), span, reader=NAME)
            yield replace(told, expression=shown)
        reason = "the transformation of another file decides"
        yield unknown("accumulation.steps", reason, span, reader=NAME)
        yield fact_of("zero_grad.where", Known("functional"), span, reader=NAME)
        return


def _transformation(program: Program) -> tuple[Call, str] | None:
    """Return the call that makes the transformation: `TrainState.create(tx=make())`."""
    for name, call in calls_of(program):
        tx = call.bound().get("tx")
        if tx is None and name == "flax.nnx.Optimizer" and len(call.node.args) > 1:
            tx = call.node.args[1]
        for node, module in chase(tx, call.module) if tx is not None else ():
            if isinstance(node, ast.Call):
                return module.call(node), module.text(node.func)[:_SHORT]
    return None
