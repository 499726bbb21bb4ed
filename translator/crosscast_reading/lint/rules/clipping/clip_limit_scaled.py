"""CL305: the limit of clipping is multiplied by the loss scale, and the gradients are not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, unscaled_before
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event

_SCALE = re.compile(r"get_scale\(|loss_?scal\w*|init_scale|\bscale\b", re.I)
_CONSTANT_SCALE = re.compile(r"loss_?scal(e|ing)\w{0,60}$", re.I)
"""Names of a number that static graphs of Paddle multiply losses by, and divide gradients by."""
_CLIPS = (
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find limits multiplied by a scale that the gradients no longer have."""
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            limit = _limit(clip)
            if limit is None or not _multiplied(limit) or not unscaled_before(step, clip):
                continue
            yield Finding(
                span=clip.span,
                message=f"the threshold {clip.module.text(limit)} is multiplied by the loss scale, "
                "but the gradients are already unscaled",
                hint="clip unscaled gradients with the unscaled threshold",
                related=tuple(event.span for event in step.of("unscale")[:1]),
            )
    for module in subject.program.modules:
        divided = _divided_gradients(module)
        if divided is not None:
            for node in _scaled_limits(module):
                yield Finding(
                    span=module.span(node),
                    message="the threshold is multiplied by the loss scale, but the gradients are "
                    "divided by it before they are applied",
                    hint="clip unscaled gradients with the unscaled threshold",
                    related=(module.span(divided),),
                )


def _limit(clip: Event) -> ast.expr | None:
    match clip.node:
        case ast.Call(args=arguments) as node:
            bound = clip.module.call(node).bound()
            named = next((bound[n] for n in ("max_norm", "clip_value") if n in bound), None)
            return next(iter(arguments[1:]), None) if named is None else named
    return None


def _multiplied(limit: ast.expr | None) -> bool:
    match limit:
        case ast.BinOp(op=ast.Mult()):
            return bool(_SCALE.search(ast.unparse(limit)))
    return False


def _divided_gradients(module: Module) -> ast.Call | None:
    """Return the call of a helper that receives gradients and the loss scale before the update.

    None if the gradients are applied directly.
    """
    for call in module.calls:
        arguments = [module.text(arg) for arg in call.node.args]
        arguments += [module.text(keyword.value) for keyword in call.node.keywords]
        scaled = any(_CONSTANT_SCALE.search(argument) for argument in arguments)
        if "master" in call.method and "grad" in call.method and scaled:
            return call.node
    return None


def _scaled_limits(module: Module) -> Iterator[ast.AST]:
    """Yield the places where a clipping limit is multiplied by the loss scale."""
    limits: set[str] = set()
    for call in module.calls:
        if call.method in _CLIPS:
            node = call.bound().get("clip_norm", *call.node.args[:1])
            match node:
                case ast.Name(id=name):
                    limits.add(name)
                case ast.expr() if _times_scale(node):
                    yield node
    for statement in module.nodes:
        match statement:
            case (
                ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=by)
                | ast.Assign(targets=[ast.Name(id=name)], value=by)
            ) if name in limits:
                multiplied = isinstance(statement, ast.AugAssign) and _is_scale(by)
                if multiplied or _times_scale(by):
                    yield statement


def _times_scale(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_scale(left) or _is_scale(right)
    return False


def _is_scale(node: ast.expr) -> bool:
    return bool(_CONSTANT_SCALE.search(ast.unparse(node)))


RULE = Rule("CL305", check, hints=("clip", "Clip"))
