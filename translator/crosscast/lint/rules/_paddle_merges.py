"""Windows that Paddle merges in its graph without averaging."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rule import Finding
from crosscast.pysource.syntax.nodes import identifier, keyword
from crosscast.pysource.values.value import Known
from crosscast.readers.python.library_calls import calls_of, value_of
from crosscast.readers.python.value_flow import flow_of
from crosscast.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program


def merged_not_averaged(subject: Subject) -> Iterator[Finding]:
    """Find merges of gradients with `avg` certainly off."""
    program = subject.program
    if _divides_losses(program):
        return
    for module in program.modules:
        for average, length in _settings(module):
            if not _is_off(average, module) or value_of(length, module) == Known(1):
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
        given = call.node.args[:1] if call.method == "minimize" else []
        parts = (flow_of(loss, call.module, lambda *_: False) for loss in given)
        if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for p in parts for n, _ in p):
            return True
    return False


def _settings(module: Module) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield the expressions of `avg` and `k_steps` of every merge."""
    for node in module.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if any(identifier(target) == "gradient_merge_configs" for target in node.targets):
                given = {
                    key.value: value
                    for key, value in zip(node.value.keys, node.value.values, strict=True)
                    if isinstance(key, ast.Constant)
                }
                if "avg" in given:
                    yield given["avg"], given.get("k_steps")
        elif isinstance(node, ast.Call) and identifier(node.func) == "GradientMergeOptimizer":
            average = keyword(node, "avg")
            length = keyword(node, "k_steps") or next(iter(node.args[1:2]), None)
            if average is not None:
                yield average, length


def _is_off(node: ast.expr, module: Module) -> bool:
    value = value_of(node, module)
    return isinstance(value, Known) and value.value is False and not value.flag
