"""Shared code of the rules about Paddle: scalers, casts, and an example program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_paddle.reading.amp import CAST, DECORATE, SCALER
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, fixed, matching, value_of
from crosscast_reading.readers.python.precision import types_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


def scalers(program: Program) -> list[Call]:
    """Return the scalers of a program that are not certainly disabled."""
    calls = []
    for _name, call in matching(program, SCALER):
        if getattr(call.argument("enable"), "value", None) is not False:
            calls.append(call)
    return calls


def casts(program: Program) -> list[tuple[Call, str]]:
    """Return the regions of auto_cast that are not certainly disabled, with the dtype."""
    regions = []
    for _name, call in matching(program, CAST):
        if fixed(call.argument("enable")) is False:
            continue
        given = call.argument("dtype") if "dtype" in call.bound() else Known("float16")
        match given, types_in(given):
            case Known(flag=""), [kind]:
                regions.append((call, kind))
            case _:
                regions.append((call, ""))
    return regions


def decorates(program: Program) -> list[Call]:
    """Return the calls of `paddle.amp.decorate`."""
    return [call for _, call in matching(program, DECORATE)]


def methods(program: Program, name: str) -> list[Call]:
    """Return the calls of a method of a scaler of Paddle."""
    return [
        call
        for full, call in calls_of(program)
        if call.method == name and full.startswith(("paddle.amp.", "paddle.fluid.dygraph."))
    ]


def on_cpu(program: Program) -> Call | None:
    """Return the call that certainly selects the CPU for the whole training.

    A program that selects a device several times, under a condition or in a function that does not
    train may do so for an export, or where there is no GPU.
    """
    chosen = [call for name, call in calls_of(program) if name in _DEVICES]
    if len(chosen) != 1 or any(
        "__name__" not in test.module.text(test.node)
        for test in branches(chosen[0].node, chosen[0].module)
    ):
        return None
    device = fixed(value_of(next(iter(chosen[0].node.args), None), chosen[0].module))
    return chosen[0] if device == "cpu" and _where_it_trains(chosen[0], program) else None


def _where_it_trains(call: Call, program: Program) -> bool:
    """Whether a call is at module level, or its function makes a scaler or uses one."""
    place = call.module.function_of(call.node)
    training = (*scalers(program), *methods(program, "scale"))
    return place is None or any(place is c.module.function_of(c.node) for c in training)


_DEVICES = ("paddle.set_device", "paddle.device.set_device")


def line(node: ast.AST, module: Module) -> tuple[int, int]:
    """Return the position of a node in source order."""
    del module
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


AMP = """\
import paddle

model = paddle.nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)

for inputs, targets in loader:
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.mse_loss(model(inputs), targets)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""
