"""CM202: loops with get_scaled_loss and get_unscaled_gradients to Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import LOOP
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.carried_scale import carried
from crosscast_tensorflow.migration.experimental.keras.clips import ARGUMENTS
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, remove
from crosscast_tensorflow.migration.experimental.keras.loop_search import loops_of
from crosscast_tensorflow.migration.experimental.keras.obstacles import obstacles
from crosscast_tensorflow.migration.experimental.keras.program import (
    is_keras_optimizer,
    maker_of,
    open_call,
)
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import Loop
from crosscast_tensorflow.migration.experimental.keras.scalers import constructor, scaler_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_NOTE = (
    "the loss scale of Keras 3 has no minimum (Keras 2: 1), becomes inf if it grows "
    "beyond float32, and does not count a skipped step in optimizer.iterations, nor in the schedule"
)
_MESSAGE = (
    "the loss scaling of Keras 3: scale_loss scales; apply_gradients unscales, checks for overflow "
    "and skips"
)
_CARRIED = (
    "the loss scaling of Keras 3: the program keeps its unscaled gradients, which are scaled again "
    "where they are applied"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change all optimizers and loops of a program together, or none."""
    program = subject.program
    loops = loops_of(program)
    edits: list[Edit] = []
    refusals: list[Refusal] = []
    looped = {id(maker.node) for loop in loops for maker in loop.makers} if loops else None
    by_loop: list[Edit] = []
    against: list[Refusal] = []
    for loop in loops:
        by_loop += loop.edits
        against += loop.refusals or _move_clips(loop, by_loop)
    kept = carried(program) if against else None
    if kept is not None:  # one way for all loops of a program
        by_loop, against = kept.edits, kept.refusals
        looped = {id(call.node) for call in scaler_calls(program)}
    edits += by_loop
    refusals += against
    for call in scaler_calls(program):
        made = constructor(call, program, looped)
        if isinstance(made, Refusal):
            refusals.append(made)
        else:
            edits += made
    if not edits and not refusals:
        return
    refusals += obstacles(subject, program)
    if refusals:
        yield from dict.fromkeys(refusals)
        return
    first = min(edits, key=lambda edit: (edit.file, edit.line, edit.column))
    found = program.module_named(first.file)
    row = found.lines[first.line - 1] if found is not None else ""
    span = Span(first.file, first.line, first.column, None, row)
    if loops:
        span = loops[0].module.span((loops[0].scaled or loops[0].unscaled)[0].node)
    yield Change(
        span=span,
        message=_CARRIED if kept is not None else _MESSAGE,
        edits=tuple(dict.fromkeys(edits)),
        note=_NOTE,
    )


def _move_clips(loop: Loop, edits: list[Edit]) -> list[Refusal]:
    """Move limits of manual clipping to the inner optimizer, or return why that is not possible."""
    if not loop.clips:
        return []
    made: list[Edit] = []
    limits = {(clip.argument, clip.limit) for clip in loop.clips}
    inner = _inner(loop)
    if len(limits) == len(loop.clips) == 1 and inner is not None:
        argument, limit = limits.pop()
        call = maker_of(*inner)
        if (
            call is not None
            and is_keras_optimizer(call)
            and not open_call(call.node)
            and not any(keyword.arg in ARGUMENTS for keyword in call.node.keywords)
        ):
            made += argument_edits(call.module, call.node, [], (f"{argument}={limit}",))
        gone = [remove(loop.module, clip.statement) for clip in loop.clips]
        if made and all(gone) and len(loop.applied) == 1:
            edits += [*made, *(edit for edit in gone if edit is not None)]
            return []
    return [
        Refusal(
            span=loop.module.span(clip.statement),
            message="gradients are clipped between unscaling and applying; Keras 3 unscales in "
            "apply_gradients, and it is not certain which optimizer needs the limit",
            hint=f"pass {clip.argument}={clip.limit} to the inner optimizer",
        )
        for clip in loop.clips
    ]


def _inner(loop: Loop) -> tuple[ast.expr, Module] | None:
    """Return the inner optimizer of a loop's only LossScaleOptimizer."""
    if len(loop.makers) != 1:
        return None
    node = loop.makers[0].node
    named = [keyword.value for keyword in node.keywords if keyword.arg == "inner_optimizer"]
    inner = node.args[:1] or named
    return (inner[0], loop.makers[0].module) if inner else None


_NEW = changed(
    LOOP,
    ("optimizer.get_scaled_loss(loss)", "optimizer.scale_loss(loss)"),
    ("    gradients = optimizer.get_unscaled_gradients(gradients)\n", ""),
)
_ARGUMENTS = changed(
    LOOP,
    ("(tf.keras.optimizers.Adam(1e-3))", "(\n    tf.keras.optimizers.Adam(1e-3), {}\n)"),
)
_CLIP = "    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"
_UNSCALED = "    gradients = optimizer.get_unscaled_gradients(gradients)\n"
_LOGGED = changed(LOOP, (_UNSCALED, f"{_UNSCALED}    norm = tf.linalg.global_norm(gradients)\n"))
_DEFINITIONS = "\n\n".join(
    added_code.TEXTS[name] for name in (added_code.UNSCALED, added_code.SCALED)
)
_CARRIED_LOOP = changed(
    _LOGGED,
    ("import tensorflow as tf\n", f"import tensorflow as tf\n\n\n{_DEFINITIONS}"),
    ("get_scaled_loss", "scale_loss"),
    ("optimizer.get_unscaled_gradients(gradients)", "divide_by_loss_scale(optimizer, gradients)"),
    ("zip(gradients, ", "zip(multiply_by_loss_scale(optimizer, gradients), "),
)
_NAMED = changed(LOOP, ("model.trainable_variables))", 'model.trainable_variables), name="step")'))
_FIXED = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(2, dtype="float32")])
optimizer = {optimizer}
model.compile(optimizer, loss="mse"{quiet})
model.fit(inputs, targets)
"""

CODEMOD = Codemod(
    code="CM202",
    name="keras-loss-scale-optimizer",
    api="keras3",
    title="get_scaled_loss and get_unscaled_gradients become scale_loss and apply_gradients of "
    "Keras 3; a fixed scale becomes loss_scale_factor",
    hints=("LossScaleOptimizer", "get_scaled_loss", "get_unscaled_gradients"),
    examples=(
        Example(before=LOOP, after=_NEW),
        Example(
            before=_ARGUMENTS.format("dynamic=True, initial_scale=1024.0"),
            after=changed(
                _NEW,
                (
                    "(tf.keras.optimizers.Adam(1e-3))",
                    "(\n    tf.keras.optimizers.Adam(1e-3), initial_scale=1024.0\n)",
                ),
            ),
        ),
        Example(
            before=changed(LOOP, (_UNSCALED, _UNSCALED + _CLIP)),
            after=changed(_NEW, ("Adam(1e-3)", "Adam(1e-3, global_clipnorm=1.0)")),
        ),
        Example(
            before=_FIXED.format(
                optimizer="tf.keras.mixed_precision.LossScaleOptimizer(\n"
                "    tf.keras.optimizers.Adam(1e-3), dynamic=False, initial_scale=128.0\n)",
                quiet="",
            ),
            after=_FIXED.format(
                optimizer="tf.keras.optimizers.Adam(1e-3, loss_scale_factor=128.0)",
                quiet=", auto_scale_loss=False",
            ),
        ),
        Example(before=_NEW, after=_NEW),
        Example(before=_LOGGED, after=_CARRIED_LOOP),
        Example(before=_NAMED, after=_NAMED, refused="takes only gradients and variables"),
    ),
    run=run,
)
