"""Which functions of a program can matter to a training loop, found from names alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.trainstep.frames.object_kinds import (
    called_name,
    is_gradient,
    is_model_name,
    kind_by_name,
    last_name,
)
from crosscast_reading.trainstep.frames.weight_averages import average_of
from crosscast_reading.trainstep.frames.weight_sources import TRANSFORMS, holds_gradients

Owner = Function | ast.Module

CORE = frozenset(
    {
        *("backward", "manual_backward", "gradient", "value_and_grad", "minimize"),
        *("compute_gradients", "apply_gradients", "update_params", "grad", "apply_gradient"),
        *("append_backward", "aggregate_gradients", "train_on_batch", "value_and_gradients"),
        *("filter_grad", "filter_value_and_grad"),
    }
)  # fmt: skip
"""Calls without which nothing is trained by the program itself."""

HOT = CORE | frozenset(
    {
        *("step", "zero_grad", "clear_grad", "clear_gradients", "unscale_", "unscale_gradients"),
        *("clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "clip_gradients", "clip_grad"),
        *("clip_master_grads", "clip_by_global_norm", "clip_by_norm", "clip_by_value"),
        *("dispatch_clip_grad", "adaptive_clip_grad", "clamp_", "scale_loss", "get_scaled_loss"),
        *("get_unscaled_gradients", "no_sync", "autocast", "auto_cast", "accumulate", "set_epoch"),
        *("step_update", "assign_add", "apply_updates", "optimizer_step", "accumulate_gradients"),
        *("fused_allreduce_gradients", "synchronize", "scale", "_foreach_mul_", "_foreach_div_"),
    }
)  # fmt: skip
"""Calls that make a function worth looking into."""

COMPILES = frozenset({"jit", "pmap", "pjit", "filter_jit", "filter_pmap"})
"""Functions that return the one that they are given, compiled or for several devices."""

WRAPPED = re.compile(r"scaler$", re.I)
"""Objects that are called to do a whole step: `loss_scaler(loss, optimizer, ...)`."""


@dataclass(slots=True)
class ModuleIndex:
    """Calls of a module by the statement (or lambda) they stand in, and by function."""

    module: Module
    by_statement: dict[ast.AST, list[ast.Call]] = field(default_factory=dict)
    by_owner: dict[Owner, list[ast.Call]] = field(default_factory=dict)
    core: dict[Owner, list[ast.Call]] = field(default_factory=dict)
    hot: set[Owner] = field(default_factory=set)


@dataclass(slots=True)
class Index:
    """Of a whole program."""

    modules: dict[Module, ModuleIndex]
    hot_names: set[str]
    """Names of functions that are worth following."""
    model_names: set[str]
    """Variables whose parameters are trained, switched to training or synchronized; copies."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Variables that hold a function, a partial of one or an object to call, and its name."""
    decorated: frozenset[str] = frozenset()
    """Functions that a decorator turns into ones that compute gradients."""
    reaching: set[Owner] = field(default_factory=set)
    """Functions from which a backward pass is reached."""

    def is_hot(self, module: Module, function: Function) -> bool:
        """Whether something that matters happens in a function."""
        return function in self.modules[module].hot


_OF_MODELS = frozenset(
    {"parameters", "named_parameters", "train", "eval", "no_sync", "requires_grad_"}
)


def index_of(program: Program) -> Index:
    """Return the index of a program."""
    modules: dict[Module, ModuleIndex] = {}
    models: set[str] = set()
    decorated = frozenset(
        function.name
        for module in program.modules
        for function in module.functions.values()
        if any(map(_is_transform, function.decorator_list))
    )
    for module in program.modules:
        modules[module] = _index(module, models, decorated)
    named: dict[str, list[tuple[Module, Function]]] = defaultdict(list)
    for module in program.modules:
        for qualname, function in module.functions.items():
            if function not in module.dead:
                named[qualname.rpartition(".")[2]].append((module, function))
    aliases = _aliases(modules, named)
    callers: dict[str, list[tuple[Module, Owner]]] = defaultdict(list)
    for module, index in modules.items():
        for owner, calls in index.by_owner.items():
            for name in {called_name(call) for call in calls}:
                name = aliases.get(name, name)
                if name in named:
                    callers[name].append((module, owner))
    hot_names: set[str] = set()
    waiting: list[tuple[Module, Owner]] = [(m, o) for m, i in modules.items() for o in i.hot]
    while waiting:
        module, owner = waiting.pop()
        name = "" if isinstance(owner, ast.Module) else owner.name
        if not name or name in hot_names:
            continue
        hot_names.add(name)
        for other, caller in callers.get(name, ()):
            if caller not in modules[other].hot:
                modules[other].hot.add(caller)
                waiting.append((other, caller))
    models.discard("self")
    hot_names.update(alias for alias, name in aliases.items() if name in hot_names)
    return Index(modules, hot_names, models, aliases, decorated)


def _is_transform(decorator: ast.expr) -> bool:
    """Whether a decorator is `jax.grad`, `eqx.filter_grad(...)`, `partial(jax.grad, ...)`."""
    if isinstance(decorator, ast.Call):
        partial = last_name(decorator.func) == "partial" and decorator.args
        decorator = decorator.args[0] if partial else decorator.func
    return last_name(decorator) in TRANSFORMS


