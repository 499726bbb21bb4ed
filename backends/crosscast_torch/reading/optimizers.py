"""Reads optimizers of PyTorch programs: which ones there are, and their settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Symbol, Value
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.default_conditions import holds_by_default, is_sure
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of, trains
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.python.optimizers import role
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading.later_changes import tell_changes
from crosscast_torch.reading.object_names import Subjects, subject_of
from crosscast_torch.reading.optimizer_names import (
    BASES,
    WRAPPERS,
    family,
    is_factory,
    is_library_class,
    is_optimizer,
)
from crosscast_torch.reading.optimizer_settings import (
    OptimizerCall,
    tell_from_flags,
    tell_settings,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event

NAME = "torch_optimizers"


class TorchOptimizers:
    """Reads optimizers."""

    name = NAME
    hints = ("optim", "Adam", "SGD", "LAMB", "Lamb", "Novograd", "NovoGrad", "RMSprop", "Lion")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the optimizers of a program with their settings."""
        writer = FactWriter(NAME)
        if framework_of(program) not in ("", "pytorch"):
            return
        if not trains(program) and not _configures(program):
            return
        subjects = Subjects()
        seen: set[tuple[str, str]] = set()
        optimizers = sorted(_optimizer_calls(program), key=_off_by_default)
        chosen = len({optimizer.family for optimizer in optimizers}) > 1
        calls = [optimizer.call for optimizer in optimizers]
        for optimizer in optimizers:
            key = (subject_of(optimizer.call), optimizer.name)
            if key in seen and key[0]:
                continue  # the same optimizer in another branch
            seen.add(key)
            sure = not chosen or is_sure(optimizer.call, calls)
            _tell(writer, optimizer, subjects, "certain" if sure else "likely")
        if not writer.facts:
            _given(writer, program)
        yield from writer.facts


def _configures(program: Program) -> bool:
    """Whether a file without a training loop makes an optimizer."""
    return any(is_factory(name) for module in program.modules for name in module.functions)


def _optimizer_calls(program: Program) -> Iterator[OptimizerCall]:
    for module in program.modules:
        for call in module.calls:
            if optimizer := _as_optimizer(call, program):
                yield optimizer


def _as_optimizer(call: Call, program: Program) -> OptimizerCall | None:
    names = [n for n in call.names if is_optimizer(n) or is_library_class(n)]
    names = [n for n in names if not WRAPPERS.search(last(n))]
    if names and not _inside_own_class(call):
        if len({family(n) for n in names}) == 1:
            return OptimizerCall(call, names[0], family(names[0]))
        return OptimizerCall(call, "", "selectable")
    if _by_name(call):
        return OptimizerCall(call, "", "selectable")
    if any(WRAPPERS.search(last(n)) for n in call.names):
        for name in BASES:
            node = call.bound().get(name)
            named = _classes(evaluate(node, call.module)) if node is not None else []
            if named and len({family(name) for name in named}) == 1:
                return OptimizerCall(call, named[0], family(named[0]))
        return None
    if any(is_factory(n) for n in (*call.names, call.method)) and _is_outside(call, program):
        timm = any(n.startswith("timm.") for n in call.names)
        return OptimizerCall(call, call.name, "selectable" if timm else "elsewhere")
    return _by_caller(call)


def _classes(value: Value) -> list[str]:
    """Return the optimizers that a class is one of; none if it may be something else."""
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    named = [option.name for option in options if isinstance(option, Symbol)]
    return named if len(named) == len(options) else []


def _off_by_default(optimizer: OptimizerCall) -> bool:
    """Whether the defaults of flags rule an optimizer out."""
    call = optimizer.call
    around = conditions(call.node, call.module, callers=False)
    return any(holds_by_default(condition) is False for condition in around)


def _inside_own_class(call: Call) -> bool:
    """Whether the call stands in the definition of an optimizer: `super().__init__(...)`."""
    around_it = call.module.class_of(call.node)
    return around_it is not None and is_optimizer(around_it.name)


