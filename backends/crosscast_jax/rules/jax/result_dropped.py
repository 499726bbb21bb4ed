"""CL018: new weights that are dropped."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_OWN = re.compile(r"\bdef apply_gradients\(")


def check(subject: Subject) -> Iterator[Finding]:
    """Find new weights that are the value of no name: `optax.apply_updates(...)` as a statement."""
    for module in subject.program.modules:
        for node in module.every(ast.Expr):
            if not isinstance(node.value, ast.Call) or module.is_dead(node):
                continue
            call = module.call(node.value)
            applied = canonical(call.name) in ("optax.apply_updates", "equinox.apply_updates")
            of_state = call.method == "apply_gradients" and keyword(node.value, "grads") is not None
            around = module.enclosing(node, ast.With)
            if around is not None and "raises" in module.text(around.items[0]):
                continue
            if of_state and _OWN.search(module.code):
                continue
            flax = any(name.partition(".")[0] == "flax" for name in module.imported)
            if applied or (of_state and flax):
                what = "apply_updates" if applied else f"{call.receiver_text}.apply_gradients"
                yield Finding(
                    span=module.span(node.value),
                    message=f"{what} returns new weights and changes none: nothing is trained",
                    hint="keep the result: `weights = optax.apply_updates(weights, updates)`"
                    if applied
                    else f"keep the result: `{call.receiver_text} = {what}(...)`",
                )


RULE = Rule("CL018", check, hints=("apply_updates", "apply_gradients"))
