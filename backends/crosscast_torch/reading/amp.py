"""Reads `torch.amp` and `torch.cuda.amp`: autocast and GradScaler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.packages import KNOWN, package_of_name
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.conditions import conditions_of
from crosscast_reading.readers.python.decisions import Decision, decide
from crosscast_reading.readers.python.default_conditions import holds_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of, trains, types_of
from crosscast_reading.readers.python.library_calls import calls_of, last, matching, wrapped
from crosscast_reading.readers.python.scale_bounds import own_bounds
from crosscast_reading.readers.python.scaler_switches import tell_idle_scalers
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading.precision import Use, tell_uses
from crosscast_torch.reading.scalers import (
    given_scalers,
    of_helper,
    returned_scalers,
    runs_in_full,
    scaled_under,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "torch_amp"
_AUTOCAST = re.compile(r"torch\.(cuda\.amp|amp|cpu\.amp|xpu\.amp|npu\.amp)\.(autocast|auto_cast)")
_SCALER = re.compile(
    r"torch\.(cuda\.amp|amp|xpu\.amp|npu\.amp)\.GradScaler"
    r"|torch\.distributed\.fsdp\.sharded_grad_scaler\.ShardedGradScaler"
)
_HELPER = re.compile(r".*\bNativeScaler(WithGradNormCount)?")
"""Wrapper of a scaler with this name in code around vision models."""
_CAST = re.compile(r"(\w{1,60}_)?auto_?cast(_\w{1,60})?", re.I)


class TorchAmp:
    """Reads autocast and GradScaler."""

    name = NAME
    hints = ("autocast", "GradScaler", "NativeScaler", "scaler")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts about mixed precision and loss scaling."""
        writer = FactWriter(NAME)
        scalers = list(_made(program, _SCALER))
        if not scalers and not trains(program):
            return
        uses = [_use(call, program) for call in _autocasts(program)]
        live = [scaler for scaler in scalers if _decision(scaler).who != "never"]
        uses += _by_helpers(program) if not uses else []
        there = tell_uses(writer, uses) or _by_scaler(writer, live, program)
        for call in (*_autocasts(program), *live) if there else ():
            for name in (*call.names, _partial(call)):
                if _AUTOCAST.fullmatch(name) or _SCALER.fullmatch(name):
                    api = "torch.cuda.amp" if ".cuda.amp" in name else "torch.amp"
                    writer.say("api", api, place_of(call))
        _scaling(writer, live, program)
        yield from writer.facts
        yield from own_bounds(program, NAME)


def _made(program: Program, pattern: re.Pattern[str]) -> Iterator[Call]:
    seen: set[ast.AST] = set()
    for _, call in matching(program, pattern):
        if call.node not in seen:
            seen.add(call.node)
            yield call


def _partial(call: Call) -> str:
    """Return the function that `functools.partial(torch.autocast, ...)` wraps."""
    return next(map(call.module.resolve, wrapped(call)), "")


def _autocasts(program: Program) -> list[Call]:
    autocasts = []
    for name, call in calls_of(program):
        if _AUTOCAST.fullmatch(_partial(call)):
            autocasts.append(call)
        if _AUTOCAST.fullmatch(name) and not any(m.partial for m in call.meanings):
            autocasts.append(call)
    return list(dict.fromkeys(autocasts))


def _arguments(call: Call) -> dict[str, ast.expr]:
    bound = dict(call.bound())
    first = call.node.args[:1]
    if ".cuda.amp." in call.name and call.method == "autocast" and first:
        bound.setdefault("enabled", first[0])
    return bound


def _use(call: Call, program: Program) -> Use:
    bound = _arguments(call)
    decision = _decided(call, bound.get("enabled"))
    dtype = bound.get("dtype") or bound.get("fast_dtype")
    module = call.module
    types: tuple[str, ...] = ("float16",)
    default = "float16"
    if dtype is not None and not _is_none(dtype):
        types, default = types_of(dtype, module)
        types = types or ("float16",)
    elif _on_cpu(call, bound):
        types, default = ("bfloat16",), "bfloat16"
    function = module.function_of(call.node)
    inside = function if function is not None else module.tree
    learns = inside in _learning(module)
    return Use(place_of(call), decision, types, default, learns or _reached(call, program))


@once
def _learning(module: Module) -> set[ast.AST]:
    """Return the nodes that a backward pass is within."""
    ancestors: set[ast.AST] = set()
    for node in module.every(ast.Call):
        match node.func:
            case ast.Attribute(attr="backward" | "manual_backward"):
                here: ast.AST | None = node
                while here is not None and here not in ancestors:
                    ancestors.add(here)
                    here = module.parent(here)
    return ancestors


def _on_cpu(call: Call, bound: dict[str, ast.expr]) -> bool:
    if ".cpu.amp." in call.name:
        return True
    device = bound.get("device_type")
    if device is None and call.node.args and ".cuda.amp." not in call.name:
        device = call.node.args[0]
    value = device.value if isinstance(device, ast.Constant) else None
    return value == "cpu"


