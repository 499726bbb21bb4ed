"""Loops that scale by hand: get_scaled_loss, get_unscaled_gradients, apply_gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast.lint.edits import column_at, replace_node
from crosscast.lint.rule import Edit
from crosscast.migrate.codemod import Refusal
from crosscast.migrate.keras.clips import Clip, clip_of
from crosscast.migrate.keras.edits import raw, remove
from crosscast.migrate.keras.program import is_keras_optimizer
from crosscast.migrate.keras.scalers import is_scaler
from crosscast.pysource.names import Meaning, bindings_of, meanings_of
from crosscast.readers.python.calls import canonical
from crosscast.readers.python.conditions import branches

if TYPE_CHECKING:
    from crosscast.pysource.calls import Call
    from crosscast.pysource.module import Function, Module
    from crosscast.pysource.project import Program

SCALED, UNSCALED, APPLIED = "get_scaled_loss", "get_unscaled_gradients", "apply_gradients"
_GONE = {
    "loss_scale": "dynamic_scale",
    "dynamic": "nothing: the scale of this class always is",
    "dynamic_counter": "step_counter",
    "lr": "learning_rate",
    "_optimizer": "inner_optimizer",
    "minimize": "a loop with apply_gradients",
    "compute_gradients": "a GradientTape",
    "get_gradients": "a GradientTape",
    "weights": "variables",
    "get_weights": "variables",
}


@dataclass(slots=True)
class Loop:
    """The three calls of one optimizer in one function."""

    module: Module
    function: Function | None
    owner: str
    """The optimizer, as the source writes it."""
    scaled: list[Call] = field(default_factory=list)
    unscaled: list[Call] = field(default_factory=list)
    applied: list[Call] = field(default_factory=list)
    makers: list[Call] = field(default_factory=list)
    """The LossScaleOptimizers that it can be."""
    edits: list[Edit] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    """Clippings that must move into the optimizer."""
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, node: ast.AST, message: str, hint: str) -> None:
        """Note why the loop stays as it is."""
        self.refusals.append(Refusal(span=self.module.span(node), message=message, hint=hint))


def loops_of(program: Program) -> list[Loop]:
    """Return the loops that scale by the methods of Keras 2, with edits or refusals."""
    found: dict[tuple[int, int, str], Loop] = {}
    for module in program.modules:
        if SCALED not in module.source.text and UNSCALED not in module.source.text:
            continue
        for call in module.calls:
            if call.receiver is None or call.method not in (SCALED, UNSCALED, APPLIED):
                continue
            if any(one.startswith("tf_keras.") for one in call.names):
                continue
            function = module.function_of(call.node)
            owner = module.text(call.receiver)
            loop = found.setdefault(
                (id(module), id(function), owner), Loop(module, function, owner)
            )
            kinds = {SCALED: loop.scaled, UNSCALED: loop.unscaled, APPLIED: loop.applied}
            kinds[call.method].append(call)
    loops = [one for one in found.values() if one.scaled or one.unscaled]
    for loop in loops:
        _settle(loop, program)
    return loops


def _settle(loop: Loop, program: Program) -> None:
    """Find the edits of a loop, or why there can be none."""
    first = (loop.scaled or loop.unscaled)[0].node
    if not loop.scaled or not loop.unscaled or not loop.applied:
        missing = [
            name
            for name, calls in (
                (SCALED, loop.scaled),
                (UNSCALED, loop.unscaled),
                (APPLIED, loop.applied),
            )
            if not calls
        ]
        return loop.refuse(
            first,
            f"{' and '.join(missing)} of {loop.owner} is not in the function of this call: Keras 3 "
            "unscales in apply_gradients, which must see the scaled gradients",
            "bring scale_loss and apply_gradients of one optimizer into one function, or write "
            "the loop anew: scale_loss must not be traced before the optimizer is built",
        )
    if not _known_owner(loop, program):
        return loop.refuse(
            first,
            f"what {loop.owner} is, is not to be seen in the files given",
            "give the file that makes the optimizer as well",
        )
    _gone(loop)
    _conditions(loop)
    for call in loop.scaled:
        if len(call.node.args) != 1 or call.node.keywords:
            loop.refuse(call.node, "get_scaled_loss gets unusual arguments", "write it by hand")
        loop.edits.append(_method(loop.module, call, "scale_loss"))
    for call in loop.applied:
        if len(call.node.args) + len(call.node.keywords) != 1:
            loop.refuse(
                call.node,
                "apply_gradients of Keras 3 takes gradients and variables and nothing else",
                "decide what the other arguments were for; nothing aggregates afterwards",
            )
    if not loop.refusals:
        for call in loop.unscaled:
            _unscale(loop, call)
        _all_unscaled(loop)


def _known_owner(loop: Loop, program: Program) -> bool:
    """Whether the optimizer is certainly one of Keras, and one that can be a LossScaleOptimizer."""
    node = loop.scaled[0].receiver
    assert node is not None
    if loop.owner == "self.optimizer":
        scope = loop.module.scopes.get(
            loop.module.class_of(loop.scaled[0].node) or loop.module.tree
        )
        base = program.library_base(scope) if scope is not None else ""
        if canonical(base) in ("keras.Model", "keras.models.Model", "keras.Sequential"):
            return True
    calls = [*loop.scaled, *loop.unscaled]
    if all(any(_asks_class(loop, t) for t in _texts(one.node, loop.module)) for one in calls):
        return True
    makers = makers_of(node, loop.module)
    if makers is None:
        return False
    loop.makers = [one for one in makers if all(is_scaler(canonical(n)) for n in one.names)]
    rest = [one for one in makers if one not in loop.makers]
    return bool(loop.makers) and all(is_keras_optimizer(one) for one in rest)


def _asks_class(loop: Loop, text: str) -> bool:
    """Whether a condition is that the optimizer is a LossScaleOptimizer."""
    return text.startswith(f"isinstance({loop.owner},") and "LossScaleOptimizer" in text


def makers_of(node: ast.expr, module: Module) -> list[Call] | None:
    """Return the calls that can have made an object; None if not all of them are to be seen.

    What a name was before it was assigned for good does not count where a nested function reads it.
    """
    found: list[Meaning] = []
    for value in _last_values(node, module):
        found += meanings_of(value, module)
    calls = [
        (one.module or module).call(one.call)
        for one in found
        if one.kind == "instance" and one.call is not None
    ]
    return calls if calls and len(calls) == len(found) else None


def _last_values(node: ast.expr, module: Module) -> list[ast.expr]:
    """Return what a name of an outer function was last assigned; else the node itself."""
    if not isinstance(node, ast.Name):
        return [node]
    bindings = list(bindings_of(node.id, node, module))
    final = [
        place
        for place, one in enumerate(bindings)
        if one.kind == "assign" and module.parent(one.node) is one.scope.node and not one.path
    ]
    outside = all(module.function_of(one.node) is not module.function_of(node) for one in bindings)
    if not final or not outside or final[-1] == 0:
        return [node]
    values = [one.value for one in bindings[final[-1] :]]
    return [one for one in values if one is not None] if all(values) else [node]


def _gone(loop: Loop) -> None:
    """Refuse what is asked of the optimizer that it no longer has."""
    for node in loop.module.every(ast.Attribute):
        new = _GONE.get(node.attr)
        if new and loop.module.text(node.value) == loop.owner and not loop.module.is_dead(node):
            loop.refuse(
                node,
                f"{loop.owner}.{node.attr} is gone in Keras 3",
                f"what it has instead: {new}",
            )
    for call in loop.module.calls:
        mine = call.receiver is not None and loop.module.text(call.receiver) == loop.owner
        if mine and call.method == "variables" and not call.node.args:
            text = raw(loop.module, call.node.func)
            loop.edits.append(replace_node(loop.module, call.node, text))


def _texts(node: ast.AST, module: Module) -> list[str]:
    return [one.text for one in branches(node, module, callers=False)]


def _conditions(loop: Loop) -> None:
    """Refuse a loss that is scaled under other conditions than those the optimizer scales under."""
    module = loop.module
    always = set(_texts(loop.applied[0].node, module))
    for call in loop.applied[1:]:
        always &= set(_texts(call.node, module))
    extra = [sorted(set(_texts(one.node, module)) - always) for one in loop.scaled]
    extra += [sorted(set(_texts(one.node, module)) - always) for one in loop.unscaled]
    if any(one != extra[0] for one in extra):
        return loop.refuse(
            loop.scaled[0].node,
            "the loss is scaled under other conditions than the gradients are unscaled",
            "decide when the loss is to be scaled; Keras 3 unscales in every apply_gradients",
        )
    for text in extra[0]:
        if _asks_class(loop, text):
            continue
        wraps = [_texts(one.node, one.module) for one in loop.makers]
        if not wraps or not all(text in one for one in wraps):
            loop.refuse(
                loop.scaled[0].node,
                f"the loss is scaled if {text}, and the optimizer is not wrapped under the same "
                "condition",
                "scale_loss changes nothing where an optimizer is not wrapped: call it always",
            )


def _method(module: Module, call: Call, name: str) -> Edit:
    """Return the edit that renames the method of a call."""
    function = call.node.func
    assert isinstance(function, ast.Attribute)
    line = function.end_lineno or function.lineno
    end = column_at(module, line, function.end_col_offset or 0)
    return Edit(
        file=module.source.name,
        line=line,
        column=end - len(function.attr),
        end_line=line,
        end_column=end,
        text=name,
    )


def _unscale(loop: Loop, call: Call) -> None:
    """Take one get_unscaled_gradients out."""
    module = loop.module
    if len(call.node.args) != 1 or call.node.keywords:
        return loop.refuse(call.node, "get_unscaled_gradients gets unusual arguments", "see above")
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
            "what becomes of the unscaled gradients is not certain, and Keras 3 has none to show: "
            "it unscales within apply_gradients",
            "hand the scaled gradients to apply_gradients",
        )
    uses = list(_uses(loop, target.id, parent))
    clips = [clip for one in uses if (clip := clip_of(one, module)) is not None]
    inside = {id(n) for clip in clips for n in ast.walk(clip.statement)}
    for one in uses:
        if not _is_applied(one, loop) and id(one) not in inside:
            loop.refuse(
                one,
                f"{target.id} is used as unscaled gradients before or after they are applied, and "
                "in Keras 3 there are none outside of apply_gradients",
                "gradients divided by optimizer.dynamic_scale are the unscaled ones; clip by "
                "global_clipnorm=... of the inner optimizer; sum up scaled gradients",
            )
            return None
    for clip in clips:
        if clip.target != target.id:
            return loop.refuse(
                clip.statement,
                "the gradients are clipped under another name between unscaling and applying",
                "give the limit to the inner optimizer: global_clipnorm=..., which clips unscaled",
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
    """Let what was unscaled be what it was made of."""
    module = loop.module
    same = isinstance(scaled, ast.Name) and scaled.id == name
    applied = [one for one in uses if not any(one in ast.walk(c.statement) for c in clips)]
    once = len(_stores(loop, name)) == 1 + len(clips) and isinstance(scaled, ast.Name)
    gone = remove(module, statement) if same or once else None
    if gone is not None and (same or _same_block(module, statement, applied)):
        loop.edits.append(gone)
        if not same:
            assert isinstance(scaled, ast.Name)
            loop.edits += [replace_node(module, one, scaled.id) for one in applied]
        return
    if same:
        return loop.refuse(statement, "this line holds several statements", "write them apart")
    loop.edits.append(replace_node(module, statement.value, raw(module, scaled)))
    return None


def _same_block(module: Module, statement: ast.stmt, uses: list[ast.Name]) -> bool:
    parent = module.parent(statement)
    here: list[ast.AST | None] = []
    for one in uses:
        own: ast.AST | None = module.statement_of(one)
        here.append(module.parent(own) if own is not None else None)
    return all(one is parent for one in here)


def _stores(loop: Loop, name: str) -> list[ast.Name]:
    return [
        one
        for one in loop.module.every(ast.Name)
        if one.id == name
        and isinstance(one.ctx, ast.Store)
        and loop.module.function_of(one) is loop.function
    ]


def _uses(loop: Loop, name: str, statement: ast.Assign) -> Iterator[ast.Name]:
    """Yield where unscaled gradients are read: below their assignment, in nested functions too."""
    module = loop.module
    own = set(map(id, ast.walk(statement)))
    scaled = statement.value.args[0] if isinstance(statement.value, ast.Call) else None
    same = isinstance(scaled, ast.Name) and scaled.id == name
    end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    for one in module.every(ast.Name):
        if one.id != name or not isinstance(one.ctx, ast.Load) or id(one) in own:
            continue
        if not _within(one, loop):
            continue
        if (one.lineno, one.col_offset) < end and same:
            continue  # still scaled there
        if _excluded(one, statement, module):
            continue
        yield one


def _excluded(node: ast.AST, statement: ast.stmt, module: Module) -> bool:
    """Whether a node stands in the other branch of a condition around a statement."""
    here: ast.AST | None = node
    while here is not None:
        parent = module.parent(here)
        if isinstance(parent, ast.If):
            mine = parent.body if here in parent.body else parent.orelse
            other = parent.orelse if mine is parent.body else parent.body
            if any(statement is one for block in other for one in ast.walk(block)):
                return True
        here = parent
    return False


def _within(node: ast.AST, loop: Loop) -> bool:
    """Whether a node stands in the function of a loop, or in one within it."""
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
    return any(outer is one.node for one in loop.applied)


def _all_unscaled(loop: Loop) -> None:
    """Refuse a loop of which an `apply_gradients` gets gradients that were never scaled."""
    module = loop.module
    for call in loop.applied:
        conditions = set(_texts(call.node, module))
        fitting = [
            one
            for one in loop.unscaled
            if (one.node.lineno, one.node.col_offset) < (call.node.end_lineno or 0, 10**9)
            and not any(
                _excluded(call.node, s, module) for s in [module.statement_of(one.node)] if s
            )
        ]
        if not fitting and not _opposite(conditions, loop):
            loop.refuse(
                call.node,
                "these gradients are applied unscaled, and Keras 3 divides them by the scale",
                "scale every loss that the optimizer's gradients come from",
            )


def _opposite(conditions: set[str], loop: Loop) -> bool:
    """Whether conditions rule out that the optimizer is wrapped."""
    wrapped = {text for one in loop.makers for text in _texts(one.node, one.module)}
    return any(f"not {text}" in conditions or f"not ({text})" in conditions for text in wrapped)
