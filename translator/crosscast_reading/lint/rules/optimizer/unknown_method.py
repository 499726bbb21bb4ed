"""CL508: a method that optimizers or loss scalers do not have: misspelt, or of PyTorch alone."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.lint.rules.optimizer._switched import leaves
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Choice, Instance, Value
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_OBJECTS = re.compile(
    r"(torch\.optim\.(?!lr_scheduler|swa_utils)\w+|torch\.(cuda\.|cpu\.)?amp\.GradScaler"
    r"|paddle\.(fluid\.)?optimizer\.(?!lr\.)\w+|paddle\.amp\.GradScaler"
    r"|tensorflow\.train\.\w*Optimizer|keras\.optimizers\.(?!schedules)\w+"
    r"|tensorflow\.train\.experimental\.enable_mixed_precision_graph_rewrite)"
)
"""What makes an optimizer or a scaler."""
_METHODS = frozenset(
    {
        *("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group", "backward"),
        *("scale", "unscale", "unscale_", "update", "get_scale", "is_enabled", "minimize"),
        *("is_enable",),  # Paddle's `is_enabled`
        *("compute_gradients", "apply_gradients", "clear_grad", "clear_gradients", "get_lr"),
        *("set_lr", "set_state_dict", "set_lr_scheduler", "apply", "get_gradients", "get_config"),
        *("from_config", "get_scaled_loss", "get_unscaled_gradients", "scale_loss", "build"),
        *("variables", "assign", "set_dict", "clear_gradient", "apply_optimize"),
    }
)
_PADDLE = re.compile(r"paddle\.optimizer\.(?!lr\.)[A-Z]\w+")
_ONLY_PYTORCH = {
    "param_groups": "set the rate with `optimizer.set_lr(rate)`",
    "add_param_group": "give all groups to the optimizer: `parameters=[{...}, {...}]`",
}
"""Attributes that only optimizers of PyTorch have, and what to do in Paddle."""
_FINITE = re.compile(r"\bis_?(finite|nan|inf)\(")
"""Tests of losses, after which training ends with any optimizer."""
_CLOSE = 0.75
"""Least similarity of a misspelt name."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of methods that exist nowhere but are close to one that does."""
    program = subject.program
    yield from _of_pytorch(program)
    for call in program.calls():
        if call.receiver is None or call.method in _METHODS or not call.names:
            continue
        value = evaluate(call.receiver, call.module)
        if not isinstance(value, Instance) or not _OBJECTS.fullmatch(canonical(value.made_by)):
            continue
        near = difflib.get_close_matches(call.method, _METHODS, n=1, cutoff=_CLOSE)
        if near and not call.method.startswith("_"):
            yield Finding(
                span=call.module.span(call.node.func),
                message=f"{call.receiver_text} has no method {call.method}",
                hint=f"did you mean `{near[0]}`?",
            )


def _of_pytorch(program: Program) -> Iterator[Finding]:
    """Find attributes of PyTorch's optimizers that are asked of Paddle's."""
    asked = [
        (node, module)
        for module in program.modules
        for node in module.every(ast.Attribute)
        if node.attr in _ONLY_PYTORCH
    ]
    if any(isinstance(node.ctx, ast.Store) for node, _ in asked):
        return  # the program gives optimizers what they lack
    for node, module in asked:
        value = evaluate(node.value, module)
        certain = _is_paddles(value) or (_may_be_paddles(value) and _is_always_run(node, module))
        if certain and not module.enclosing(node, ast.Try):
            yield Finding(
                span=module.span(node),
                message=f"optimizers of Paddle have no {node.attr}: the line raises an exception",
                hint=_ONLY_PYTORCH[node.attr],
            )


def _is_paddles(value: Value) -> bool:
    """Whether a value is certainly an optimizer of Paddle."""
    if isinstance(value, Choice):
        return all(_is_paddles(option) for _, option in value.options)
    maker = canonical(value.made_by) if isinstance(value, Instance) else ""
    return bool(_PADDLE.fullmatch(maker))


def _may_be_paddles(value: Value) -> bool:
    """Whether a value is an optimizer of Paddle under some setting."""
    return isinstance(value, Choice) and any(
        _is_paddles(option) or _may_be_paddles(option) for _, option in value.options
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


RULE = Rule(
    code="CL508",
    name="unknown-method",
    topic="optimizer",
    severity=Severity.ERROR,
    title="A method that optimizers and loss scalers do not have",
    why="The line raises AttributeError when it is reached, which in a rare branch, such as that "
    "of float16, may be after hours. A misspelt name is reported only for objects that a "
    "class of PyTorch, TensorFlow, Keras or Paddle certainly made. Ports from PyTorch to Paddle "
    "often keep `param_groups`, which optimizers of Paddle do not have, and programs for Keras 3 "
    "the `get_scaled_loss` of Keras 2.",
    wrong=changed(PLAIN, ("optimizer.zero_grad()", "optimizer.zero_grads()")),
    right=PLAIN,
    check=check,
    hints=("optim", "Scaler", "Optim"),
    sources=("PyTorch 2.13, Keras 3.15, TensorFlow 2.21, Paddle 3.3: methods of the classes",),
    needs_training=False,
)