def _aliases(
    modules: dict[Module, ModuleIndex], named: dict[str, list[tuple[Module, Function]]]
) -> dict[str, str]:
    """Return the variables that get `partial(function, ...)` or `jit(function)`, by name."""
    aliases: dict[str, str] = {}
    for index in modules.values():
        for around, calls in index.by_statement.items():
            if not isinstance(around, ast.Assign) or len(around.targets) != 1:
                continue
            call = around.value
            if not (isinstance(call, ast.Call) and call in calls and call.args):
                continue
            function = call.args[0]
            if last_name(call.func) in COMPILES and isinstance(function, ast.Call):
                inside = last_name(function.func) == "partial" and function.args
                function = function.args[0] if inside else function
            elif last_name(call.func) not in (*COMPILES, "partial"):
                continue
            if last_name(function) in named:
                aliases[last_name(around.targets[0])] = last_name(function)
    return aliases


def _index(module: Module, models: set[str], decorated: frozenset[str]) -> ModuleIndex:
    index = ModuleIndex(module)
    parents = module.parents
    by_statement, by_owner = index.by_statement, index.by_owner
    owners: dict[ast.AST, Owner | None] = {}
    for call in module.calls:
        node = call.node
        here: ast.AST = parents[node]
        while not isinstance(here, _PLACES):
            here = parents[here]
            if here.__class__ is ast.Lambda and _runs_at_once(parents[here]):
                here = parents[here]
        by_statement.setdefault(here, []).append(node)
        owner = _owner(here, module, owners)
        if owner is None:
            continue
        by_owner.setdefault(owner, []).append(node)
        function = node.func
        name = called_name(node)
        wrapped = len(node.args) > 1 and WRAPPED.search(name)
        scales = _scales(function, module)
        transformed = name in decorated
        if name in HOT or transformed or wrapped or _is_optimizer_apply(function, name) or scales:
            if transformed or _is_core(node, name, module):
                index.core.setdefault(owner, []).append(node)
            index.hot.add(owner)
        elif name in _OF_MODELS and isinstance(function, ast.Attribute):
            models.add(last_name(function.value))
        elif name == "deepcopy" and node.args and is_model_name(last_name(node.args[0])):
            models.update(last_name(target) for target in getattr(here, "targets", ()))
    index.hot.update(
        owner
        for assignment in _assignments(module)
        if _changes_gradient(assignment, module)
        and (owner := _owner(assignment, module, owners)) is not None
    )
    index.hot.update(_averaging(module, owners))
    for calls in by_statement.values():
        calls.sort(key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0))
    return index


_PLACES = (ast.stmt, ast.Lambda, ast.ExceptHandler, ast.match_case)
_AT_ONCE = frozenset({"cond", "smart_cond", "case", "switch_case", "map", "map_structure", "run"})


def _runs_at_once(node: ast.AST) -> bool:
    """Whether a lambda is an argument of what runs it: `tf.cond(last, lambda: apply())`."""
    return isinstance(node, ast.Call) and called_name(node) in _AT_ONCE


def _changes_gradient(node: ast.AugAssign | ast.Assign, module: Module) -> bool:
    """Whether it is `p.grad *= factor` or the like."""
    if isinstance(node.value, ast.Constant):
        return False
    if isinstance(node, ast.Assign):
        return is_gradient(node.targets[0])
    return is_gradient(node.target) or (
        isinstance(node.op, ast.Mult | ast.Div) and holds_gradients(node.target, module)
    )


def _averaging(module: Module, owners: dict[ast.AST, Owner | None]) -> Iterator[Owner]:
    """Yield the functions that keep a moving average of the weights."""
    for kind in (ast.Expr, ast.Assign, ast.AugAssign):
        for node in module.every(kind):
            average = average_of(node, module)
            if average is not None and (average.decay is not None or average.share is not None):
                owner = _owner(node, module, owners)
                if owner is not None:
                    yield owner


def _scales(function: ast.expr, module: Module) -> bool:
    """Whether it is `p.grad.mul_` or the like, as in clipping by hand."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("mul_", "div_", "scale_", "clip_", "set_value", "copy_")
        and holds_gradients(function.value, module)
    )


def _is_optimizer_apply(function: ast.expr, name: str) -> bool:
    return (
        name == "apply"
        and isinstance(function, ast.Attribute)
        and kind_by_name(last_name(function.value)) == "optimizer"
    )


def _is_core(node: ast.Call, name: str, module: Module) -> bool:
    if name == "grad" and isinstance(node.func, ast.Name):
        return isinstance(module.parent(node), ast.Call)  # `grad(loss)(weights, rows)`
    if name == "grad":
        return isinstance(node.func, ast.Attribute) and last_name(node.func.value) in (
            "jax",
            "autograd",
            "nnx",
        )
    return name in CORE or (bool(WRAPPED.search(name)) and len(node.args) > 1)


def _owner(node: ast.AST, module: Module, known: dict[ast.AST, Owner | None]) -> Owner | None:
    """Return the function around a node; None within the backward of an autograd function."""
    passed: list[ast.AST] = []
    here = node
    owner: Owner | None = module.tree
    while True:
        parent = module.parents.get(here)
        if parent is None:
            break
        if parent in known:
            owner = known[parent]
            break
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            first = parent.args.args[0].arg if parent.args.args else ""
            owner = None if parent.name == "backward" and first == "ctx" else parent
            break
        passed.append(parent)
        here = parent
    for ancestor in passed:
        known[ancestor] = owner
    return owner


def _assignments(module: Module) -> Iterator[ast.Assign | ast.AugAssign]:
    yield from module.every(ast.AugAssign)
    yield from module.every(ast.Assign)
