"""Learning rates that stay as they are: nothing moves their schedule on, or only by a flag."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.switched_off import off_by_default
from crosscast_reading.sources.kept_schedules import ScheduleUse, is_inherited, kept_name, uses_of
from crosscast_reading.trainstep.events import TrainingStep

_READER = "still_rates"
_SCHEDULE = re.compile(
    r"torch\.optim\.lr_scheduler\.[A-Z]\w+|paddle\.optimizer\.lr\.[A-Z]\w+"
    r"|transformers\.(optimization\.)?get_\w*schedule\w*"
)
_SETTINGS = re.compile(
    r"(self\.)?(args?|cfg|conf|config|opts?|hparams|hp|flags|params)(\.\w+)*", re.I
)
_ADVANCES = frozenset({"step", "step_update", "step_batch", "step_epoch", "fit"})
_NOT_SCHEDULES = re.compile(r"optim|scaler|\bopt\b|_opt\b|\bopt_|prof|engine|adam|sgd", re.I)
_OPTIMIZER = re.compile(r"torch\.optim\.(?!lr_scheduler)|paddle\.optimizer\.(?!lr\.)")
_BEHIND = re.compile(r"^_learning_rate$|^_lr$|^lr_?sched\w*$|^_?schedulers?$")
"""Attributes of optimizers and trainers under which a schedule can be reached."""


@dataclass(frozen=True, slots=True)
class IdleSchedule:
    """A schedule that nothing advances."""

    name: str
    """Canonical name of its class or function."""
    call: Call
    kept: ast.Name | ast.Attribute
    """The name that it gets."""
    uses: frozenset[ScheduleUse]


def with_still_rates(
    facts: Sequence[Fact], program: Program, steps: Sequence[TrainingStep]
) -> list[Fact]:
    """Return the facts of a program, with what they say of a schedule that does not move.

    With the defaults of its flags, a program whose every call of `scheduler.step()` is switched off
    trains at one rate. A schedule that nothing advances leaves open what was meant.

    Args:
        facts: what readers say of the program.
        program: the program.
        steps: its training steps.
    """
    moves = [event for step in steps for event in step.of("schedule")]
    schedule_fact = (
        off_by_default("schedule.name", "constant", moves, _READER)
        if moves
        else _idle(facts, program, steps)
    )
    if schedule_fact is None:
        return list(facts)
    return [*(fact for fact in facts if not fact.field.startswith("schedule.")), schedule_fact]


def _idle(facts: Sequence[Fact], program: Program, steps: Sequence[TrainingStep]) -> Fact | None:
    """Return that it is open which schedule a program has that advances none of those it makes."""
    named = [fact for fact in facts if fact.field == "schedule.name"]
    by_hand = any(step.of("step") for step in steps)
    if not named or not by_hand:
        return None
    idle = {schedule.call.node for schedule in idle_schedules(program)}
    spans = {call.node: call.module.span(call.node) for _, call in _schedule_calls(program)}
    if idle != spans.keys() or any({*spans.values()}.isdisjoint(fact.places) for fact in named):
        return None
    reason = "nothing advances the schedule: the rate stays at its first one"
    return unknown("schedule.name", reason, *spans.values(), reader=_READER)


def idle_schedules(program: Program) -> Iterator[IdleSchedule]:
    """Yield the schedules that a program with its own loop neither steps nor passes on."""
    makers = _schedule_calls(program)
    if not makers or _by_another_name(program):
        return
    for name, call in makers:
        kept = kept_name(call)
        if kept is None or is_inherited(kept, call):
            continue
        uses = frozenset(uses_of(kept, call))
        if uses <= {"shown", "read", "rate", "restored", "optimizer"}:
            yield IdleSchedule(name, call, kept, uses)


def _schedule_calls(program: Program) -> list[tuple[str, Call]]:
    return [(name, call) for name, call in calls_of(program) if _SCHEDULE.fullmatch(name)]


def _by_another_name(program: Program) -> bool:
    """Whether something is advanced that may be any of the schedules."""
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                    if method in _ADVANCES and _may_be_schedule(owner, module):
                        return True
                case ast.Attribute(value=owner, attr=name, ctx=ast.Load()) if _BEHIND.search(name):
                    of_library = module.resolve(node) == "torch.optim.lr_scheduler"
                    set_apart = _SETTINGS.fullmatch(module.text(owner)) or of_library
                    if not set_apart and module.text(owner) != "self":
                        return True
    return False


def _may_be_schedule(owner: ast.expr, module: Module) -> bool:
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    if not isinstance(owner, ast.Name | ast.Attribute):
        return True
    makers = module.resolve_all(owner)
    if makers and all(_OPTIMIZER.match(name) for name in makers):
        return False
    return not _NOT_SCHEDULES.search(module.text(owner))
