"""Reads optimizers, clips, regularizers and schedules of Paddle 1 (fluid), 2 and 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_paddle.reading.decay_by_hand import DecayByHand, decay_by_hand
from crosscast_paddle.reading.encoder_parts import encoder_parts
from crosscast_paddle.reading.high_level import advances_by_step
from crosscast_paddle.reading.rates import rates
from crosscast_paddle.reading.static import is_static
from crosscast_paddle.reading.unseen import unseen_clips, unseen_processes
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    matching,
    text_value,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.loaders import batch_facts
from crosscast_reading.readers.python.optimizers import (
    OptimizerCall,
    called,
    facts_of,
    family_of,
    number,
    only_under,
    optimizer_call,
    schedule_facts,
    with_subjects,
)
from crosscast_reading.readers.python.origins import located, origin
from crosscast_reading.readers.python.parameter_lists import are_all_parameters
from crosscast_reading.readers.python.precision import precision_facts, site
from crosscast_reading.readers.python.seeds import seed_facts

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "paddle-optimizers"
OPTIMIZER = re.compile(
    r"paddle\.(optimizer|fluid\.optimizer|incubate(\.optimizer)?|incubate\.optimizer\.\w+)\.[A-Z]\w*"
)
_COUPLED = frozenset({"adam", "sgd", "rmsprop", "adagrad", "adadelta"})
CLIPS = {
    "ClipGradByGlobalNorm": "global_norm",
    "GradientClipByGlobalNorm": "global_norm",
    "GradClipByGlobalNorm": "global_norm",
    "ClipGradByNorm": "per_param_norm",
    "GradientClipByNorm": "per_param_norm",
    "ClipGradByValue": "value",
    "GradientClipByValue": "value",
}
_BY_UPDATES = frozenset(
    {
        *("noam_decay", "exponential_decay", "natural_exp_decay", "inverse_time_decay"),
        *("polynomial_decay", "piecewise_decay", "cosine_decay", "linear_lr_warmup"),
        *("NoamDecay", "ExponentialDecay", "NaturalExpDecay", "InverseTimeDecay"),
        *("PolynomialDecay", "PiecewiseDecay", "CosineDecay", "LinearLrWarmup"),
    }
)
_FUNCTIONS = {
    "clip_grad_norm_": ("global_norm", "max_norm"),
    "clip_grad_value_": ("value", "clip_value"),
}
_SEEDS = re.compile(r"paddle\.seed")
_UNSEEN = Unknown("", "the call shows no limit")
_FILTER = re.compile(r"exclude\w*decay|no_decay|skip_decay")
_FILTERS = ("apply_decay_param_fun", "exclude_from_weight_decay_fn")


class PaddleOptimizerReader:
    """Reads the calls that create optimizers, their arguments, and the seed."""

    name = NAME
    hints = ("paddle",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "paddle"):
            return
        yield from seed_facts(program, "paddle", _SEEDS, NAME)
        yield from batch_facts(program, NAME)
        yield from encoder_parts(program, NAME)
        static = is_static(program)
        named_optimizers = with_subjects(called(list(optimizers(program))))
        told = False
        for place, optimizer in enumerate(named_optimizers):
            by_hand = decay_by_hand(optimizer.call.module) if optimizer.family == "adam" else None
            if by_hand is not None:
                optimizer = named_optimizers[place] = replace(
                    optimizer, family="adamw", coupled=False
                )
                yield from _decayed(optimizer, by_hand)
            yield from facts_of(optimizer, NAME)
            yield from _regularized(optimizer)
            yield from _decay_filter(optimizer)
            yield from _whole(optimizer, by_hand)
            scheduled = list(
                schedule_facts(
                    optimizer,
                    NAME,
                    stepped=_stepped(optimizer, static),
                    # An operator of the graph counts whatever becomes of the gradients.
                    on_skip="steps" if static and ".fluid." in optimizer.name else "",
                    under=only_under(optimizer, named_optimizers),
                )
            )
            told = told or any(fact.field == "schedule.name" for fact in scheduled)
            yield from scheduled
        yield from _clips(program)
        if not named_optimizers:
            yield from unseen_clips(program, NAME)
            yield from unseen_processes(program, NAME)
        yield from _clips_of_callers(program)
        yield from _by_call(program)
        yield from _half_masters(program)
        yield from rates(program, NAME, static=static, told=told)


def optimizers(program: Program) -> Iterator[OptimizerCall]:
    """Yield the optimizers that a program creates."""
    optimizer_calls: dict[tuple[ast.AST, str], OptimizerCall] = {}
    for name, call in matching(program, OPTIMIZER):
        family = family_of(last(name))
        if family:  # a choice of two classes is two optimizers
            made = optimizer_call(call, name, family, coupled=family in _COUPLED)
            optimizer_calls.setdefault((call.node, family), made)
    for call in program.calls():
        match call.node.func:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, word, *_]):
                if call.module.resolve(owner) == "paddle.optimizer":
                    name = text_value(value_of(word, call.module))
                    family = family_of(name) or "selectable"
                    made = optimizer_call(call, name, family, coupled=family in _COUPLED)
                    optimizer_calls.setdefault((call.node, family), made)
    yield from optimizer_calls.values()


def _decayed(optimizer: OptimizerCall, decay: DecayByHand) -> Iterator[Fact]:
    """Yield the facts of a decay that the program applies itself."""
    yield from number("weight_decay", decay.factor, optimizer, NAME)
    if decay.spares:
        yes = Known("yes")
        yield fact_of(
            "optimizer.no_decay", yes, decay.place, subject=optimizer.subject, reader=NAME
        )


def _stepped(optimizer: OptimizerCall, static: bool) -> str:
    """Return the event that advances the schedule; empty if the program advances it itself.

    In `fluid`, those counted in updates advance whenever an optimizer asks for the rate.
    """
    node = optimizer.call.bound().get("learning_rate")
    if node is None or ".fluid." not in optimizer.name:
        return "step" if advances_by_step(optimizer.call.module.program) else ""
    return "step" if static or _counts_updates(node, optimizer.call) else ""


def _counts_updates(rate: ast.expr, call: Call) -> bool:
    """Whether a rate is a schedule of `fluid` that advances by itself."""
    for node, where in chase(rate, call.module):
        name = canonical(where.call(node).name) if isinstance(node, ast.Call) else ""
        if name.startswith("paddle.fluid.") and last(name) in _BY_UPDATES:
            return True
    return False


def _regularized(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield the coupled decay that a regularizer object gives."""
    call = optimizer.call
    for name in ("weight_decay", "regularization"):
        node = call.bound().get(name)
        if node is None:
            continue
        for inner, where in chase(node, call.module.owner_of(node)):
            if not isinstance(inner, ast.Call):
                continue
            maker = where.call(inner)
            if last(canonical(maker.name)) in ("L2Decay", "L2DecayRegularizer"):
                bound = maker.bound()
                value = bound.get("coeff") or bound.get("regularization_coeff")
                yield from number("l2", value, optimizer, NAME)
                return


