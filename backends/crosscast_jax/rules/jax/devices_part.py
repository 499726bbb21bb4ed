"""CL019: devices that train on their own rows and exchange nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_JOINS = re.compile(r"pmean|psum|all_?gather|all_?reduce|reduce_scatter|cross_replica|sync_\w*grad")
_MAPS = ("jax.pmap", "flax.nnx.pmap")
_GRADIENTS = frozenset({"grad", "value_and_grad"})
_APPLIED = frozenset({"apply_gradients", "apply_updates"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions under pmap that apply their own gradients, in programs that join none."""
    program = subject.program
    if any(_JOINS.search(module.code) for module in program.modules):
        return
    for module in program.modules:
        for function in module.every(ast.FunctionDef):
            mapped = _mapped(function, module)
            words = {module.call(n).method for n in ast.walk(function) if isinstance(n, ast.Call)}
            if mapped is None or not words & _GRADIENTS or not words & _APPLIED:
                continue
            if any(k.arg == "axis_name" and _is_scaled(k, module) for k in _keywords(function)):
                continue
            yield Finding(
                span=module.span(mapped),
                message=f"{function.name} runs on every device with its own rows, and nothing "
                "joins their gradients: the devices train models of their own",
                hint='take the mean before the update, under `pmap(..., axis_name="batch")`: '
                '`gradients = jax.lax.pmean(gradients, "batch")`',
            )


def _mapped(function: ast.FunctionDef, module: Module) -> ast.AST | None:
    """Return where pmap gets a function: its decorator, or a call."""
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Name | ast.Attribute) and module.resolve(node) in _MAPS:
                return decorator
    for call in module.calls:
        first = call.node.args[0] if call.node.args else None
        if (
            canonical(call.name) in _MAPS
            and isinstance(first, ast.Name)
            and (first.id == function.name)
        ):
            return call.node
    return None


def _keywords(function: ast.FunctionDef) -> Iterator[ast.keyword]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield from node.keywords


def _is_scaled(given: ast.keyword, module: Module) -> bool:
    """Whether Flax' loss scale takes the mean itself: `value_and_grad(f, axis_name=...)`."""
    around = module.parent(given)
    return isinstance(around, ast.Call) and module.call(around).method == "value_and_grad"


_RIGHT = """\
import functools

import jax
from flax.training import train_state

state = train_state.TrainState.create(apply_fn=model.apply, params=weights, tx=tx)


@functools.partial(jax.pmap, axis_name="batch")
def train_step(state, batch):
    gradients = jax.grad(loss_fn)(state.params, batch)
    gradients = jax.lax.pmean(gradients, axis_name="batch")
    return state.apply_gradients(grads=gradients)


for batch in loader:
    state = train_step(state, batch)
"""
_MEAN = '    gradients = jax.lax.pmean(gradients, axis_name="batch")\n'
RULE = Rule(
    code="CL019",
    name="devices-part",
    topic="jax",
    severity=Severity.WARNING,
    title="Devices that exchange no gradients",
    why="`jax.pmap` runs a function on every device with a copy of the weights, and joins nothing "
    "by itself. Without `pmean` or `psum` every device follows its own rows; the copies part "
    "in the first step, and a checkpoint holds one of them.",
    wrong=_RIGHT.replace(_MEAN, ""),
    right=_RIGHT,
    check=check,
    hints=("pmap",),
    sources=("JAX documentation, pmap and collectives",),
)
