"""CL017: the state of the optimizer is thrown away in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.answers.chains import links_of
from crosscast_jax.answers.names import sets
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


def check(subject: Subject) -> Iterator[Finding]:
    """Find `updates, _ = tx.update(...)` of optimizers that keep moments."""
    for module in subject.program.modules:
        for node in module.every(ast.Assign):
            match node:
                case ast.Assign(
                    targets=[ast.Tuple(elts=[_, ast.Name(id=name)])],
                    value=ast.Call(
                        func=ast.Attribute(attr="update", value=receiver),
                        args=[_, ast.Name() as state, *_],
                    ) as value,
                ) if not name.strip("_") and _applied(node, module) and _comes_again(state, module):
                    links = links_of(receiver, module)
                case _:
                    continue
            made = next((link for link in links if link.keeps), None)
            if made is not None and made.call is not None:
                yield Finding(
                    span=module.span(value),
                    message=f"the new state of {made.name} is thrown away: its moments are those "
                    "of the first step in every step",
                    hint="keep it, and give it to the next update",
                    related=(made.call.module.span(made.call.node),),
                )


def _applied(node: ast.Assign, module: Module) -> bool:
    """Whether the function that asks for updates adds them to the weights."""
    home = module.function_of(node) or module.tree
    calls = (module.call(inner) for inner in ast.walk(home) if isinstance(inner, ast.Call))
    return any(call.method == "apply_updates" for call in calls)


def _comes_again(state: ast.Name, module: Module) -> bool:
    """Whether the same state is given again and again: in a loop, or by the caller in one."""
    loop = module.enclosing(state, ast.For, ast.While)
    if loop is not None:
        return not sets(loop, state.id)
    for function in module.functions_around(state):
        if function is not None and state.id in {a.arg for a in function.args.args}:
            sites = module.program.call_sites(module, function)
            place = [a.arg for a in function.args.args].index(state.id)
            return any(_gives_the_same(call, place) for call in sites)
    return False


def _gives_the_same(call: Call, place: int) -> bool:
    """Whether a call in a loop gives a name there that the loop does not set."""
    loop = call.module.enclosing(call.node, ast.For, ast.While)
    given = call.node.args[place] if place < len(call.node.args) else None
    result = call.module.parent(call.node)  # what the function hands back is what it was given
    return loop is not None and isinstance(given, ast.Name) and not sets(loop, given.id, result)


RULE = Rule("CL017", check, hints=("optax",))
