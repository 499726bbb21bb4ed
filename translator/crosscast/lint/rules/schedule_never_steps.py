"""CL512: a schedule that nothing advances."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import PLAIN, changed
from crosscast.lint.rules._loop import eager_steps
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import identifier
from crosscast.readers.python.library_calls import calls_of, canonical, last
from crosscast.sources.subject import Subject

_SCHEDULE = re.compile(
    r"torch\.optim\.lr_scheduler\.[A-Z]\w+|paddle\.optimizer\.lr\.[A-Z]\w+"
    r"|transformers\.(optimization\.)?get_\w*schedule\w*"
)
_TAKES_RATE = re.compile(r"paddle\.optimizer\.(?!lr\.)\w+")
"""Optimizers that only ask a schedule for its rate."""
_READS = frozenset(
    {
        *("get_last_lr", "get_lr", "last_lr", "last_epoch", "base_lrs", "base_lr", "lr_lambdas"),
        *("state_dict", "get_cur_lr", "verbose"),
    }
)
"""What can be asked of a schedule without advancing it."""
_METRIC = {"ReduceLROnPlateau": "loss", "ReduceOnPlateau": "loss"}
"""What is given to `step` of schedules that wait for it."""
_SETTINGS = re.compile(
    r"(self\.)?(args?|cfg|conf|config|opts?|hparams|hp|flags|params)(\.\w+)*", re.I
)
_SHOWS = frozenset({"print", "info", "debug", "warning", "log", "format", "str", "repr", "type"})
_ADVANCES = frozenset({"step", "step_update", "step_batch", "step_epoch", "fit"})
_NOT_SCHEDULES = re.compile(r"optim|scaler|\bopt\b|_opt\b|\bopt_|prof|engine|adam|sgd", re.I)
_BEHIND = re.compile(r"^_learning_rate$|^_lr$|^lr_?sched\w*$|^_?schedulers?$")
"""Attributes of optimizers and trainers under which a schedule can be reached."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules in a program with its own loop that nobody steps or hands on."""
    program = subject.program
    updates = [event for step in eager_steps(subject) for event in step.of("step")]
    if program is None or not updates or _by_another_name(program):
        return
    for name, call in calls_of(program):
        kept = _kept(call) if _SCHEDULE.fullmatch(name) else None
        if kept is not None and not _is_inherited(kept, call) and _is_only_read(kept, call):
            yield Finding(
                span=call.module.span(call.node),
                message=f"nothing advances {call.module.text(kept)}: the learning rate stays at "
                "the first one of the schedule",
                hint="advance it after the step of the optimizer: "
                f"`{call.module.text(kept)}.step({_METRIC.get(last(name), '')})`",
                related=(updates[0].span,),
            )


def _kept(call: Call) -> ast.Name | ast.Attribute | None:
    """Return the only name that a schedule gets."""
    match call.module.parent(call.node):
        case ast.Assign(targets=[ast.Name() as name], value=value) if value is call.node:
            return name
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self")) as name], value=value
        ) if value is call.node:
            return name
    return None


def _is_inherited(kept: ast.Name | ast.Attribute, call: Call) -> bool:
    """Whether a class that is not seen may advance `self.schedule`: a base, or one that has it."""
    owner, program = call.module.class_of(call.node), call.module.program
    if isinstance(kept, ast.Name) or owner is None or program is None:
        return False
    bases = [base for base in owner.bases if identifier(base) != "object"]
    made = any(identifier(each.node.func) == owner.name for each in program.calls())
    return bool(bases) or not made


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
    named = isinstance(owner, ast.Name | ast.Attribute)
    return not named or not _NOT_SCHEDULES.search(module.text(owner))


def _is_only_read(kept: ast.Name | ast.Attribute, call: Call) -> bool:
    """Whether every use of a name asks it for its rate or its state."""
    word, program = identifier(kept), call.module.program
    assert program is not None
    for module in program.modules:
        for node in module.nodes:
            if isinstance(node, ast.Constant) and node.value == word and _names(node, module):
                return False
            if isinstance(node, ast.ImportFrom) and any(each.name == word for each in node.names):
                return False
            if not isinstance(node, ast.Name | ast.Attribute) or identifier(node) != word:
                continue
            if isinstance(node.ctx, ast.Load) and not _reads(node, module):
                return False
    return True


def _names(text: ast.Constant, module: Module) -> bool:
    """Whether a text picks an attribute or entry: `getattr(self, "scheduler")`."""
    around = module.parent(text)
    by_name = isinstance(around, ast.Call) and identifier(around.func) in ("getattr", "attrgetter")
    return by_name or isinstance(around, ast.Subscript)


def _reads(node: ast.expr, module: Module) -> bool:
    """Whether one use of a schedule leaves it as it is and keeps no other name for it."""
    around = module.parent(node)
    if isinstance(around, ast.Attribute):
        return around.attr in _READS and isinstance(around.ctx, ast.Load)
    if isinstance(around, ast.FormattedValue):
        return True
    if isinstance(around, ast.keyword):
        around = module.parent(around)
    if not isinstance(around, ast.Call) or node is around.func:
        return False
    called = module.call(around)
    takes_rate = any(_TAKES_RATE.fullmatch(canonical(name)) for name in called.names)
    return called.method in _SHOWS or takes_rate


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
    "Without it, training goes on at the first rate, which after a warm-up from 0 is 0.",
    wrong=changed(_RIGHT, ("    schedule.step()\n", "")),
    right=_RIGHT,
    check=check,
    hints=("lr_scheduler", "optimizer.lr", "schedule"),
    sources=("torch 2.13, optim/lr_scheduler.py", "Paddle 3.3.1, optimizer/lr.py"),
)