def _whole(optimizer: OptimizerCall, by_hand: DecayByHand | None) -> Iterator[Fact]:
    """Yield that there are no groups, if an optimizer gets all parameters, or a static graph's."""
    call = optimizer.call
    bound = call.bound()
    given = next((bound[name] for name in ("parameters", "parameter_list") if name in bound), None)
    if given is not None and not are_all_parameters(given, call.module):
        return
    place, subject = call.module.span(call.node), optimizer.subject
    yield fact_of("optimizer.rate_groups", Known("no"), place, subject=subject, reader=NAME)
    if not _spares(optimizer) and not (by_hand is not None and by_hand.spares):
        yield fact_of("optimizer.no_decay", Known("no"), place, subject=subject, reader=NAME)


def _spares(optimizer: OptimizerCall) -> bool:
    """Whether a filter of the optimizer, or a function for decay by hand, spares some weights."""
    call = optimizer.call
    return any(name in call.bound() for name in _FILTERS) or _has_filter(call.module)


@once
def _has_filter(module: Module) -> bool:
    """Whether a function of a module is named after weights without decay."""
    return any(_FILTER.search(name.rpartition(".")[2]) for name in module.functions)


def _decay_filter(optimizer: OptimizerCall) -> Iterator[Fact]:
    if _spares(optimizer):
        span = optimizer.call.module.span(optimizer.call.node)
        yield fact_of(
            "optimizer.no_decay", Known("yes"), span, subject=optimizer.subject, reader=NAME
        )


def _clips(program: Program) -> Iterator[Fact]:
    for name, call in calls_of(program):
        kind = CLIPS.get(last(name), "")
        if not kind or not name.startswith(("paddle.", "paddlenlp.")):
            continue
        if isinstance(call.module.parent(call.node), ast.Expr):
            continue  # created and discarded
        span = call.module.span(call.node)
        yield fact_of("clipping.kind", Known(kind), span, reader=NAME)
        yield fact_of("clipping.per", Known("step"), span, reader=NAME)
        yield fact_of(
            "clipping.unscaled_first", Known("library"), span, reader=NAME, confidence="likely"
        )
        limit = "max" if kind == "value" else "clip_norm"
        named = [node for word, node in call.bound().items() if word == limit]
        for node in [*named, *call.node.args][:1]:
            value = located(value_of(node, call.module), node, call.module)
            yield fact_of("clipping.value", value, call.module.span(node), reader=NAME)


def _clips_of_callers(program: Program) -> Iterator[Fact]:
    """Yield that the caller decides, for optimizers that hand a clip on."""
    if any(last(name) in CLIPS for name, _ in calls_of(program)):
        return
    for _name, call in matching(program, OPTIMIZER):
        node = call.bound().get("grad_clip")
        if node is None or origin(node, call.module) != "caller":
            continue
        span = call.module.span(node)
        yield fact_of("clipping.kind", Known("caller"), span, reader=NAME, confidence="likely")
        return


def _half_masters(program: Program) -> Iterator[Fact]:
    """Yield who decides about half weights, for optimizers that keep float32 copies."""
    sites = []
    for _name, call in matching(program, OPTIMIZER):
        node = call.bound().get("multi_precision")
        if node is not None and origin(node, call.module) != "always":
            sites.append(site(call.node, call.module, ("float16",), switch=node))
    known = any("amp" in name for name, _ in calls_of(program) if name.startswith("paddle."))
    if sites and not known and not any("amp_configs" in m.source.text for m in program.modules):
        yield from precision_facts(sites, NAME, with_default=False)
        word = Known("elsewhere")
        yield fact_of("loss_scaling.mode", word, sites[0].span, reader=NAME, confidence="guess")
        yield fact_of("scaler_update.status", Known("library"), sites[0].span, reader=NAME)


def _by_call(program: Program) -> Iterator[Fact]:
    """Yield gradient clipping by function calls."""
    for name, call in calls_of(program):
        word, limit = _FUNCTIONS.get(last(name), ("", ""))
        if not word or not name.startswith("paddle."):
            continue
        span = call.module.span(call.node)
        yield fact_of("clipping.kind", Known(word), span, reader=NAME)
        value = call.argument(limit, _UNSEEN)
        assert value is not None
        yield fact_of("clipping.value", value, span, reader=NAME)


READER = PaddleOptimizerReader()
