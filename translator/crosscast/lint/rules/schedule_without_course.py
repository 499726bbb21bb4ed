"""CL511: a schedule that ends at the rate it starts from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.names.containers import definitions
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.programs.module import Module
from crosscast.pysource.values.value import Known
from crosscast.readers.python.library_calls import calls_of, last
from crosscast.sources.subject import Subject

_ENDS = {
    "paddle.": {
        "CosineAnnealingDecay": ("learning_rate", "eta_min"),
        "PolynomialDecay": ("learning_rate", "end_lr"),
    },
    "keras.": {"PolynomialDecay": ("initial_learning_rate", "end_learning_rate")},
}
"""Library to schedules that go from one rate to another, and the arguments for both."""
_HOPS = 8


def check(subject: Subject) -> Iterator[Finding]:
    """Find decays whose last rate is certainly their first one."""
    program = subject.program
    for name, call in calls_of(program) if program is not None else ():
        library = next((each for each in _ENDS if name.startswith(each)), None)
        ends = _ENDS[library].get(last(name)) if library is not None else None
        if ends is None:
            continue
        first, floor = (call.bound().get(argument) for argument in ends)
        if first is not None and floor is not None and _are_same(first, floor, call):
            yield Finding(
                span=call.module.span(floor),
                message=f"{ends[1]} is the rate that the schedule starts from: it never changes "
                "the learning rate",
                hint="pass the rate that the schedule should end at",
                related=(call.module.span(first),),
            )


def _are_same(first: ast.expr, floor: ast.expr, call: Call) -> bool:
    """Whether two arguments of one call are the same number, or the same setting."""
    values = [evaluate(node, call.module) for node in (first, floor)]
    if all(isinstance(each, Known) and not each.flag for each in values):
        start, end = (each.value for each in values if isinstance(each, Known))
        return isinstance(start, int | float) and start == end
    settings = [_setting(node, call.module) for node in (first, floor)]
    return settings[0] is not None and settings[0] == settings[1]


def _setting(node: ast.expr, module: Module, hops: int = 0) -> tuple[Module, str] | None:
    """Return the name or attribute that an expression only repeats: `rate` for `lr = rate`."""
    if not isinstance(node, ast.Name | ast.Attribute) or hops > _HOPS:
        return None
    made = definitions(node, module) if isinstance(node, ast.Name) else ()
    if len(made) != 1 or made[0].kind != "assign" or made[0].value is None or made[0].path:
        return (module, module.text(node)) if len(made) < 2 else None
    return _setting(made[0].value, made[0].module, hops + 1)


_EXAMPLE = """\
import paddle

model = paddle.nn.Linear(4, 2)
rate = 1e-3
schedule = paddle.optimizer.lr.CosineAnnealingDecay(rate, T_max=100, eta_min=1e-5)
optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters())
for inputs, targets in loader:
    loss = paddle.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    schedule.step()
"""

RULE = Rule(
    code="CL511",
    name="schedule-without-course",
    topic="schedule",
    severity=Severity.WARNING,
    title="A schedule that ends at the rate it starts from",
    why="A decay from a rate to the same rate is a constant. The run has the schedule in its "
    "configuration and its logs, but trains without one.",
    wrong=_EXAMPLE.replace("eta_min=1e-5", "eta_min=rate"),
    right=_EXAMPLE,
    check=check,
    hints=("eta_min", "end_lr", "end_learning_rate"),
)
