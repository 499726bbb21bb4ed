"""Reads apex: `amp.initialize`, `amp.scale_loss`, FP16_Optimizer, and the clip of FusedLAMB."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known, Value
from crosscast_reading.readers.python.conditions import conditions_of
from crosscast_reading.readers.python.decisions import Decision, decide
from crosscast_reading.readers.python.fact_writer import (
    FactWriter,
    content,
    flag_of,
    is_number,
    place_of,
)
from crosscast_reading.readers.python.fused_clips import tell_fused_clip
from crosscast_reading.readers.python.library_calls import calls_matching
from crosscast_torch.reading.precision import Use, tell_uses

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "apex"
_INITIALIZE = re.compile(r"apex\.amp\.initialize")
_SCALE_LOSS = re.compile(r"apex\.amp\.scale_loss")
_OLD_HANDLE = re.compile(r"apex\.amp\.init")
WRAPPER = re.compile(
    r"apex\.((contrib\.)?optimizers(\.fp16_optimizer)?|fp16_utils(\.fp16_optimizer)?)"
    r"\.FP16_Optimizer"
)
_FUSED = re.compile(r"apex\.(contrib\.)?optimizers(\.fused_adam)?\.FusedAdam")


class Apex:
    """Reads apex."""

    name = NAME
    hints = ("apex",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts about precision with apex, and the clip inside of its LAMB."""
        writer = FactWriter(NAME)
        started = calls_matching(program, _INITIALIZE)
        scaled = calls_matching(program, _SCALE_LOSS)
        if started:
            _initialize(writer, started)
        elif scaled:
            _only_scaled(writer, _live(scaled))
        elif handles := calls_matching(program, _OLD_HANDLE):
            _initialize(writer, handles)
        if wrappers := _live(calls_matching(program, WRAPPER)):
            _wrapped(writer, wrappers)
        tell_fused_clip(writer, program)
        yield from writer.facts


def _initialize(writer: FactWriter, calls: Sequence[Call]) -> None:
    live = _live(calls)
    whole = any(_level(call) in ("O2", "O3") for call in live[:1])
    tell_uses(writer, [_use(call) for call in live], "full" if whole else "mixed")
    for call in live:
        place = place_of(call)
        writer.say("api", "apex_amp", place)
        level = call.argument("opt_level")
        if level is None or content(level) is not None:
            word = str(content(level)) if level is not None else "O1"
            origin = "library_default" if level is None else "flag" if flag_of(level) else "literal"
            writer.say("precision.level", word, place, origin=origin, expression=flag_of(level))  # type: ignore[arg-type]
        elif "opt_level" in call.bound():
            text = call.module.text(call.bound()["opt_level"])
            writer.unknown("precision.level", "it has no default", place, expression=text)
    _scale(writer, live)


def _live(calls: Iterable[Call]) -> list[Call]:
    """Return the calls that the source does not switch off."""
    return [call for call in calls if _use(call).decision.who != "never"]


def _level(call: Call) -> str:
    return str(content(call.argument("opt_level")) or "O1")


def _use(call: Call) -> Use:
    decision = decide(conditions_of(call), call.bound().get("enabled"), call.module)
    level = _level(call)
    if level == "O0":
        given = call.argument("opt_level")
        who = "flag" if flag_of(given) else decision.who if decision.who != "always" else "never"
        decision = Decision(who, False, decision.under, decision.flag or flag_of(given))
    return Use(place_of(call), decision, ("float16",), "float16")


def _scale(writer: FactWriter, calls: Sequence[Call]) -> None:
    """Record how `amp.initialize` scales the loss."""
    for call in calls:
        place = place_of(call)
        scale = call.argument("loss_scale")
        for argument, path in scaling_words("apex").items():
            writer.number(path, call.argument(argument), place)
        if scale is None or (isinstance(scale, Known) and not scale.flag and scale.value is None):
            unscaled = _level(call) in ("O0", "O3") and not flag_of(call.argument("opt_level"))
            writer.say("loss_scaling.mode", "none" if unscaled else "framework_default", place)
            continue
        _mode(writer, scale, call.bound().get("loss_scale", call.node), call)


