"""Loss scalers that a chosen type switches on, while autocast runs in float16 whatever it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from crosscast_reading.lint.answers.autocast import dtype_of
from crosscast_reading.lint.answers.loop import eager_steps, trained_passes
from crosscast_reading.lint.answers.scalers import scaler_calls
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import fixed, value_of
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Context, TrainingStep

_TYPE = re.compile(r"dtype|precision|fp16|amp", re.I)
_DEVICE = re.compile(r"cuda|cpu|gpu|device", re.I)
_SWITCHES = frozenset({"enabled", "dtype", "fast_dtype"})


@dataclass(frozen=True, slots=True)
class TypeSwitch:
    """`GradScaler(enabled=args.dtype in ("float16", "bfloat16"))` with `autocast()`."""

    step: TrainingStep
    scaler: Call
    chosen: ast.expr
    """What names the type: `args.dtype`."""
    values: tuple[object, ...]
    """The types with which the scaler is on."""
    test: ast.expr
    context: ast.AST
    """What enters autocast."""


def type_switches(subject: Subject) -> Iterator[TypeSwitch]:
    """Yield the scalers of training loops that a type switches on and off, autocast not."""
    made = [switch for call in scaler_calls(subject) if (switch := _switched(call))]
    if not made or len(made) != len(scaler_calls(subject)):
        return
    for step in eager_steps(subject):
        scaled = any(event.scaler for event in step.of("backward"))
        for event in trained_passes(step) if scaled else ():
            context = event.context("autocast")
            if context is None:
                continue
            call, test, chosen, values = made[0]
            if _is_always_half(context, call.module.text(chosen)):
                yield TypeSwitch(step, call, chosen, values, test, context.node)
                return


def _switched(call: Call) -> tuple[Call, ast.expr, ast.expr, tuple[object, ...]] | None:
    given = call.bound().get("enabled")
    match given:
        case ast.Compare(
            left=ast.Attribute() | ast.Name() as chosen,
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=str() as value)],
        ):
            values: tuple[object, ...] = (value,)
        case ast.Compare(
            left=ast.Attribute() | ast.Name() as chosen,
            ops=[ast.In()],
            comparators=[listed],
        ):
            known = fixed(value_of(listed, call.module))
            values = tuple(known) if isinstance(known, list | tuple | set) else ()
        case _:
            return None
    return (call, given, chosen, values) if values and _TYPE.search(identifier(chosen)) else None


def _is_always_half(context: Context, chosen: str) -> bool:
    """Whether it is float16 whenever the device is right, and nothing asks for the type."""
    if _SWITCHES & context.detail.keys() or dtype_of(context) != "float16":
        return False
    texts = [guard.text for guard in context.guards]
    return all(_DEVICE.search(text) and chosen not in text for text in texts)
