"""CL207: bfloat16 with an enabled loss scaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from crosscast_reading.lint.answers.autocast import dtype_of, is_on
from crosscast_reading.lint.answers.loop import (
    backward_of,
    eager_steps,
    plain_scaler,
    trained_passes,
)
from crosscast_reading.lint.answers.scalers import enabled_by_default, scaler_calls, tests_around
from crosscast_reading.lint.answers.supposed import (
    Part,
    Wanted,
    cases,
    settings_in,
    texts_for,
    truth,
    worth,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.syntax.nodes import names_in
from crosscast_reading.readers.words import TYPES
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Context, Event, Guard, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find scaled losses of a forward pass that runs in bfloat16 with the defaults of flags."""
    scalers = scaler_calls(subject)
    by_default = bool(scalers) and all(enabled_by_default(call) for call in scalers)
    for step in eager_steps(subject):
        scaled = [event for event in backward_of(step) if plain_scaler(event)]
        if not scaled:
            continue
        all_of_them = len(scaled) == len(backward_of(step))
        setting = ""
        if not (by_default and all_of_them and _bfloat(step)):
            setting = next(filter(None, (_by_a_setting(step, e, scalers) for e in scaled)), "")
            if not setting:
                continue
        places = [scaled[0].span, *(call.module.span(call.node) for call in scalers[:1])]
        if setting and all(call.module is scaled[0].module for call in scalers[:1]):
            places.reverse()  # what the setting switches on is to be changed
        yield Finding(
            span=places[0],
            message=f"{scaled[0].scaler} scales the loss of a forward pass in bfloat16"
            + f" ({setting})" * bool(setting),
            hint="remove the scaler, or create it with `enabled=False` for bfloat16",
            related=tuple(places[1:]),
        )


def _by_a_setting(step: TrainingStep, scaled: Event, scalers: Sequence[Call]) -> str:
    """Return the setting with which a forward pass in bfloat16 leaves the scaler on, or nothing."""
    forward = [
        (event, context)
        for event in trained_passes(step)
        if not event.excludes(scaled)
        if (context := event.context("autocast")) is not None
    ]
    if any(call.has_star for call in scalers):
        return ""
    on = _scaler_on(scaled, scalers)
    own = any(map(_switches, scalers))
    settings = set()
    for event, context in forward:
        # The switch of a scaler may depend on the type; it says nothing where autocast has none.
        alone = own and not (context.guards or _guards(event) or _has_switch(context))
        switch = "" if alone else _one_switch(event, context, on)
        settings.add(switch or (_setting(event, context, on) if scalers else ""))
    return settings.pop() if len(settings) == 1 else ""


def _scaler_on(scaled: Event, scalers: Sequence[Call]) -> list[Wanted]:
    """Return the conditions under which a loss is scaled."""
    wanted = [(part, holds) for part, holds in _guards(scaled) if not _is_about_data(part, scaled)]
    for call in scalers:
        tests = [test for test in tests_around(call) if not _asks_for_release(test)]
        wanted += [((test, call.module.owner_of(test)), True) for test in tests]
        wanted += _switches(call)
    return wanted


def _switches(call: Call) -> list[Wanted]:
    switches = [call.bound().get(word) for word in ("enabled", "enable")]
    return [((node, call.module.owner_of(node)), True) for node in switches if node is not None]


def _has_switch(context: Context) -> bool:
    """Whether a region of autocast has a switch."""
    return "enabled" in context.detail or "enable" in context.detail


def _setting(event: Event, context: Context, scaled: Sequence[Wanted]) -> str:
    """Return the setting with which a forward pass is in bfloat16 while the scaler is on."""
    dtype, on = _region(event, context)
    if dtype is None:
        return ""
    runs = _guards(event)
    parts = [part for part, _ in (*runs, *on)]
    for name, value in _choices(dtype, [*parts, *(part for part, _ in scaled)]):
        for case in cases(parts, {name: value}):
            if any(each.isidentifier() for each in case):
                break  # what a plain name says may be decided elsewhere
            if _are_met([*runs, *on, *scaled], case):
                return f"{name} = {value}"
    return ""


def _one_switch(event: Event, context: Context, scaled: Sequence[Wanted]) -> str:
    """Return the setting that enables the scaler, if autocast is in bfloat16 whenever it is on."""
    dtype, on = _region(event, context)
    if dtype is None or not scaled or _type(dtype, {}) != "bfloat16":
        return ""
    runs = _guards(event)
    parts = [part for part, _ in (*runs, *on)] or [part for part, _ in scaled]
    scaling = [case for case in cases(parts, {}) if _are_met([*runs, *scaled], case)]
    named = settings_in([part for part, _ in on]) or settings_in(parts)
    always = bool(scaling) and all(_are_met(on, case) for case in scaling)
    return ", ".join(named) if always else ""


def _region(event: Event, context: Context) -> tuple[Part | None, list[Wanted]]:
    """Return the type of a region of autocast, and the conditions under which it is one."""
    if not isinstance(context.node, ast.Call):
        return None, []
    module = event.module.owner_of(context.node)
    call = module.call(context.node)
    argument = call.bound().get("dtype")
    around = [((guard.node, module.owner_of(guard.node)), guard.holds) for guard in context.guards]
    dtype = None if argument is None else (argument, module.owner_of(argument))
    return dtype, [*around, *_switches(call)]


def _choices(dtype: Part, parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """Yield settings and their values that choose bfloat16, where others choose float16."""
    for name in settings_in([dtype]):
        texts = texts_for(name, [dtype, *parts])
        types = {text: _type(dtype, {name: text}) for text in (*texts, "")}
        if "float16" in types.values():
            yield from ((name, text) for text in texts if types[text] == "bfloat16")


def _type(part: Part, case: Mapping[str, object]) -> str:
    value = worth(part, case)
    word = value.rpartition(".")[2] if isinstance(value, str) else ""
    return TYPES.get(word, "")


def _are_met(conditions: Sequence[Wanted], case: Mapping[str, object]) -> bool:
    return all(truth(part, case) is holds for part, holds in conditions)


def _guards(event: Event) -> list[Wanted]:
    return [
        ((node, event.module.owner_of(guard.node)), guard.holds)
        for guard in event.guards
        if guard.window is None
        for node in _conjuncts(guard)
    ]


def _conjuncts(guard: Guard) -> list[ast.expr]:
    node = guard.node
    both = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) and guard.holds
    return node.values if isinstance(node, ast.BoolOp) and both else [node]


def _is_about_data(part: Part, scaled: Event) -> bool:
    """Whether a condition asks about the loss that is scaled: whether it is finite."""
    node, module = part
    losses, mine = names_in(scaled.node), names_in(node)
    for name in ast.walk(node):
        for binding in definitions(name, module) if isinstance(name, ast.Name) else ():
            mine |= names_in(binding.value) if binding.value is not None else set()
    return "loss" in "".join(losses & mine)


def _asks_for_release(test: ast.expr) -> bool:
    """Whether a condition asks which release is installed: `hasattr(torch.amp, "GradScaler")`."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr")):
            return True
    return False


def _bfloat(step: TrainingStep) -> bool:
    contexts = [_context(event) for event in trained_passes(step)]
    return bool(contexts) and all(contexts)


def _context(event: Event) -> bool:
    context = event.context("autocast")
    if context is None or context.guards or not is_on(context):
        return False
    return dtype_of(context, defaults=True) == "bfloat16"


RULE = Rule("CL207", check, hints=("bfloat16", "bf16"))
