"""CL207: bfloat16 with an enabled loss scaler."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._autocast import dtype_of, is_on
from crosscast.lint.rules._examples import AMP, PLAIN, changed
from crosscast.lint.rules._keras import program_of, words_of
from crosscast.lint.rules._loop import (
    backward_of,
    compatible,
    eager_steps,
    implies,
    plain_scaler,
)
from crosscast.lint.rules._scalers import enabled_by_default, scaler_calls, tests_around
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.call import Call
from crosscast.pysource.syntax.nodes import keyword
from crosscast.pysource.values.value import Choice, Symbol
from crosscast.readers.tensorflow.half_inputs import half_inputs
from crosscast.readers.tensorflow.keras import scales_by_hand
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find scaled losses of a forward pass that runs in bfloat16 with the defaults of flags."""
    yield from _of_tapes(subject)
    made = scaler_calls(subject)
    by_default = bool(made) and all(enabled_by_default(call) for call in made)
    for step in eager_steps(subject):
        scaled = [event for event in backward_of(step) if plain_scaler(event)]
        if not scaled:
            continue
        all_of_them = len(scaled) == len(backward_of(step))
        if (
            (by_default and all_of_them and _bfloat(step))
            or _one_switch(step, scaled[0], made)
            or (by_default and _one_branch(step, scaled[0]))
            or _type_ignored(step, scaled[0], made)
        ):
            yield Finding(
                span=scaled[0].span,
                message=f"{scaled[0].scaler} scales the loss of a forward pass in bfloat16",
                hint="remove the scaler, or create it with `enabled=False`",
                related=tuple(call.module.span(call.node) for call in made[:1]),
            )


def _one_switch(step: TrainingStep, scaled: Event, made: Sequence[Call]) -> bool:
    """Whether the switch that turns bfloat16 on is that under which the loss is scaled."""
    on = {guard.text for guard in scaled.guards if guard.holds}
    if not on or any({"enabled", "enable"} & call.bound().keys() for call in made):
        return False
    forward = [event for event in step.of("forward") if event.context("no_grad") is None]
    return bool(forward) and all(_switched_by(event, on) for event in forward)


def _switched_by(event: Event, on: set[str]) -> bool:
    context = event.context("autocast")
    if context is None or context.guards or not isinstance(context.node, ast.Call):
        return False
    switch = keyword(context.node, "enabled")
    module = event.module.owner_of(context.node)
    return switch is not None and module.text(switch) in on and dtype_of(context) == "bfloat16"


def _one_branch(step: TrainingStep, scaled: Event) -> bool:
    """Whether a loss is scaled under conditions under which all that runs is in bfloat16."""
    forward = [
        event
        for event in step.of("forward")
        if event.context("no_grad") is None and compatible(event, scaled)
    ]
    return bool(scaled.guards) and bool(forward) and all(_is_bfloat(e, scaled) for e in forward)


def _is_bfloat(event: Event, scaled: Event) -> bool:
    context = event.context("autocast")
    if context is None or context.guards or not is_on(context) or not implies(event, scaled):
        return False
    return "enabled" not in context.detail and dtype_of(context) == "bfloat16"


def _type_ignored(step: TrainingStep, scaled: Event, made: Sequence[Call]) -> bool:
    """Whether a setting chooses bfloat16, and the only scaler is made whatever it says."""
    if len(made) != 1 or made[0].has_star or {"enabled", "enable"} & made[0].bound().keys():
        return False
    forward = [event for event in step.of("forward") if event.context("no_grad") is None]
    settings = {_chooses(event) for event in forward}
    if len(settings) != 1 or not all(settings):
        return False
    tests = [*tests_around(made[0]), *(guard.node for guard in scaled.guards)]
    scaler = scaled.scaler.rpartition(".")[2]
    return all(_is_other_switch(test, settings, scaler) for test in tests)


def _chooses(event: Event) -> str:
    """Return the setting that chooses bfloat16, of two types: `precision` of `args.precision`."""
    context = event.context("autocast")
    given = context.detail.get("dtype") if context is not None else None
    if context is None or context.guards or not isinstance(given, Choice):
        return ""
    types = {o.name: text for text, o in given.options if isinstance(o, Symbol)}
    if {name.rpartition(".")[2] for name in types} != {"bfloat16", "float16"}:
        return ""
    text = next(text for name, text in types.items() if name.endswith(".bfloat16"))
    found = _EQUALS.fullmatch(text)
    return found[1] if found and "bf" in found[2] else ""


def _is_other_switch(test: ast.expr, settings: Collection[str], scaler: str) -> bool:
    """Whether a condition is a plain setting that is not among these, or the scaler itself."""
    match test:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name == scaler or (isinstance(test, ast.Attribute) and name not in settings)
        case ast.Compare(
            left=ast.Attribute(attr=name) | ast.Name(id=name),
            ops=[ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return name == scaler
    return False


def _of_tapes(subject: Subject) -> Iterator[Finding]:
    """Find losses of Keras that are scaled although the model gets inputs in bfloat16."""
    program = program_of(subject)
    if program is None or any(_HALF.search(w) for m in program.modules for w in words_of(m)):
        return  # the type may be chosen
    casts = {call.module.function_of(call.node): call for call in half_inputs(program)}
    for call in scales_by_hand(program) if casts else ():
        cast = casts.get(call.module.function_of(call.node))
        if cast is not None:
            yield Finding(
                span=call.module.span(call.node),
                message="the loss is scaled, but the model gets its inputs in bfloat16",
                hint="remove the loss scale",
                related=(cast.module.span(cast.node),),
            )


def _bfloat(step: TrainingStep) -> bool:
    contexts = [_context(event) for event in step.of("forward") if event.context("no_grad") is None]
    return bool(contexts) and all(contexts)


def _context(event: Event) -> bool:
    context = event.context("autocast")
    if context is None or context.guards or not is_on(context):
        return False
    return dtype_of(context, defaults=True) == "bfloat16"


_EQUALS = re.compile(r"[\w.]+\.(\w+) == ['\"](\w+)['\"]")
_HALF = re.compile(r"(?<!b)float16|fp16|half")

_BARE = changed(
    PLAIN,
    (
        "    loss = criterion(model(inputs), targets)\n",
        '    with torch.autocast("cuda", dtype=torch.bfloat16):\n'
        "        loss = criterion(model(inputs), targets)\n",
    ),
)

RULE = Rule(
    code="CL207",
    name="bfloat16-with-scaler",
    topic="loss scaling",
    severity=Severity.WARNING,
    title="A loss scaler with bfloat16",
    why="bfloat16 has the exponent range of float32, so gradients do not underflow. The scaler "
    "costs a synchronization and a check of all gradients per step, and doubles its scale "
    "every 2000 steps until float32 overflows. Then steps are skipped unnecessarily.",
    wrong=changed(AMP, ("torch.float16", "torch.bfloat16")),
    right=_BARE,
    check=check,
    hints=("bfloat16", "bf16"),
    sources=("PyTorch docs, Automatic Mixed Precision package, Gradient scaling",),
)
