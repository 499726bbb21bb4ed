"""CL024: optimizers of Flax NNX as they were before 0.11."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.outdated_apis import older
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_OPTIMIZERS = ("flax.nnx.Optimizer", "flax.nnx.optimizer.Optimizer")


_ASKS_VERSION = re.compile(r"ModelAndOptimizer|hasattr\(nnx|flax\.__version__")


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers without `wrt`, and updates without the model."""
    program = subject.program
    texts = (module.code for module in program.modules)
    if older(program, "flax", "0.11") or any(map(_ASKS_VERSION.search, texts)):
        return
    for name, call in calls_of(program):
        if name in _OPTIMIZERS and not call.has_star and "wrt" not in call.bound():
            yield Finding(
                span=call.module.span(call.node),
                message="nnx.Optimizer without `wrt=`: TypeError since Flax 0.11",
                hint="say what is trained: `nnx.Optimizer(model, tx, wrt=nnx.Param)`",
            )
        elif _updates_alone(call):
            yield Finding(
                span=call.module.span(call.node),
                message="the update of an nnx.Optimizer gets gradients only: since Flax 0.11 it "
                "needs the model, too",
                hint=f"pass it: `{call.receiver_text}.update(model, gradients)`",
            )


def _updates_alone(call: Call) -> bool:
    """Whether it is `optimizer.update(gradients)` of such an optimizer."""
    receiver = call.receiver
    alone = len(call.node.args) == 1 and not call.node.keywords and not call.has_star
    if call.method != "update" or receiver is None or not alone:
        return False
    return any(
        isinstance(node, ast.Call) and where.call(node).name in _OPTIMIZERS
        for node, where in chase(receiver, call.module)
    )


RULE = Rule("CL024", check, hints=("Optimizer",))
