"""The optimizer of a loop, and whether it scales under the same conditions as the loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.program import is_keras_optimizer
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import Loop, texts_around
from crosscast_tensorflow.migration.experimental.keras.scalers import is_scaler

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


def known_owner(loop: Loop, program: Program) -> bool:
    """Whether the optimizer is certainly a Keras optimizer that can be a LossScaleOptimizer."""
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
    if all(
        any(_tests_class(loop, t) for t in texts_around(call.node, loop.module)) for call in calls
    ):
        return True
    makers = makers_of(node, loop.module)
    if makers is None:
        return False
    loop.makers = [maker for maker in makers if all(is_scaler(canonical(n)) for n in maker.names)]
    rest = [maker for maker in makers if maker not in loop.makers]
    return bool(loop.makers) and all(is_keras_optimizer(maker) for maker in rest)


def _tests_class(loop: Loop, text: str) -> bool:
    """Whether a condition tests if the optimizer is a LossScaleOptimizer."""
    return text.startswith(f"isinstance({loop.owner},") and "LossScaleOptimizer" in text


def makers_of(node: ast.expr, module: Module) -> list[Call] | None:
    """Return the calls that may have created an object; None if not all of them are visible.

    For a name read by a nested function, only its last values count.
    """
    found: list[Meaning] = []
    for value in _last_values(node, module):
        found += meanings_of(value, module)
    calls = [
        (meaning.module or module).call(meaning.call)
        for meaning in found
        if meaning.kind == "instance" and meaning.call is not None
    ]
    return calls if calls and len(calls) == len(found) else None


def _last_values(node: ast.expr, module: Module) -> list[ast.expr]:
    """Return the last values assigned to a name of an outer function; otherwise the node itself."""
    if not isinstance(node, ast.Name):
        return [node]
    bindings = list(bindings_of(node.id, node, module))
    final = [
        place
        for place, binding in enumerate(bindings)
        if binding.kind == "assign"
        and module.parent(binding.node) is binding.scope.node
        and not binding.path
    ]
    outside = all(
        module.function_of(binding.node) is not module.function_of(node) for binding in bindings
    )
    if not final or not outside or final[-1] == 0:
        return [node]
    values = [binding.value for binding in bindings[final[-1] :]]
    return [value for value in values if value is not None] if all(values) else [node]


def check_conditions(loop: Loop) -> None:
    """Refuse a loss that is scaled under other conditions than the optimizer."""
    module = loop.module
    always = set(texts_around(loop.applied[0].node, module))
    for call in loop.applied[1:]:
        always &= set(texts_around(call.node, module))
    extra = [sorted(set(texts_around(call.node, module)) - always) for call in loop.scaled]
    extra += [sorted(set(texts_around(call.node, module)) - always) for call in loop.unscaled]
    if any(conditions != extra[0] for conditions in extra):
        return loop.refuse(
            loop.scaled[0].node,
            "the loss is scaled and the gradients are unscaled under different conditions",
            "decide when to scale the loss; Keras 3 unscales in every apply_gradients",
        )
    for text in extra[0]:
        if _tests_class(loop, text):
            continue
        wraps = [texts_around(maker.node, maker.module) for maker in loop.makers]
        if not wraps or not all(text in conditions for conditions in wraps):
            loop.refuse(
                loop.scaled[0].node,
                f"the loss is scaled if {text}, but the optimizer is not wrapped under the same "
                "condition",
                "call scale_loss always: it has no effect if the optimizer is not wrapped",
            )
