"""CL708: a custom loop under mixed_float16 without loss scaling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_reading.readers.python.origins import origin
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import (
    half_policies,
    possible_half_policies,
    scales,
    scales_losses,
)
from crosscast_tensorflow.reading.keras import scales_by_hand

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.readers.python.conditions import Condition
    from crosscast_reading.readers.python.precision import Site

_KNOWS = re.compile(r"policy|dtype|float16|isinstance|LossScale|hasattr", re.I)
"""Texts of switches that follow the policy, or the optimizer."""
_OF_GRAPHS = re.compile(
    r"tensorflow\.(compat\.v1\.)?train\.\w+Optimizer\.(minimize|apply_gradients)"
)
"""Optimizers of TensorFlow 1, which Keras policies do not wrap."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that apply gradients themselves while mixed_float16 is set, or may be."""
    yield from unscaled_loops(subject.program)


@lru_cache(maxsize=1)
def unscaled_loops(program: Program) -> tuple[Finding, ...]:
    """Return the findings of this rule in a program; CL718 says nothing of them a second time."""
    return tuple(_unscaled(program))


def _unscaled(program: Program) -> Iterator[Finding]:
    certain = half_policies(program)
    policies = certain or possible_half_policies(program)
    if certain and any(scales_by_hand(program)):
        yield from _scaled_on_one_branch(certain, program)
    if not policies or scales_losses(program):
        return
    wrapped = scales(program)
    for name, call in calls_of(program):
        of_graph = _OF_GRAPHS.fullmatch(name) and not wrapped
        if not (of_graph or (certain and _is_own_loop(call))):
            continue
        policy = policies[0]
        is_set = "is set" if certain else "can be chosen"
        yield Finding(
            span=call.module.span(call.node),
            message=f"the policy mixed_float16 {is_set}, but the loss is not scaled: small "
            "gradients become zero",
            hint="wrap the optimizer in LossScaleOptimizer and scale the loss with it; only "
            "`compile` does this automatically",
            related=(policy.module.span(policy.node),),
        )


def _scaled_on_one_branch(policies: list[Site], program: Program) -> Iterator[Finding]:
    """Find switches that turn the scaling of losses off, and not the policy."""
    scaled = list(scales_by_hand(program))
    tests = [
        [test for test in branches(call.node, call.module, callers=False) if test.holds]
        for call in scaled
    ]
    texts = [{test.module.text(test.node) for test in mine} for mine in tests]
    if any(site.decision.who != "always" for site in policies):
        return
    for test in tests[0]:
        text = test.module.text(test.node)
        if not isinstance(test.node, ast.Name | ast.Attribute) or _KNOWS.search(_behind(test)):
            continue
        if not all(text in mine for mine in texts) or origin(test.node, test.module) == "always":
            continue
        if not any(_goes_on(call, text) for call in scaled):
            continue
        yield Finding(
            span=scaled[0].module.span(scaled[0].node),
            message=f"the policy mixed_float16 is set whatever {text} is, but the loss is scaled "
            f"only if {text}",
            hint=f"set the policy only if {text}, or always scale",
            related=(policies[0].module.span(policies[0].node),),
        )
        return


def _behind(test: Condition) -> str:
    """Return the text of a switch and of what it is assigned."""
    values = [bound.value for bound in definitions(test.node, test.module) if bound.value]
    texts = [test.module.owner_of(value).text(value) for value in values]
    return " ".join((test.module.text(test.node), *texts))


def _goes_on(scaled: Call, text: str) -> bool:
    """Whether the function of a scaling also applies gradients if a switch is off."""
    module = scaled.module
    function = module.function_of(scaled.node)
    return any(
        call.method == "apply_gradients"
        and module.function_of(call.node) is function
        and all(text not in test.text for test in branches(call.node, module, callers=False))
        for call in module.calls
    )


def _is_own_loop(call: Call) -> bool:
    """Whether a call applies the gradients of a tape with an unwrapped optimizer."""
    if call.method not in ("apply_gradients", "apply"):
        return False
    module = call.module
    function: ast.AST = module.function_of(call.node) or module.tree
    taped = any(
        isinstance(node, ast.Call) and canonical(module.call(node).name).endswith("GradientTape")
        for node in walk(function)
    )
    compiled = call.receiver_text == "self.optimizer"
    # `compile` wraps the optimizer of a model, whose own `train_step` must scale the loss
    return taped and (
        not compiled or _is_step_of_model(function, module) or _keeps_optimizer(function, module)
    )


def _keeps_optimizer(function: ast.AST, module: Module) -> bool:
    """Whether a class that is no model keeps an optimizer, in a program that compiles nothing."""
    owner, program = module.class_of(function), module.program
    if owner is None or owner.bases:
        return False
    if any(call.method == "compile" and call.receiver_text != "re" for call in program.calls()):
        return False
    given = [
        node.value
        for node in walk(owner)
        if isinstance(node, ast.Assign) and module.text(node.targets[0]) == "self.optimizer"
    ]
    return bool(given) and not any("." in module.text(value).partition("(")[0] for value in given)


def _is_step_of_model(function: ast.AST, module: Module) -> bool:
    """Whether a function is the `train_step` of a Keras model."""
    owner = module.class_of(function)
    scope = module.scopes.get(owner) if owner is not None else None
    program = module.program
    if scope is None or getattr(function, "name", "") != "train_step":
        return False
    return last(program.library_base(scope)) in ("Model", "Functional", "Sequential")


RULE = Rule("CL708", check, hints=("mixed_float16",))
