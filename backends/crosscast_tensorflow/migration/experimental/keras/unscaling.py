"""Removes get_unscaled_gradients from a loop: apply_gradients of Keras 3 unscales."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_tensorflow.migration.experimental.keras.clips import Clip, clip_of
from crosscast_tensorflow.migration.experimental.keras.edits import raw, remove
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import Loop, texts_around

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


def unscale(loop: Loop, call: Call) -> None:
    """Remove one get_unscaled_gradients."""
    module = loop.module
    if len(call.node.args) != 1 or call.node.keywords:
        return loop.refuse(
            call.node, "get_unscaled_gradients has unusual arguments", "migrate it by hand"
        )
    scaled = call.node.args[0]
    parent = module.parent(call.node)
    if _is_applied(call.node, loop):
        loop.edits.append(replace_node(module, call.node, raw(module, scaled)))
        return None
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if (
        not isinstance(parent, ast.Assign)
        or parent.value is not call.node
        or not isinstance(target, ast.Name)
        or len(parent.targets) > 1
    ):
        return loop.refuse(
            call.node,
            "the use of the unscaled gradients is not certain, and Keras 3 provides none: it "
            "unscales in apply_gradients",
            "pass the scaled gradients to apply_gradients",
        )
    uses = list(_uses(loop, target.id, parent))
    clips = [clip for use in uses if (clip := clip_of(use, module)) is not None]
    inside = {id(n) for clip in clips for n in ast.walk(clip.statement)}
    for use in uses:
        if not _is_applied(use, loop) and id(use) not in inside:
            loop.refuse(
                use,
                f"{target.id} is used as unscaled gradients before or after they are applied, and "
                "in Keras 3 they exist only in apply_gradients",
                "divide gradients by optimizer.dynamic_scale to unscale them; clip with "
                "global_clipnorm=... of the inner optimizer; accumulate scaled gradients",
            )
            return None
    for clip in clips:
        if clip.target != target.id:
            return loop.refuse(
                clip.statement,
                "the gradients are clipped under another name between unscaling and applying",
                "pass the limit to the inner optimizer, which clips unscaled: global_clipnorm=...",
            )
    loop.clips += clips
    _replace(loop, parent, target.id, scaled, uses, clips)
    return None


def _replace(
    loop: Loop,
    statement: ast.Assign,
    name: str,
    scaled: ast.expr,
    uses: list[ast.Name],
    clips: list[Clip],
) -> None:
    """Replace the unscaled gradients with the scaled ones."""
    module = loop.module
    same = isinstance(scaled, ast.Name) and scaled.id == name
    applied = [use for use in uses if not any(use in ast.walk(c.statement) for c in clips)]
    once = len(_stores(loop, name)) == 1 + len(clips) and isinstance(scaled, ast.Name)
    gone = remove(module, statement) if same or once else None
    if gone is not None and (same or _same_block(module, statement, applied)):
        loop.edits.append(gone)
        if not same:
            assert isinstance(scaled, ast.Name)
            loop.edits += [replace_node(module, use, scaled.id) for use in applied]
        return
    if same:
        return loop.refuse(
            statement, "this line has several statements", "put each on its own line"
        )
    loop.edits.append(replace_node(module, statement.value, raw(module, scaled)))
    return None


def _same_block(module: Module, statement: ast.stmt, uses: list[ast.Name]) -> bool:
    parent = module.parent(statement)
    here: list[ast.AST | None] = []
    for use in uses:
        own: ast.AST | None = module.statement_of(use)
        here.append(module.parent(own) if own is not None else None)
    return all(block is parent for block in here)


def _stores(loop: Loop, name: str) -> list[ast.Name]:
    return [
        node
        for node in loop.module.every(ast.Name)
        if node.id == name
        and isinstance(node.ctx, ast.Store)
        and loop.module.function_of(node) is loop.function
    ]


def _uses(loop: Loop, name: str, statement: ast.Assign) -> Iterator[ast.Name]:
    """Yield the reads of unscaled gradients after their assignment, also in nested functions."""
    module = loop.module
    own = set(map(id, ast.walk(statement)))
    scaled = statement.value.args[0] if isinstance(statement.value, ast.Call) else None
    same = isinstance(scaled, ast.Name) and scaled.id == name
    end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    for node in module.every(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load) or id(node) in own:
            continue
        if not _within(node, loop):
            continue
        if (node.lineno, node.col_offset) < end and same:
            continue  # still scaled there
        if _excluded(node, statement, module):
            continue
        yield node


def _excluded(node: ast.AST, statement: ast.stmt, module: Module) -> bool:
    """Whether a node is in the other branch of a condition around a statement."""
    here: ast.AST | None = node
    while here is not None:
        parent = module.parent(here)
        if isinstance(parent, ast.If):
            mine = parent.body if here in parent.body else parent.orelse
            other = parent.orelse if mine is parent.body else parent.body
            if any(statement is node for block in other for node in ast.walk(block)):
                return True
        here = parent
    return False


def _within(node: ast.AST, loop: Loop) -> bool:
    """Whether a node is in the function of a loop or in a nested function."""
    if loop.function is None:
        return loop.module.function_of(node) is None
    here: ast.AST | None = node
    while here is not None and here is not loop.function:
        here = loop.module.parent(here)
    return here is not None


def _is_applied(node: ast.expr, loop: Loop) -> bool:
    """Whether gradients are the first argument of `zip` in an `apply_gradients` of the loop."""
    module = loop.module
    pair = module.parent(node)
    if not isinstance(pair, ast.Call) or not pair.args or pair.args[0] is not node:
        return False
    if not isinstance(pair.func, ast.Name) or pair.func.id != "zip" or len(pair.args) != 2:
        return False
    outer = module.parent(pair)
    if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id == "list":
        outer = module.parent(outer)
    if isinstance(outer, ast.keyword):
        outer = module.parent(outer)
    return any(outer is call.node for call in loop.applied)


def check_applied(loop: Loop) -> None:
    """Refuse a loop in which `apply_gradients` receives gradients that were never scaled."""
    module = loop.module
    for call in loop.applied:
        conditions = set(texts_around(call.node, module))
        fitting = [
            unscaling
            for unscaling in loop.unscaled
            if (unscaling.node.lineno, unscaling.node.col_offset)
            < (call.node.end_lineno or 0, 10**9)
            and not any(
                _excluded(call.node, s, module) for s in [module.statement_of(unscaling.node)] if s
            )
        ]
        if not fitting and not _opposite(conditions, loop):
            loop.refuse(
                call.node,
                "these gradients are applied unscaled, and Keras 3 divides them by the scale",
                "scale every loss of this optimizer",
            )


def _opposite(conditions: set[str], loop: Loop) -> bool:
    """Whether the conditions exclude a wrapped optimizer."""
    wrapped = {text for maker in loop.makers for text in texts_around(maker.node, maker.module)}
    return any(f"not {text}" in conditions or f"not ({text})" in conditions for text in wrapped)
