"""CL808: Paddle's gradient merge is configured only for several workers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.readers.python.conditions import Condition, branches
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_WORKERS = re.compile(
    r"worker_num|world_size|\bnranks|trainers?_num|num_trainers|TRAINERS_NUM|device_count"
    r"|trainer_count|n_?gpus?\b|num_gpus|num_cards"
    r"|(^|[._])(num|n)_(mp|pp|tp|sharding)\b|\b(mp|pp|tp|sharding)(\.size|_degree|_size)\b"
)
_LENGTHS = frozenset({"gradient_merge_acc_step", "accumulate_steps"})
"""Lengths of windows in the settings of a split model."""
_SEVERAL = re.compile(r"(^|[._])(is_)?(distributed|multi_(gpu|card|node)s?)$")
_MORE = {(ast.Gt, 1), (ast.GtE, 2), (ast.NotEq, 1)}
_ONE = {(ast.Eq, 1), (ast.LtE, 1), (ast.Lt, 2)}


def check(subject: Subject) -> Iterator[Finding]:
    """Find strategies with gradient merge that a single worker does not use, although it trains."""
    for group in dict.fromkeys(map(connected, subject.program.modules)):
        steps = [step for step in subject.steps if step.module in group]
        yield from _configured(sorted(group, key=subject.program.modules.index), steps)


def _configured(group: Sequence[Module], steps: Sequence[TrainingStep]) -> Iterator[Finding]:
    if any("GradientMerge" in module.code for module in group):
        return
    if any(step.windowed and step.by_hand for step in steps):
        return
    sites = list(_set_up(group))
    limits = [_for_several(node, module) for node, module in sites]
    conditions = [found_limit for found_limit in limits if found_limit is not None]
    if not sites or len(conditions) < len(sites) or not _trains_alone(group) or _refuses(group):
        return
    (node, module), limit = sites[0], conditions[0]
    yield Finding(
        span=module.span(node),
        message=f"gradient merge is only configured if {limit.text}: a single worker makes an "
        "update for every batch",
        hint="configure it for a single worker too, or raise an error",
        related=(limit.module.span(limit.node),),
    )


def _set_up(group: Sequence[Module]) -> Iterator[tuple[ast.Assign, Module]]:
    """Yield the assignments that enable gradient merge."""
    for module in group:
        for node in module.every(ast.Assign):
            match node.targets[0], node.value:
                case ast.Attribute(
                    attr="sharding_configs" | "pipeline_configs"
                ), ast.Dict() as given:
                    if _has_derived_length(given, module):
                        yield node, module
                case ast.Attribute(attr="gradient_merge"), ast.Constant(value=False):
                    pass
                case ast.Attribute(attr="gradient_merge"), _:
                    yield node, module


def _has_derived_length(settings: ast.Dict, module: Module) -> bool:
    """Whether settings have a window whose length is what a global batch leaves for it."""
    return any(
        getattr(key, "value", None) in _LENGTHS and _is_quotient(length, module)
        for key, length in zip(settings.keys, settings.values, strict=True)
    )


def _is_quotient(node: ast.expr, module: Module) -> bool:
    for made, _ in chase(node, module):
        match made:
            case ast.BinOp(op=ast.FloorDiv() | ast.Div()):
                return True
    return False


def _for_several(node: ast.AST, module: Module) -> Condition | None:
    """Return the condition around a node that is true only for several workers, if any."""
    return next((branch for branch in branches(node, module) if _tests_several(branch)), None)


def _trains_alone(group: Sequence[Module]) -> bool:
    """Whether gradients are also applied with one worker."""
    return any(
        call.method in ("minimize", "step", "apply_gradients")
        and _for_several(call.node, module) is None
        for module in group
        for call in module.calls
        if "optim" in module.text(call.node.func) or call.method == "minimize"
    )


def _refuses(group: Sequence[Module]) -> bool:
    """Whether the program stops if there is only one worker."""
    return any(
        _tests_several(Condition(branch.node, not branch.holds, branch.module))
        for module in group
        for node in module.nodes
        if isinstance(node, ast.Raise)
        for branch in branches(node, module)
    )


def _tests_several(condition: Condition) -> bool:
    node, holds = condition.node, condition.holds
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            node, holds = inner, not holds
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            certain = any if holds else all  # else not all of them are one
            return certain(_means_several(part, condition.module, holds=holds) for part in parts)
    return _means_several(node, condition.module, holds=holds)


def _means_several(node: ast.expr, module: Module, *, holds: bool) -> bool:
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=[ast.Constant(value=int(limit))]):
            if (type(sign), limit) not in (_MORE if holds else _ONE):
                return False
            return any(_WORKERS.search(text) for text in _meanings(left, module))
        case ast.Compare():
            return False
    return holds and bool(_SEVERAL.search(module.text(node).removesuffix("()")))


def _meanings(node: ast.expr, module: Module) -> Iterator[str]:
    """Yield the text of an expression and the values of a name."""
    yield module.text(node)
    if isinstance(node, ast.Name):
        for definition in definitions(node, module):
            if definition.assigned is not None:
                yield definition.module.text(definition.assigned)


RULE = Rule("CL808", check, hints=("gradient_merge", "accumulate_steps"))
