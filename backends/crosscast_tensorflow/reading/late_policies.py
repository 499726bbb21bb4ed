"""Policies of Keras that are set when the layers of a model exist already."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.readers.python.library_calls import calls_of, canonical

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding
    from crosscast_reading.readers.python.precision import Site

_PRECISION = re.compile(r"dtype|policy|float16|half|fp16|precision|amp\b", re.I)
_MADE = re.compile(r"keras\.(layers\.[A-Z]\w*|applications\.\w+|Sequential|Model)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatePolicy:
    """A policy that layers do not get."""

    policy: Site
    exists: Literal["layers", "model", "compiled model"]
    """What was created before it."""
    place: Span


def half_policies(sites: Sequence[Site]) -> list[Site]:
    """Return the places that certainly set `mixed_float16` for the whole program."""
    return [
        site
        for site in sites
        if site.dtypes == ("float16",)
        and site.mode == "mixed"
        and site.possible
        and "policy" in site.module.text(site.node).partition("(")[0]
    ]


def late_policies(program: Program, sites: Sequence[Site]) -> Iterator[LatePolicy]:
    """Yield policies set after the layers of a model in the same block, without later layers.

    Args:
        program: the program.
        sites: all places that set a policy.
    """
    layers = [call for name, call in calls_of(program) if _MADE.fullmatch(name)]
    makers = {call.module.function_of(call.node) for call in layers} - {None}
    calling = [
        call
        for module in program.modules
        for call in module.calls
        if (callee := program.function(call)) is not None and callee[1] in makers
    ]
    policies = half_policies(sites)
    if len(policies) == 1:
        yield from _behind_compile(policies[0])
        yield from _behind_models(policies[0], program)
    for policy in policies:
        statement = policy.module.statement_of(policy.node)
        mine = [
            call
            for call in (*layers, *calling)
            if call.module is policy.module and not _is_within(call, makers)
        ]
        before = [call for call in mine if _precedes(call, statement, policy.module)]
        if before and len(before) == len(mine) and not _in_maker(policy, makers):
            place = before[0].module.span(before[0].node)
            yield LatePolicy(policy=policy, exists="layers", place=place)


def _behind_models(policy: Site, program: Program) -> Iterator[LatePolicy]:
    """Yield a policy that is set when the models of all tapes exist, with layers not seen here."""
    trained = list(_differentiated(program))
    if any(owner is None for owner, _ in trained) or _makes_later(policy, program):
        return
    made = [
        binding
        for owner, module in trained
        for binding in (definitions(owner, module) if owner is not None else ()) or (None,)
    ]
    if made and all(binding is not None and _exists_before(binding, policy) for binding in made):
        first = made[0]
        assert first is not None
        yield LatePolicy(policy=policy, exists="model", place=first.module.span(first.node))


def _makes_later(policy: Site, program: Program) -> bool:
    """Whether another model may be made after the policy, or one is trained by Keras."""
    end = getattr(policy.node, "lineno", 0)
    for name, call in calls_of(program):
        if call.method in ("fit", "fit_generator", "compile") and not name.startswith("re."):
            return True
        if call.module is not policy.module or call.node.lineno <= end:
            continue
        of_library = name.startswith(("keras.", "tensorflow."))
        if call.method[:1].isupper() and (not of_library or _MADE.fullmatch(name)):
            return True
    return False


def _differentiated(program: Program) -> Iterator[tuple[ast.Name | None, Module]]:
    """Yield the models of `tape.gradient(loss, model.trainable_variables)`; None if unknown."""
    for module in program.modules:
        for call in module.calls:
            if call.method != "gradient" or len(call.node.args) < 2:
                continue
            for sources, where in chase(call.node.args[1], module):
                match sources:
                    case ast.Attribute(
                        value=ast.Name() as owner, attr="trainable_variables" | "trainable_weights"
                    ):
                        yield owner, where
                    case ast.Name() if definitions(sources, where):
                        continue  # what it stands for follows
                    case _:
                        yield None, where


def _exists_before(binding: Binding, policy: Site) -> bool:
    """Whether a class or an import, of which nothing is known here, gave a name its model."""
    module = policy.module
    if binding.module is not module or binding.path:
        return False
    if getattr(binding.node, "lineno", 0) >= getattr(policy.node, "lineno", 0):
        return False
    home = module.function_of(binding.node)
    if binding.kind == "import" and home is None:
        return True
    if home is not module.function_of(policy.node):
        return False
    value, program = binding.value, module.program
    if binding.kind != "assign" or not isinstance(value, ast.Call) or program is None:
        return False
    call = module.call(value)
    if _PRECISION.search(module.text(value).partition("(")[2]):
        return False  # it may get the policy as an argument
    if canonical(call.name).startswith(("keras.", "tensorflow.")):
        return False
    made = program.constructor(call)
    if made is not None:
        return _makes_layers(*made)
    return program.function(call) is None and ":" not in call.name  # not of this program


def _makes_layers(module: Module, initializer: Function) -> bool:
    """Whether a class creates layers in `__init__`, and none later: in `build` or `call`."""
    owner = module.class_of(initializer)
    makers = [
        module.function_of(call.node)
        for call in module.calls
        if _MADE.fullmatch(canonical(call.name)) and module.class_of(call.node) is owner
    ]
    return bool(makers) and all(maker is initializer for maker in makers)


def _behind_compile(policy: Site) -> Iterator[LatePolicy]:
    """Yield a policy that is set when a model is compiled already, and no other is trained."""
    module = policy.module
    function = module.function_of(policy.node)
    statement = module.statement_of(policy.node)
    while isinstance(parent := module.parent(statement) if statement else None, ast.If):
        statement = parent
    if function is None or statement is None:
        return
    if not isinstance(module.parent(statement), ast.FunctionDef | ast.With):
        return
    end = statement.end_lineno or statement.lineno
    mine = [call for call in module.calls if module.function_of(call.node) is function]
    later = [call for call in mine if call.node.lineno > end]
    before = compiled_before(policy)
    models = {call.receiver_text for call in before}
    trained = {call.receiver_text for call in later if call.method in ("fit", "fit_generator")}
    if trained and trained <= models and not any(_may_build(call, models) for call in later):
        place = module.span(before[0].node)
        yield LatePolicy(policy=policy, exists="compiled model", place=place)


def _may_build(call: Call, models: Collection[str]) -> bool:
    """Whether a call may create a model: a function that is not the method of a compiled one.

    What a call only gets or returns for logs, a path or a number cannot be trained any more.
    """
    if call.receiver_text in models:
        return False
    module = call.module
    statement = module.statement_of(call.node)
    if isinstance(statement, ast.Expr) and statement.value is call.node:
        return not _takes(call, models)
    if isinstance(statement, ast.Assign) and statement.value is call.node:
        return module.text(statement.targets[0]) in models
    return False


def _takes(call: Call, models: Collection[str]) -> bool:
    """Whether a call gets a compiled model, to log or to save it."""
    return any(call.module.text(argument) in models for argument in call.node.args)


def _is_within(call: Call, makers: Collection[Function | None]) -> bool:
    """Whether a layer is created in a function, whose calls are looked at instead."""
    program = call.module.program
    function = call.module.function_of(call.node)
    return (
        function in makers
        and program is not None
        and function is not None
        and bool(program.call_sites(call.module, function))
    )


def _in_maker(policy: Site, makers: Collection[Function | None]) -> bool:
    """Whether the policy is set in a called function, before or after other calls of it."""
    function = policy.module.function_of(policy.node)
    program = policy.module.program
    if function is None or program is None or function not in makers:
        return False
    return len(program.call_sites(policy.module, function)) > 1


def _precedes(call: Call, later: ast.stmt | None, module: Module) -> bool:
    """Whether a layer is created in the same block before a statement."""
    mine = module.statement_of(call.node)
    if mine is None or later is None or mine is later:
        return False
    parent = module.parent(later)
    return (
        parent is module.parent(mine)
        and mine.lineno < later.lineno
        and not isinstance(mine, ast.FunctionDef | ast.ClassDef)
        and canonical(call.name) != "keras.layers.Layer"
    )


def compiled_before(policy: Site) -> list[Call]:
    """Return the calls of `compile` before a policy in its function; none if one follows it."""
    module = policy.module
    function = module.function_of(policy.node)
    line = policy.node.lineno  # type: ignore[attr-defined]
    compiled = [
        call
        for call in module.calls
        if call.method == "compile"
        and call.receiver is not None
        and module.function_of(call.node) is function
    ]
    return compiled if all(call.node.lineno < line for call in compiled) else []


def is_behind_compile(policy: Site) -> bool:
    """Whether `compile` came before, so that it did not wrap the optimizer for loss scaling."""
    return bool(compiled_before(policy))
