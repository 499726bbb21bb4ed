"""CL019: devices that train on their own rows and exchange nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_SEVERAL = re.compile(r"ensemble|population|member|seed|replica_?id", re.I)
"""Words in the names of functions, or of what they get, that train several models on purpose."""
_JOINS = re.compile(r"pmean|psum|all_?gather|all_?reduce|reduce_scatter|cross_replica|sync_\w*grad")
_MAPS = ("jax.pmap", "flax.nnx.pmap")
_GRADIENTS = frozenset({"grad", "value_and_grad"})
_LOOPS = frozenset({"scan", "fori_loop", "while_loop"})
"""A function that is a whole training may be one of several on purpose."""
_APPLIED = frozenset({"apply_gradients", "apply_updates"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions under pmap that apply their own gradients, in programs that join none."""
    program = subject.program
    if any(_JOINS.search(module.code) for module in program.modules):
        return
    for module in program.modules:
        for function in module.every(ast.FunctionDef):
            mapped = _mapped(function, module)
            inner = (n for part in function.body for n in ast.walk(part))
            calls = [module.call(n) for n in inner if isinstance(n, ast.Call)]
            words = {call.method for call in calls}
            if mapped is None or not words & _GRADIENTS or not words & _APPLIED:
                continue
            named = (function.name, *(argument.arg for argument in function.args.args))
            if any(map(_SEVERAL.search, named)) or words & _LOOPS or any(map(_may_join, calls)):
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
        at_once = isinstance(module.parent(call.node), ast.Call)  # `pmap(train)(seeds)`
        if at_once or keyword(call.node, "devices") is not None:
            continue
        if (
            canonical(call.name) in _MAPS
            and isinstance(first, ast.Name)
            and (first.id == function.name)
        ):
            return call.node
    return None


def _may_join(call: Call) -> bool:
    """Whether something that is given gradients or an axis may join them."""
    text = call.module.text
    given = [*call.node.args, *(k.value for k in call.node.keywords)]
    if any(k.arg == "axis_name" for k in call.node.keywords):
        return True
    if any(isinstance(g, ast.Constant) and isinstance(g.value, str) for g in given):
        return True
    known = canonical(call.name).startswith(("jax.", "optax.", "flax."))
    keeps = known or call.method in _APPLIED or call.method == "update"
    return not keeps and any("grad" in text(g) for g in given if isinstance(g, ast.Name))


RULE = Rule("CL019", check, hints=("pmap",))