def _reached(call: Call, program: Program) -> bool:
    """Whether a training step runs through the call."""
    return any(
        context.node is call.node
        for step in training_steps(program)
        for event in step.of("backward", "forward")
        for context in event.contexts
    )


def _decision(call: Call) -> Decision:
    return _decided(call, _arguments(call).get("enabled"))


def _decided(call: Call, switch: ast.expr | None) -> Decision:
    """Return who decides; a switch computed by a function of another file is not constant.

    `enabled=check_amp(model)` is neither always on nor off.
    """
    module = call.module
    decision = decide(conditions_of(call), switch, module)
    if decision.who == "always" and switch is not None and _is_found_out(switch, module):
        return replace(decision, who="caller", by_default=None, flag=module.text(switch))
    return decision


def _is_found_out(switch: ast.expr, module: Module) -> bool:
    value = evaluate(switch, module)
    return isinstance(value, Instance) and not value.made_by.startswith(("torch.", "os."))


def _by_helpers(program: Program) -> list[Use]:
    """Return uses of autocast through helpers of other files: `get_autocast(args.precision)`."""
    uses = []
    for module in program.modules:
        for call in module.calls:
            if not isinstance(call.node.func, ast.Name) or program.function(call) is not None:
                continue
            name = call.name
            known = package_of_name(name) in KNOWN or _AUTOCAST.fullmatch(name)
            if known or not name or not _CAST.fullmatch(last(name)):
                continue
            given = [*call.node.args, *(k.value for k in call.node.keywords)]
            switch = next(
                (argument for argument in given if "device" not in module.text(argument)), None
            )
            decision = replace(_decided(call, switch), by_default=None)
            uses.append(Use(place_of(call), decision, ("float16",), ""))
    return uses


def _by_scaler(writer: FactWriter, scalers: Sequence[Call], program: Program) -> bool:
    """Record the facts of a scaler if autocast is in another file."""
    helpers = list(_made(program, _HELPER))
    if not scalers:
        if by_caller := given_scalers(program):
            decision = Decision("caller", None)
            return tell_uses(writer, [Use(by_caller[0], decision, ("float16",), "")])
        return tell_uses(
            writer,
            [Use(place_of(c), of_helper(c, program), ("float16",), "float16") for c in helpers],
        )
    if runs_in_full(program):
        writer.say("run.besides", "idle_loss_scale", *map(place_of, scalers))
        return True
    uses = []
    for call in scalers:
        decision = _decision(call)
        if decision.who == "always":
            decision = _who_scales(call, program, decision)
        uses.append(Use(place_of(call), decision, ("float16",), "float16"))
    return tell_uses(writer, uses)


def _who_scales(scaler: Call, program: Program, made: Decision) -> Decision:
    """Return who decides whether a scaler that is always made scales."""
    if not any(step.loop is not None for step in training_steps(program)):
        return Decision("caller", None, made.under)
    if decision := scaled_under(program):
        return decision
    return Decision("config", None, made.under, _condition(scaler)) if _for_a_type(scaler) else made


def _scaling(writer: FactWriter, scalers: Sequence[Call], program: Program) -> None:
    if scalers:
        given = False
        for call in scalers:
            bound = _arguments(call)
            for argument, path in scaling_words("torch").items():
                if argument in bound and not _is_none(bound[argument]):
                    given = True
                    value = call.argument(argument) if argument in call.bound() else None
                    writer.number(path, value, place_of(call))
        mode = "dynamic" if given else "framework_default"
        calls = (*scalers, *_made(program, _HELPER))
        switch = _condition(scalers[0])
        writer.say("loss_scaling.mode", mode, *map(place_of, calls), expression=switch)
        switched = ((call, _arguments(call).get("enabled")) for call in scalers)
        writer.facts.extend(tell_idle_scalers(switched, NAME))
        return
    helpers = list(_made(program, _HELPER))
    if helpers:
        writer.say(
            "loss_scaling.mode",
            "framework_default",
            *(place_of(call) for call in helpers),
            confidence="likely",
        )
    elif brought := given_scalers(program):
        writer.say("loss_scaling.mode", "caller", *brought, confidence="likely")
    elif returned := returned_scalers(program):
        writer.unknown("loss_scaling.mode", "a function of another file makes it", *returned)


_HALF = re.compile(r"float16|fp16|\bhalf\b", re.I)


def _for_a_type(scaler: Call) -> bool:
    """Whether a scaler is for a type that the program finds out: `if dtype == torch.float16`."""
    tests = [test for test in conditions_of(scaler) if _HALF.search(test.text)]
    return any(holds_by_default(test) is None for test in tests)


def _condition(scaler: Call) -> str:
    """Return the condition under which a scaler scales, as text; empty if it always does."""
    enabled = _arguments(scaler).get("enabled")
    if enabled is not None and not isinstance(enabled, ast.Constant):
        return scaler.module.owner_of(enabled).text(enabled)
    tests = [test.text for test in conditions_of(scaler) if "__name__" not in test.text]
    return " and ".join(tests)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


READER = TorchAmp()