def _mode(writer: FactWriter, scale: Value, node: ast.expr, call: Call) -> None:
    place = call.module.owner_of(node).span(node)
    match scale:
        case Known(value="dynamic", flag=""):
            writer.say("loss_scaling.mode", "dynamic", place, origin="literal")
        case Known(flag=""):
            writer.say("loss_scaling.mode", "static", place, origin="literal")
            writer.number("loss_scaling.scale", scale, place)
        case Choice() | Known():
            flag = scale.flag if isinstance(scale, Known) else call.module.text(node)
            writer.say("loss_scaling.mode", "selectable", place, origin="flag", expression=flag)
        case _:
            text = call.module.text(node)
            writer.say("loss_scaling.mode", "selectable", place, origin="flag", expression=text)


def _only_scaled(writer: FactWriter, calls: Sequence[Call]) -> None:
    """Record the facts of `scale_loss` alone, if the caller initializes apex."""
    uses = []
    for call in calls:
        decision = decide(conditions_of(call), None, call.module)
        if decision.who == "always":
            decision = Decision("caller", None, decision.under)
        uses.append(Use(place_of(call), decision, ("float16",), "float16"))
    if tell_uses(writer, uses):
        for call in calls:
            writer.say("api", "apex_amp", place_of(call))
        writer.say(
            "loss_scaling.mode",
            "caller",
            *(place_of(call) for call in calls),
            confidence="likely",
        )


def _wrapped(writer: FactWriter, calls: Sequence[Call]) -> None:
    """Record FP16_Optimizer: half weights, float32 masters, its own loss scale."""
    tell_uses(writer, [_use(call) for call in calls], "full")
    writer.say("api", "apex_amp", *(place_of(call) for call in calls))
    writer.say("scaler_update.status", "library", *(place_of(call) for call in calls))
    for call in calls:
        package = "fp16_utils" if ".fp16_utils." in call.name else "contrib.optimizers"
        writer.say("loss_scaling.api", f"apex.{package}.FP16_Optimizer", place_of(call))
    tell_wrapper_scale(writer, calls)
    _inner_clip(writer, calls[0].module.program)


def _inner_clip(writer: FactWriter, program: Program) -> None:
    """Record the limit of the old FusedAdam, which FP16_Optimizer steps with the norms."""
    for call in calls_matching(program, _FUSED):
        given = call.bound().get("max_grad_norm")
        match call.argument("max_grad_norm"), given:
            case Known(value=None | 0, flag=""), _:
                pass
            case limit, ast.expr():
                place = call.module.owner_of(given).span(given)
                writer.say("clipping.kind", "global_norm", place)
                writer.number("clipping.value", limit, place)
                writer.say("clipping.unscaled_first", "library", place)
                writer.say("clipping.per", "step", place)


def tell_wrapper_scale(writer: FactWriter, calls: Sequence[Call]) -> None:
    """Record how an FP16_Optimizer scales the loss: by a constant, dynamically, or by a flag."""
    modes: dict[str, Call] = {}
    for call in calls:
        bound = call.bound()
        dynamic = bound.get("dynamic_loss_scale")
        constant = bound.get("static_loss_scale")
        match evaluate(dynamic, call.module) if dynamic is not None else Known(False):
            case Known(value=True, flag=""):
                modes["dynamic"] = call
                _arguments(writer, call)
            case Known(flag=""):
                if constant is not None:
                    modes["static"] = call
                    scale = call.argument("static_loss_scale")
                    writer.number("loss_scaling.scale", scale, place_of(call))
            case _:
                modes["selectable"] = call
    if not modes:
        return
    word = next(iter(modes)) if len(modes) == 1 else "selectable"
    writer.say("loss_scaling.mode", word, *(place_of(call) for call in modes.values()))


def _arguments(writer: FactWriter, call: Call) -> None:
    """Record the parameters in `dynamic_loss_args`."""
    given = content(call.argument("dynamic_loss_args"))
    if isinstance(given, dict):
        for key, path in scaling_words("apex.fp16_utils").items():
            if is_number(given.get(key)):
                writer.say(path, given[key], place_of(call), origin="literal")


READER = Apex()