def _by_name(call: Call) -> bool:
    """Whether it calls `getattr(torch.optim, name)` or an entry of a table of optimizers."""
    function = call.node.func
    module = call.module
    behind: list[ast.expr | None] = [function]
    if isinstance(function, ast.Name):
        behind = [b.value for b in definitions(function, module) if b.kind == "assign"]
    match behind:
        case [ast.Call(func=ast.Name(id="getattr"), args=[place, *_])]:
            return module.resolve(place).startswith(("torch.optim", "apex.optimizers"))
        case [ast.Call(func=ast.Name(id="eval"), args=[text, *_])]:
            return re.search(r"['\"](torch\.)?optim\.", module.text(text)) is not None
        case [ast.Subscript(value=table)]:
            return module.resolve(table) == "torch.optim.__dict__"
    return False


def _is_outside(call: Call, program: Program) -> bool:
    """Whether the called factory is not defined in the given files."""
    subject = subject_of(call)
    if not subject or program.function(call) is not None:
        return False
    return call.receiver is None or bool(call.name) or "opt" in subject.lower()


def _by_caller(call: Call) -> OptimizerCall | None:
    """Return an optimizer created by a function argument: `optimizer_fn(model)`."""
    function = call.node.func
    if not isinstance(function, ast.Name) or "optim" not in function.id.lower() or call.names:
        return None
    scope = call.module.scope_of(call.node).lookup(function.id)
    bindings = scope.bindings.get(function.id, []) if scope is not None else []
    if any(binding.kind == "parameter" for binding in bindings):
        return OptimizerCall(call, function.id, "caller")
    return None


def _tell(
    writer: FactWriter, optimizer: OptimizerCall, subjects: Subjects, confidence: Confidence
) -> None:
    call = optimizer.call
    under = tuple(condition.text for condition in conditions(call.node, call.module, callers=False))
    name = subjects.name(call, optimizer.name)
    place = place_of(call)

    if optimizer.family:
        word = (
            "presence" if optimizer.family in ("elsewhere", "caller", "selectable") else "literal"
        )
        writer.say(
            "optimizer.name",
            optimizer.family,
            place,
            subject=name,
            under=under,
            origin=word,  # type: ignore[arg-type]
            expression=call.module.text(call.node.func) if word == "presence" else "",
            confidence=confidence if optimizer.family != "elsewhere" else "likely",
        )
    else:
        shown = last(optimizer.name)
        writer.unknown("optimizer.name", "recipes have no such optimizer", place, expression=shown)
        writer.facts[-1] = replace(writer.facts[-1], subject=name, under=under)
    if (
        optimizer.name
        and optimizer.family not in ("elsewhere", "caller")
        and not is_factory(optimizer.name)
    ):
        writer.say(
            "optimizer.source_name",
            last(optimizer.name),
            place,
            subject=name,
            under=under,
            expression=optimizer.name,
        )
    if optimizer.family in ("elsewhere", "caller"):
        return
    if optimizer.family == "selectable" and is_factory(optimizer.name):
        tell_from_flags(writer, call, name)
        return
    tell_settings(writer, optimizer, name, under)
    tell_changes(writer, call, name)
    part = role(name, call.module.text(call.node.args[0]) if call.node.args else "")
    if part:
        writer.say("optimizer.role", part, place, subject=name, under=under)


def _given(writer: FactWriter, program: Program) -> None:
    """Record that the caller or another file provides the optimizer that is stepped here."""
    for step in training_steps(program):
        for event in step.of("step"):
            match event.node:
                case ast.Call(func=ast.Attribute(value=receiver)):
                    if _is_parameter(receiver, event.module):
                        _say_whose(writer, "caller", event)
                        return
    told_of: set[str] = set()
    for step in training_steps(program):
        for event in step.of("step"):
            if "opt" in event.subject.lower() and event.subject not in told_of:
                told_of.add(event.subject)
                _say_whose(writer, "elsewhere", event)


def _say_whose(writer: FactWriter, who: str, event: Event) -> None:
    writer.say("optimizer.name", who, event.span, subject=event.subject, confidence="likely")


def _is_parameter(node: ast.expr, module: Module) -> bool:
    """Whether an object comes from a parameter, directly or through an attribute."""
    return any(
        binding.kind == "parameter"
        for here, where in chase(node, module)
        if isinstance(here, ast.Name)
        for binding in definitions(here, where)
    )


READER = TorchOptimizers()
