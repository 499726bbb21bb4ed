"""CL107: gradients are never cleared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import backward_of, eager_steps, of_one_window
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import ACCUMULATION, changed
from crosscast_reading.lint.rules.accumulation._run_modes import RunModes
from crosscast_reading.pysource.libraries.packages import KNOWN, package_of_name
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name

_CLEARS = re.compile(
    r"zero_?grad|clear_?grad|grad\.(data\.)?zero_|grad\s*=\s*None|zero_gradients|set_to_none"
    r"|optimi[sz]e_step|step_and|minimize"
)
_OWN = frozenset({"", "accelerate", "apex", "lightning_fabric"})
"""Libraries whose optimizers do not clear gradients."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that step and never clear the gradients between iterations."""
    for step in eager_steps(subject):
        applied = step.inside("step")
        if step.loop is None or not applied or not backward_of(step):
            continue
        if step.inside("make") or not all(_leaves(event) for event in applied):
            continue
        cleared = step.inside("zero_grad")
        first = _in_one_mode(step, cleared) if cleared else applied[0]
        if first is None or _may_end_after(step, first) or _elsewhere(step) or _hidden(step):
            continue
        mode = f" where {_mode(first)}" if cleared else ""
        yield Finding(
            span=first.span,
            message=f"the gradients are never cleared after {first.module.text(first.node)}{mode}, "
            "so every update includes those of all previous batches",
            hint=f"call `{first.subject or 'optimizer'}.{_method(first)}()` after it",
            related=tuple(event.span for event in (*cleared, *step.around("zero_grad"))[:1]),
        )


def _in_one_mode(step: TrainingStep, cleared: Sequence[Event]) -> Event | None:
    """Return the step of a mode of the program in which nothing clears gradients."""
    modes = RunModes(step)
    for applied in step.inside("step"):
        if all(modes.exclude(applied, event) for event in cleared) and any(
            of_one_window(applied, backward) for backward in backward_of(step)
        ):
            return applied
    return None


def _mode(applied: Event) -> str:
    """Return the condition of a step in words, without the test that ends a window."""
    guards = [guard for guard in applied.guards if guard.window is None]
    return " and ".join(g.words for g in guards)


def _method(applied: Event) -> str:
    """Return the name of the clearing method in the program's framework."""
    imported = applied.module.imported
    return "clear_grad" if any(name.split(".")[0] == "paddle" for name in imported) else "zero_grad"


def _leaves(applied: Event) -> bool:
    """Whether a step keeps the gradients, as Paddle's `scaler.minimize` does."""
    if applied.library in _OWN:
        return True
    return applied.library == "paddle" and bool(applied.scaler) and "minimize" in applied.detail


def _may_end_after(step: TrainingStep, applied: Event) -> bool:
    """Whether the loop may end right after the step."""
    return any(
        event.order > applied.order and isinstance(event.node, ast.Break | ast.Return)
        for event in step.inside("leave")
        if len(event.guards) <= len(applied.guards)
    )


def _elsewhere(step: TrainingStep) -> bool:
    """Whether a line without a recognized event clears gradients."""
    seen = {(event.span.file, event.span.line) for event in step.of("zero_grad", "step")}
    modules = {event.module for event in step.events}
    for module in modules:
        for number, line in enumerate(module.lines, 1):
            code = line.partition("#")[0]
            if _CLEARS.search(code) and (module.source.name, number) not in seen:
                return True
    return False


def _hidden(step: TrainingStep) -> bool:
    """Whether the loop passes the optimizer to code that is not visible."""
    assert step.loop is not None
    module = step.module
    known = {id(event.node) for event in step.events}
    for node in walk(step.loop.node):
        if not isinstance(node, ast.Call) or id(node) in known:
            continue
        arguments = (*node.args, *(keyword.value for keyword in node.keywords))
        if not any(kind_by_name(last_name(word)) == "optimizer" for word in arguments):
            continue
        name = module.call(node).name
        if package_of_name(name) not in KNOWN and ":" not in name:
            return True
    return False


RULE = Rule(
    code="CL107",
    name="zero-grad-missing",
    topic="accumulation",
    severity=Severity.ERROR,
    title="The gradients are never cleared",
    why="`backward()` accumulates gradients. Without `zero_grad()`, the update for batch t uses "
    "the sum of the gradients of all batches up to t, most of them computed with outdated "
    "weights.",
    wrong=changed(
        ACCUMULATION,
        ("        optimizer.step()\n        optimizer.zero_grad()\n", "        optimizer.step()\n"),
    ),
    right=ACCUMULATION,
    check=check,
    hints=("backward",),
    sources=("PyTorch docs, torch.optim.Optimizer.zero_grad",),
)
