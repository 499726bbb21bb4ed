"""CL404: a loss or softmax is explicitly computed in half precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject

_LOSSES = frozenset(
    {
        *("cross_entropy", "nll_loss", "binary_cross_entropy", "softmax", "log_softmax"),
        *("binary_cross_entropy_with_logits", "kl_div", "mse_loss"),
        *("CrossEntropyLoss", "NLLLoss", "BCEWithLogitsLoss", "BCELoss", "KLDivLoss", "MSELoss"),
    }
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find logits that are cast to half precision for a loss."""
    program = subject.program
    if not subject.steps:
        return
    for module in program.modules:
        for call in module.calls:
            name = call.name.removesuffix(".__call__")
            if not name.startswith("torch.nn.") or name.rpartition(".")[2] not in _LOSSES:
                continue
            if call.node.args and _is_half(call.node.args[0], module):
                yield Finding(
                    span=module.span(call.node),
                    message=f"{module.text(call.node.args[0])} is in half precision when "
                    f"{call.method} is computed",
                    hint="compute losses in float32: call `.float()`, or use autocast",
                )


def _is_half(node: ast.expr, module: Module) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="half" | "bfloat16"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="to" | "type"), args=[kind]):
            return module.resolve(kind) in ("torch.float16", "torch.half", "torch.bfloat16")
    return False


RULE = Rule(
    code="CL404",
    name="loss-in-half",
    topic="precision",
    severity=Severity.WARNING,
    title="A loss is computed in half precision",
    why="In float16, exp() overflows above 11, and a sum over a vocabulary loses most of its "
    "terms. Autocast itself runs softmax and losses in float32.",
    wrong=changed(
        PLAIN, ("criterion(model(inputs), targets)", "criterion(model(inputs).half(), targets)")
    ),
    right=PLAIN,
    check=check,
    hints=("half", "float16"),
    sources=("PyTorch docs, Autocast Op Reference, CUDA Ops that can autocast to float32",),
)
