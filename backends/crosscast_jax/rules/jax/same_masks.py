"""CL020: one random key for every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.answers.names import sets
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import keyword, names_in
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

_DERIVES = frozenset({"split", "fold_in", "clone", "fork", "next_rng_key", "bits"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that give the same key to a step in which dropout draws from it."""
    for module in subject.program.modules:
        for call in module.calls:
            loop: ast.stmt | None = module.enclosing(call.node, ast.For, ast.While)
            defined = subject.program.function(call) if loop is not None else None
            if loop is None or defined is None:
                continue
            home, function = defined
            if not _trains(function, home):
                continue
            names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
            if home.class_of(function) is not None and call.receiver is not None:
                names = names[1:]
            given = dict(zip(names, call.node.args, strict=False))
            given |= {k.arg: k.value for k in call.node.keywords if k.arg}
            for name, value in given.items():
                if not isinstance(value, ast.Name) or sets(loop, value.id):
                    continue
                if _is_drawn_from(name, function, home):
                    yield Finding(
                        span=module.span(value),
                        message=f"{value.id} is the same in every step: dropout draws the same "
                        "masks again and again",
                        hint=f"derive one for each step: `jax.random.fold_in({value.id}, step)`",
                        related=(home.span(function),),
                    )


def _trains(function: Function, module: Module) -> bool:
    """Whether a function takes gradients."""
    calls = (module.call(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(call.method in ("grad", "value_and_grad") for call in calls)


def _evaluates(call: ast.Call) -> bool:
    """Whether a model is told not to drop anything."""
    for name, off in (("train", False), ("training", False), ("deterministic", True)):
        value = keyword(call, name)
        if isinstance(value, ast.Constant) and value.value is off:
            return True
    return False


def _is_drawn_from(name: str, function: Function, module: Module) -> bool:
    """Whether a parameter is given to dropout as it is."""
    if sets(function, name):
        return False
    drawn = False
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            call = module.call(node)
            if call.method in _DERIVES and name in names_in(*node.args):
                return False
            streams = keyword(node, "rngs")
            if isinstance(streams, ast.Dict) and not _evaluates(node):
                drawn |= any(
                    isinstance(key, ast.Constant)
                    and key.value == "dropout"
                    and isinstance(value, ast.Name)
                    and value.id == name
                    for key, value in zip(streams.keys, streams.values, strict=True)
                )
    return drawn


RULE = Rule("CL020", check, hints=("rngs",))
