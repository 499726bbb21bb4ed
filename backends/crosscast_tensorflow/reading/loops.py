"""Reads TensorFlow code around the optimizer: clipping, accumulation in graphs, towers.

Loops with a `GradientTape` are understood elsewhere as training steps; here is what stands outside
of them: graphs of TensorFlow 1, helper classes that sum gradients up, distribution strategies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.decisions import decide_recomputing
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.origins import located
from crosscast_reading.readers.python.seeds import seed_facts
from crosscast_reading.trainstep.frames.clip_limits import is_symmetric
from crosscast_tensorflow.reading.accumulators import accumulators
from crosscast_tensorflow.reading.batches import fitted
from crosscast_tensorflow.reading.contrib_updates import contrib_clips
from crosscast_tensorflow.reading.gradient_sums import clips_before, gradient_sums
from crosscast_tensorflow.reading.handed_on import called_rates, handed_limits
from crosscast_tensorflow.reading.horovod import horovod_windows
from crosscast_tensorflow.reading.micro_clips import (
    clips_given_to,
    private_clips,
    wrapper_steps,
)
from crosscast_tensorflow.reading.parallel import parallel
from crosscast_tensorflow.reading.sum_windows import length_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "tf-loops"
_CLIPS = {
    "tensorflow.clip_by_global_norm": "global_norm",
    "tensorflow.clip_by_norm": "per_param_norm",
    "tensorflow.clip_by_average_norm": "per_param_norm",
    "tensorflow.clip_by_value": "value",
    "tensorflow.contrib.training.clip_gradient_norms": "per_param_norm",
}
_SEEDS = re.compile(
    r"tensorflow\.(random\.)?set_random_seed|tensorflow\.random\.set_seed"
    r"|keras\.utils\.set_random_seed"
)
_GRADIENT = re.compile(r"grad|(^|\W)g(vs?)?\b|\bdw\b", re.I)
_NAMED_CLIP = re.compile(r"(adaptive_|agc_)?(clip_grad\w*|grad\w*_clip(ping)?)|(apply_)?agc", re.I)
_FACTORS = ("clip_factor", "clipping", "clipping_factor", "clip_norm")
_REMAT = re.compile(
    r"(tensorflow|keras)\.(recompute_grad|remat|RematScope|contrib\.layers\.recompute_grad)"
    r"|(\w+\.)*memory_saving_gradients\.gradients(_\w+)?"
)
_REMAT_OF_OTHERS = re.compile(r"([a-z]\w*\.)+(recompute|recomputable|remat|checkpointed)")
"""Decorators of libraries whose source is not given."""


class TensorflowLoopReader:
    """Reads graphs, accumulators, strategies and seeds."""

    name = NAME
    hints = ("tensorflow", "keras", "tf.")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "tensorflow"):
            return
        yield from seed_facts(program, "tensorflow", _SEEDS, NAME)
        yield from fitted(program, NAME)
        yield from _clipping(program)
        yield from contrib_clips(program, NAME)
        yield from private_clips(program, NAME)
        yield from handed_limits(program, NAME)
        yield from called_rates(program, NAME)
        yield from horovod_windows(program, NAME)
        yield from accumulators(program, NAME)
        yield from parallel(program, NAME)
        yield from _checkpointing(program)


def gradient_clips(program: Program) -> Iterator[tuple[str, Call]]:
    """Yield the calls that clip gradients (not images or losses), with the kind."""
    for name, call in calls_of(program):
        kind = _CLIPS.get(name)
        if kind is None:
            continue
        if kind == "global_norm" or _GRADIENT.search(_clipped(call)):
            yield kind, call


def named_clips(program: Program) -> Iterator[tuple[str, Call]]:
    """Yield the calls of other functions that clip gradients, known by name, with the kind.

    Adaptive clipping compares the norms of a gradient and of its weight, layer by layer.
    """
    for name, call in calls_of(program):
        shown = last(name.rpartition(":")[2]) or call.method
        if canonical(name).startswith(("tensorflow.", "keras")):
            continue
        whole = shown == "clip_by_global_norm" and program.function(call) is None
        if not whole and not _NAMED_CLIP.fullmatch(shown):
            continue
        given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        if any(_GRADIENT.search(call.module.text(argument)) for argument in given):
            kind = "layerwise" if re.search("adaptive|agc", shown) else ""
            yield "global_norm" if whole else kind, call


def _clipped(call: Call) -> str:
    """Return the text of the clipped value, and of the iterable of a comprehension."""
    module = call.module
    named = [k.value for k in call.node.keywords if k.arg in ("t", "t_list")]
    text = "".join(module.text(given) for given in [*call.node.args, *named][:1])
    around = module.enclosing(call.node, ast.ListComp, ast.GeneratorExp)
    if isinstance(around, ast.ListComp | ast.GeneratorExp):
        text += " " + " ".join(module.text(generator.iter) for generator in around.generators)
    return text


def is_used(call: Call) -> bool:
    """Whether the result of a clipping call is used, apart from logs.

    Only a plain assignment to names is analysed; anything else counts as use.
    """
    module = call.module
    statement = module.statement_of(call.node)
    match statement:
        case ast.Expr(value=value):
            return value is not call.node
        case ast.Assign(
            targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_])],
            value=value,
            end_lineno=int() as end,
        ) if value is call.node:
            around = module.enclosing(call.node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
            assert around is not None
            return any(
                isinstance(inner, ast.Name)
                and inner.id == name
                and isinstance(inner.ctx, ast.Load)
                and inner.lineno > end
                for inner in walk(around)
            )
    return True


def _clipping(program: Program) -> Iterator[Fact]:
    clip_calls = list(gradient_clips(program))
    kinds = {kind for kind, call in clip_calls if is_used(call)}
    both = {"per_param_norm", "global_norm"} <= kinds and _same_function(clip_calls)
    by_name = list(named_clips(program))
    clips = {call.node for _, call in (*clip_calls, *by_name)}
    summed = [total for total in gradient_sums(program) if length_of(total) is not None]
    micro: set[ast.AST] = {part for total in summed for part, _ in clips_before(total, clips)}
    micro |= {part for part, *_ in clips_given_to(wrapper_steps(program), clips, program)}
    yield from _named(by_name, micro)
    for kind, call in clip_calls:
        span = call.module.span(call.node)
        if not is_used(call):
            yield fact_of("clipping.kind", Known("none"), span, reader=NAME)
            continue
        word = "per_var_then_global" if both else kind
        if word != "value" or _is_symmetric(call):
            yield fact_of("clipping.kind", Known(word), span, reader=NAME)
        per = "micro" if call.node in micro else "step"
        yield fact_of("clipping.per", Known(per), span, reader=NAME, confidence="likely")
        for limit in ("clip_norm", "clip_value_max"):
            value = call.argument(limit)
            if value is not None:
                value = located(value, call.bound().get(limit, call.node), call.module)
                yield fact_of("clipping.value", value, span, reader=NAME)
                break
        word = _unscaled(program, call)
        if word:
            yield fact_of("clipping.unscaled_first", Known(word), span, reader=NAME)


def _is_symmetric(call: Call) -> bool:
    """Whether a bound by value is not known to differ from the negation of the other one."""
    bound = call.bound()
    low, high = bound.get("clip_value_min"), bound.get("clip_value_max")
    if low is None or high is None:
        return False
    return is_symmetric(low, high, lambda node: evaluate(node, call.module))


def _named(clip_calls: list[tuple[str, Call]], micro: set[ast.AST]) -> Iterator[Fact]:
    """Yield the facts about clips by functions that are known by name: adaptive ones."""
    for kind, call in clip_calls:
        if not kind or not is_used(call):
            continue
        span = call.module.span(call.node)
        yield fact_of("clipping.kind", Known(kind), span, reader=NAME, confidence="likely")
        per = "micro" if call.node in micro else "step"
        yield fact_of("clipping.per", Known(per), span, reader=NAME, confidence="likely")
        for limit in [k.value for k in call.node.keywords if k.arg in _FACTORS][:1]:
            yield fact_of("clipping.value", value_of(limit, call.module), span, reader=NAME)


def _same_function(clip_calls: list[tuple[str, Call]]) -> bool:
    places = {call.module.function_of(call.node) for _, call in clip_calls}
    return len(places) == 1


def _unscaled(program: Program, clip: Call) -> str:
    """Return whether gradients are unscaled before they are clipped; empty without scaling."""
    module = clip.module
    function = module.function_of(clip.node)
    mine = [
        call
        for _, call in calls_of(program)
        if call.module is module and module.function_of(call.node) is function
    ]
    out = [c for c in mine if c.method == "get_unscaled_gradients"]
    scaled = [c for c in mine if c.method in ("get_scaled_loss", "scale_loss")]
    if out:
        before = any(c.node.lineno <= clip.node.lineno for c in out)
        both = len({c.method for c in scaled}) > 1  # what Keras 3 scales, it cannot unscale
        return ("mixed" if both else "yes") if before else "no"
    if scaled:
        return "no"
    wrapped = any(
        last(name)
        in (
            "enable_mixed_precision_graph_rewrite",
            "MixedPrecisionLossScaleOptimizer",
            "LossScaleOptimizer",
        )
        for name, _ in calls_of(program)
    )
    switched = any("TF_ENABLE_AUTO_MIXED_PRECISION" in m.source.text for m in program.modules)
    return "library" if wrapped or switched else ""


def _checkpointing(program: Program) -> Iterator[Fact]:

    for name, call in calls_of(program):
        if not _REMAT.fullmatch(name):
            continue
        decision = decide_recomputing(call)
        if decision.who == "caller" and decision.by_default is False:
            continue  # off unless a caller asks for it
        if decision.who == "never":
            continue
        word = {"always": "yes", "caller": "yes"}.get(decision.who, decision.who)
        span = call.module.span(call.node)
        yield fact_of("activation_checkpointing", Known(word), span, reader=NAME)
    for module in program.modules:
        for function in module.functions.values():
            for decorator in function.decorator_list:
                name = _decorator(decorator, module)
                of_others = bool(_REMAT_OF_OTHERS.fullmatch(name))
                if _REMAT.fullmatch(name) or of_others:
                    switched = of_others and _asked_for(function, module)
                    yield fact_of(
                        "activation_checkpointing",
                        Known("flag" if switched else "yes"),
                        module.span(decorator),
                        reader=NAME,
                    )


def _asked_for(function: Function, module: Module) -> bool:
    """Whether calls of a decorated function decide: `block(x, recompute=args.recompute)`."""
    assert module.program is not None
    return any(
        keyword.arg in ("recompute", "remat") and not isinstance(keyword.value, ast.Constant)
        for site in module.program.call_sites(module, function)
        for keyword in site.node.keywords
    )


def _decorator(node: ast.expr, module: Module) -> str:
    return canonical(module.resolve(node)) if not isinstance(node, ast.Call) else ""


READER = TensorflowLoopReader()
