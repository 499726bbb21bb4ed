"""CL023: a mask that decays what it should spare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Severity
from crosscast_jax.rules.jax._examples import loop
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_DECAYING = frozenset({"adamw", "nadamw", "lamb", "lion", "add_decayed_weights", "lars"})
_SPARED = re.compile(r"^(bias|scale|gamma|beta|layer_?norm\w*|norm\w*|b)$", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find masks that are true for biases only."""
    for name, call in calls_of(subject.program):
        given = call.bound()
        mask = given.get("mask") or given.get("weight_decay_mask")
        if not name.startswith("optax.") or last(name) not in _DECAYING or mask is None:
            continue
        for node, module in _functions(mask, call.module):
            test = next(_picks(node), None)
            if test is not None:
                yield Finding(
                    span=module.span(test),
                    message=f"`{module.text(test)}` is true for what should be spared, but true "
                    f"means decay in {last(name)}: only these weights decay",
                    hint="turn it round: true means decay",
                    related=(call.module.span(call.node),),
                )


def _functions(mask: ast.expr, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the functions that a mask is, or the expressions that make it."""
    for node, where in chase(mask, module):
        if isinstance(node, ast.Lambda | ast.Call | ast.Dict | ast.DictComp):
            yield node, where
        elif isinstance(node, ast.Name | ast.Attribute):
            defined = where.program.function_named(where.resolve(node))
            if defined is not None:
                yield defined[1], defined[0]
                return


def _picks(node: ast.AST) -> Iterator[ast.expr]:
    """Yield tests that are a value of the mask as they stand: `path[-1] == "bias"`."""
    values: list[ast.expr] = []
    for inner in ast.walk(node):
        match inner:
            case ast.Lambda(body=body):
                values.append(body)
            case ast.Return(value=ast.expr() as value) | ast.DictComp(value=value):
                values.append(value)
    for value in values:
        match value:
            case ast.Compare(ops=[ast.Eq() | ast.In()], left=left, comparators=[right]):
                words = [n.value for n in ast.walk(right) if isinstance(n, ast.Constant)]
                words += [left.value] if isinstance(left, ast.Constant) else []
                if words and all(isinstance(w, str) and _SPARED.match(w) for w in words):
                    yield value


_RIGHT = (
    loop("optax.adamw(1e-3, weight_decay=0.01, mask=decays)")
    .replace(
        "\ntx =",
        """\n
def decays(weights):
    flat = flax.traverse_util.flatten_dict(weights)
    return flax.traverse_util.unflatten_dict({path: path[-1] != "bias" for path in flat})


tx =""",
    )
    .replace("import jax\n", "import flax\nimport jax\n")
)
RULE = Rule(
    code="CL023",
    name="mask-inverted",
    topic="jax",
    severity=Severity.WARNING,
    title="A mask that decays biases only",
    why="In optax a mask is true for the weights that decay. Written as a list of exceptions, as "
    "in `no_decay` of other libraries, it decays biases and scales of norms, and no matrix.",
    wrong=_RIGHT.replace('!= "bias"', '== "bias"'),
    right=_RIGHT,
    check=check,
    hints=("mask",),
    sources=("optax 0.2.8, transforms/_adding.py", "tests/probes/jax/test_traps.py"),
)
