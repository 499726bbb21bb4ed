"""CM312: float32 copies of half weights, made by hand in a static program, to static amp."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.imports import STATIC
from crosscast_paddle.migration.experimental.paddle_names.masters import (
    MAKE,
    decorated,
    float32_everywhere,
    masters_of,
)
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_NOTE = (
    "weights stay float32 and only listed operations compute in half; the loss that is fetched is "
    "no longer multiplied by the scale; an update with an overflow has gradients of zero or is "
    "skipped, where it spoilt the weights before; limits of clipping stay as written; programs "
    "without the optimizer, as for evaluation, compute in float32"
)
_HINT = (
    "build the network in float32, leave the scale of the loss out, and call "
    'paddle.static.amp.decorate(optimizer, level="O1", init_loss_scaling=...)'
    ".minimize(loss) in place of the copies"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each program with copies by hand, or report why that is not possible."""
    program = subject.program
    calls = [call for module in program.modules for call in module.calls if call.method == MAKE]
    for call in calls:
        if "paddle" not in call.module.source.text:
            continue
        try:
            if STATIC not in call.module.source.text:
                raise CannotError(call.node, "other names of paddle.fluid must be changed first")
            yield _change(call, program)
        except CannotError as error:
            yield Refusal(
                span=call.module.span(call.node),
                message=f"float32 copies of half weights made by the program stay: {error.reason}",
                hint=_HINT,
            )


def _change(call: Call, program: Program) -> Change:
    module = call.module
    masters = masters_of(module, call.node)
    edits: dict[str, list[Edit]] = float32_everywhere(
        program, module.text(masters.scale), scaled=masters.scales_here
    )
    for edit in decorated(masters):
        edits.setdefault(edit.file, []).append(edit)
    return Change(
        span=module.span(call.node),
        message=f"{masters.optimizer} is decorated by paddle.static.amp in place of float32 copies "
        "of half weights",
        edits=tuple(edit for some in edits.values() for edit in some),
        note=_NOTE,
    )


_HEAD = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle
paddle.enable_static()
"""
_BEFORE = f"""\
{_HEAD}from utils.fp16 import create_master_params_grads, master_param_to_train_param


def network(args):
    dtype = "float16" if args.use_fp16 else "float32"
    loss = paddle.mean(layer(dtype))
    if args.use_fp16 and args.loss_scaling > 1.0:
        loss *= args.loss_scaling
    return loss


def optimization(loss, program, startup, use_fp16, loss_scaling):
    optimizer = paddle.optimizer.Adam(learning_rate=0.001)
    if use_fp16:
        grads = optimizer.backward(loss)
        masters = create_master_params_grads(grads, program, startup, loss_scaling)
        optimizer.apply_gradients(masters)
        master_param_to_train_param(masters, grads, program)
    else:
        # all in float32
        _, grads = optimizer.minimize(loss)
    return grads
"""
_AFTER = f"""\
{_HEAD}from utils.fp16 import create_master_params_grads, master_param_to_train_param


def network(args):
    dtype = "float32"
    loss = paddle.mean(layer(dtype))
    return loss


def optimization(loss, program, startup, use_fp16, loss_scaling):
    optimizer = paddle.optimizer.Adam(learning_rate=0.001)
    if use_fp16:
        optimizer = paddle.static.amp.decorate(
            optimizer,
            level="O1",
            dtype="float16",
            init_loss_scaling=loss_scaling,
            use_dynamic_loss_scaling=False,
        )
    # all in float32
    _, grads = optimizer.minimize(loss)
    return grads
"""
_DYNAMIC = f"""\
{_HEAD}from utils.fp16 import create_master_params_grads, apply_dynamic_loss_scaling


def optimization(loss, program, startup, use_fp16, dynamic, first):
    optimizer = paddle.optimizer.Adam(learning_rate=0.001)
    loss_scaling = None
    if use_fp16:
        loss_scaling = paddle.static.create_global_var([1], value=first, dtype="float32")
        loss *= loss_scaling
        grads = optimizer.backward(loss)
        masters = create_master_params_grads(grads, program, startup, loss_scaling)
        if dynamic:
            apply_dynamic_loss_scaling(loss_scaling, masters, 1000, 2, 2.0, 0.8)
        optimizer.apply_gradients(masters)
    else:
        optimizer.minimize(loss)
    return loss_scaling
"""
_DYNAMIC_AFTER = f"""\
{_HEAD}from utils.fp16 import create_master_params_grads, apply_dynamic_loss_scaling


def optimization(loss, program, startup, use_fp16, dynamic, first):
    optimizer = paddle.optimizer.Adam(learning_rate=0.001)
    loss_scaling = None
    if use_fp16:
        optimizer = paddle.static.amp.decorate(
            optimizer,
            level="O1",
            dtype="float16",
            init_loss_scaling=first,
            use_dynamic_loss_scaling=dynamic,
            incr_every_n_steps=1000,
            decr_every_n_nan_or_inf=2,
            incr_ratio=2.0,
            decr_ratio=0.8,
        )
    optimizer.minimize(loss)
    if use_fp16:
        loss_scaling = optimizer.get_loss_scaling()
    return loss_scaling
"""
_UNSCALED = _BEFORE.replace("loss *= args.loss_scaling", "pass")
_PLAIN = f"""\
{_HEAD}
optimizer = paddle.static.amp.decorate(optimizer, level="O1")
optimizer.minimize(loss)
"""

CODEMOD = Codemod(
    code="CM312",
    name="paddle-hand-made-masters",
    api="paddle3",
    title="float32 copies of half weights made by a static program become paddle.static.amp",
    hints=(MAKE,),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_DYNAMIC, after=_DYNAMIC_AFTER),
        Example(before=_PLAIN, after=_PLAIN),
        Example(before=_UNSCALED, after=_UNSCALED, refused="the scaled loss was not found"),
    ),
    run=run,
)
