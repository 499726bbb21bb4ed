"""CL512: a schedule that nothing advances."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.kept_schedules import is_inherited, kept_name, uses_of
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.readers.tensorflow.callbacks_kept import not_given
from crosscast_reading.sources.subject import Subject

_SCHEDULE = re.compile(
    r"torch\.optim\.lr_scheduler\.[A-Z]\w+|paddle\.optimizer\.lr\.[A-Z]\w+"
    r"|transformers\.(optimization\.)?get_\w*schedule\w*"
)
_METRIC = {"ReduceLROnPlateau": "loss", "ReduceOnPlateau": "loss"}
"""What is given to `step` of schedules that wait for it."""
_SETTINGS = re.compile(
    r"(self\.)?(args?|cfg|conf|config|opts?|hparams|hp|flags|params)(\.\w+)*", re.I
)
_ADVANCES = frozenset({"step", "step_update", "step_batch", "step_epoch", "fit"})
_NOT_SCHEDULES = re.compile(r"optim|scaler|\bopt\b|_opt\b|\bopt_|prof|engine|adam|sgd", re.I)
_OPTIMIZER = re.compile(r"torch\.optim\.(?!lr_scheduler)|paddle\.optimizer\.(?!lr\.)")
_BEHIND = re.compile(r"^_learning_rate$|^_lr$|^lr_?sched\w*$|^_?schedulers?$")
"""Attributes of optimizers and trainers under which a schedule can be reached."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules in a program with its own loop that nobody steps or hands on."""
    program = subject.program
    yield from _given_to_no_fit(program)
    updates = [event for step in eager_steps(subject) for event in step.of("step")]
    if not updates or _by_another_name(program):
        return
    for name, call in calls_of(program):
        kept = kept_name(call) if _SCHEDULE.fullmatch(name) else None
        if kept is None or is_inherited(kept, call):
            continue
        uses = set(uses_of(kept, call))
        if uses <= {"shown", "read", "rate", "restored", "optimizer"}:
            text = call.module.text(kept)
            step = f"`{text}.step({_METRIC.get(last(name), '')})`"
            alone = name.startswith("paddle.") and not uses & {"rate", "optimizer"}
            yield Finding(
                span=call.module.span(call.node),
                message=f"nothing advances {text}, and no optimizer has it: the learning rate is "
                "another one, which does not change"
                if alone
                else f"nothing advances {text}: the learning rate stays at the first one of the "
                "schedule",
                hint=f"pass `learning_rate={text}` to the optimizer, and advance it after its "
                f"step: {step}"
                if alone
                else f"advance it after the step of the optimizer: {step}",
                related=(updates[0].span,),
            )


def _given_to_no_fit(program: Program) -> Iterator[Finding]:
    """Find callbacks of Keras that change the rate, and that `fit` does not get."""
    for call, fit in not_given(program):
        yield Finding(
            span=call.module.span(call.node),
            message="no training gets this callback: the learning rate stays the same",
            hint=f"pass it to `{fit.method}`, in `callbacks`",
            related=(fit.module.span(fit.node.func),),
        )


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
    made = module.resolve_all(owner)
    if made and all(_OPTIMIZER.match(name) for name in made):
        return False
    return not _NOT_SCHEDULES.search(module.text(owner))


_RIGHT = changed(
    PLAIN,
    (
        "criterion =",
        "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)\ncriterion =",
    ),
    ("    optimizer.step()\n", "    optimizer.step()\n    schedule.step()\n"),
)

RULE = Rule(
    code="CL512",
    name="schedule-never-steps",
    topic="schedule",
    severity=Severity.WARNING,
    title="A schedule that nothing advances",
    why="Schedules of PyTorch and Paddle change the learning rate only when `step()` is called. "
    "Without it, training goes on at the first rate, which after a warm-up from 0 is 0. Those of "
    "Keras that are callbacks do so only if `fit` gets them.",
    wrong=changed(_RIGHT, ("    schedule.step()\n", "")),
    right=_RIGHT,
    check=check,
    hints=("lr_scheduler", "optimizer.lr", "schedule", "callbacks"),
    sources=("torch 2.13, optim/lr_scheduler.py", "Paddle 3.3.1, optimizer/lr.py"),
)
