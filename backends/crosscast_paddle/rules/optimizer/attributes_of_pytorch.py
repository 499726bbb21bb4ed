"""Attributes that only optimizers of PyTorch have, in ports to Paddle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.leaving import leaves
from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Choice, Instance, Value
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_OPTIMIZERS = re.compile(r"paddle\.optimizer\.(?!lr\.)[A-Z]\w+")
_ONLY_PYTORCH = {
    "param_groups": "set the rate with `optimizer.set_lr(rate)`",
    "add_param_group": "give all groups to the optimizer: `parameters=[{...}, {...}]`",
}
"""Attributes that optimizers of Paddle do not have, and what to do."""
_FINITE = re.compile(r"\bis_?(finite|nan|inf)\(")
"""Tests of losses, after which training ends with any optimizer."""


def _of_pytorch(subject: Subject) -> Iterator[Finding]:
    """Find attributes of PyTorch's optimizers that are asked of Paddle's."""
    asked = [
        (node, module)
        for module in subject.program.modules
        for node in module.every(ast.Attribute)
        if node.attr in _ONLY_PYTORCH
    ]
    if any(isinstance(node.ctx, ast.Store) for node, _ in asked):
        return  # the program gives optimizers what they lack
    for node, module in asked:
        value = evaluate(node.value, module)
        certain = _is_optimizer(value) or (
            _may_be_optimizer(value) and _is_always_run(node, module)
        )
        if certain and not module.enclosing(node, ast.Try):
            yield Finding(
                span=module.span(node),
                message=f"optimizers of Paddle have no {node.attr}: the line raises an exception",
                hint=_ONLY_PYTORCH[node.attr],
            )


def _is_optimizer(value: Value) -> bool:
    """Whether a value is certainly an optimizer."""
    if isinstance(value, Choice):
        return all(_is_optimizer(option) for _, option in value.options)
    made = canonical(value.made_by) if isinstance(value, Instance) else ""
    return bool(_OPTIMIZERS.fullmatch(made))


def _may_be_optimizer(value: Value) -> bool:
    """Whether a value is an optimizer of Paddle under some setting."""
    return isinstance(value, Choice) and any(
        _is_optimizer(option) or _may_be_optimizer(option) for _, option in value.options
    )


def _is_always_run(node: ast.expr, module: Module) -> bool:
    """Whether no condition that may tell the optimizers apart is around a line or its callers.

    Nor before it, if it may leave the function.
    """
    places: list[tuple[ast.expr, Module]] = [(node, module)]
    seen = set()
    while places:
        inner, home = places.pop()
        function = home.function_of(inner)
        if _is_under_condition(inner, home) or any(
            home.function_of(node) is function
            and leaves(node, inner, home)
            and _is_under_condition(node, home, _FINITE)
            for node in home.nodes
            if getattr(node, "lineno", inner.lineno) < inner.lineno
        ):
            return False
        if function is not None and function not in seen:
            seen.add(function)
            places += [(call.node, call.module) for call in home.program.call_sites(home, function)]
    return True


def _is_under_condition(
    node: ast.AST, module: Module, harmless: re.Pattern[str] | None = None
) -> bool:
    """Whether a line is under a condition, other than the entry or a test of harmless names."""
    condition = module.enclosing(node, ast.If, ast.IfExp, ast.BoolOp, ast.Match)
    if condition is None or _is_entry(condition, module):
        return False
    test = condition.test if isinstance(condition, ast.If) else condition
    return harmless is None or not harmless.search(module.text(test))


def _is_entry(condition: ast.AST, module: Module) -> bool:
    """Whether it is `if __name__ == "__main__":`."""
    return isinstance(condition, ast.If) and "__main__" in module.text(condition.test)


FORMS = (RuleForm(rule="CL508", check=_of_pytorch, hints=tuple(_ONLY_PYTORCH)),)
