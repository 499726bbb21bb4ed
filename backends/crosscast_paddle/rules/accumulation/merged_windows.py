"""Windows that Paddle merges in its graph without averaging."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, fixed, value_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


def _merged_not_averaged(subject: Subject) -> Iterator[Finding]:
    """Find merges of gradients with `avg` certainly off."""
    program = subject.program
    if _divides_losses(program):
        return
    for module in program.modules:
        for average, length in _settings(module):
            if fixed(value_of(average, module)) is not False or value_of(length, module) == Known(
                1
            ):
                continue
            steps = module.text(length) if length is not None else "several"
            yield Finding(
                span=module.span(average),
                message=f"the gradients of {steps} micro-batches are added up, but not averaged",
                hint="set `avg` to True (the default), or divide the loss",
            )


def _divides_losses(program: Program) -> bool:
    """Whether the minimized loss is divided: by the rows of a window, maybe."""
    for _, call in calls_of(program):
        losses = call.node.args[:1] if call.method == "minimize" else []
        parts = (flow_of(loss, call.module, lambda *_: False) for loss in losses)
        if any(isinstance(getattr(n, "op", None), ast.Div) for p in parts for n, _ in p):
            return True
    return False


def _settings(module: Module) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield the expressions of `avg` and `k_steps` of every merge."""
    for node in module.nodes:
        settings: dict[object, ast.expr] = {}
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr="gradient_merge_configs")],
                value=ast.Dict(keys=keys, values=values),
            ):
                names = (getattr(key, "value", None) for key in keys)
                settings = dict(zip(names, values, strict=True))
            case ast.Call(func=function, args=arguments, keywords=keywords):
                if identifier(function) == "GradientMergeOptimizer":
                    settings = dict(zip(("", "k_steps"), arguments, strict=False))
                    settings |= {each.arg: each.value for each in keywords}
        if "avg" in settings:
            yield settings["avg"], settings.get("k_steps")


FORMS = (
    RuleForm(rule="CL101", check=_merged_not_averaged, hints=("gradient_merge", "GradientMerge")),
)
