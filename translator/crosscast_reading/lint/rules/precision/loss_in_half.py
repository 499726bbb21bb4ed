"""CL404: a loss or softmax is computed in half precision."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.mixed_precision import MixedPass, kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.precision_tables import Lookup, tables
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.readers.emitted.script import is_emitted
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.casts import target_of_method, target_type

_HINT = "compute losses in float32: call `.float()`, or use autocast"


def check(subject: Subject) -> Iterator[Finding]:
    """Find losses of logits that are cast to half, or that leave a region of mixed precision."""
    if not subject.steps or is_emitted(subject.program.modules):
        return  # what is emitted does as its recipe says, for which `crosscast check` warns
    for lookup in map(Lookup, tables()):
        for module in subject.program.modules:
            for call in module.calls:
                logits = _logits(call, lookup)
                if logits is not None and _is_half(logits, module, lookup):
                    yield Finding(
                        span=module.span(call.node),
                        message=f"{module.text(logits)} is in half precision when {call.method} is "
                        "computed",
                        hint=_HINT,
                    )
    for mixed in kept_by(subject.program).passes:
        yield from _after_region(mixed)


def _logits(call: Call, lookup: Lookup) -> ast.expr | None:
    """Return the logits of a loss or softmax; None if it is another call."""
    row = lookup.named(call.name.removesuffix(".__call__"))
    if row is None or row.kind not in ("loss", "softmax"):
        return None
    named = keyword(call.node, "logits") or keyword(call.node, "input")
    if named is not None or row.logits >= len(call.node.args):
        return named
    return call.node.args[row.logits]


def _is_half(node: ast.expr, module: Module, lookup: Lookup) -> bool:
    match node:
        case ast.Call(args=args):
            if re.fullmatch(lookup.table.casts, module.call(node).name) and len(args) > 1:
                return target_type(args[1], module, lookup.table) == "half"
            return target_of_method(node, module, lookup.table) == "half"
        case ast.Name():
            values = [(binding.assigned, binding.module) for binding in definitions(node, module)]
            return bool(values) and all(
                isinstance(value, ast.Call) and _is_half(value, where, lookup)
                for value, where in values
            )
    return False


def _after_region(mixed: MixedPass) -> Iterator[Finding]:
    """Find losses of half outputs behind the region in which the model ran, or without one."""
    context, event = mixed.context, mixed.event
    module = event.module.owner_of(event.node)
    if not mixed.output.half or (context is None and not mixed.by_policy):
        return
    if context is not None:
        region = module.enclosing(context.node, ast.With)
        if region is None or not _is_within(event.node, region, module):
            return
    lookup = Lookup(mixed.table)
    for call in module.calls:
        logits = _logits(call, lookup)
        if not isinstance(logits, ast.Name) or module.function_of(call.node) is not (
            module.function_of(event.node)
        ):
            continue
        if context is not None and _in_any_region(call.node, module, mixed.table.regions):
            continue
        bindings = definitions(logits, module)
        if bindings and all(binding.assigned is event.node for binding in bindings):
            yield _left_half(mixed, call, logits.id, module)


def _left_half(mixed: MixedPass, call: Call, logits: str, module: Module) -> Finding:
    span = module.span(call.node)
    if mixed.context is None:
        return Finding(
            span=span,
            message=f"{logits} is half by the policy when {call.method} is computed",
            hint="give the last layer the type float32, or cast its result",
        )
    return Finding(
        span=span,
        message=f"{logits} is half, and the region of mixed precision ends before {call.method} "
        "is computed",
        hint=f"compute the loss within the region, or of `{logits}.float()`",
        related=(module.span(mixed.context.node),),
    )


def _is_within(node: ast.AST, region: ast.AST, module: Module) -> bool:
    here: ast.AST | None = node
    while here is not None and here is not region:
        here = module.parent(here)
    return here is region


def _in_any_region(node: ast.AST, module: Module, regions: str) -> bool:
    """Whether a region of mixed precision, or a context that is not known, is around a node."""
    here = module.enclosing(node, ast.With)
    while here is not None:
        for item in here.items:
            entered = item.context_expr
            function = entered.func if isinstance(entered, ast.Call) else entered
            names = module.resolve_all(function)
            if not any(names) or any(re.fullmatch(regions, name) for name in names):
                return True
        here = module.enclosing(here, ast.With)
    return False


RULE = Rule("CL404", check, hints=("half", "float16", "autocast", "auto_cast", "mixed_"))
