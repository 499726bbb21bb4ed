"""What settings of Lightning's Trainer and Fabric mean."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.python.fact_writer import FactWriter, content
from crosscast_reading.readers.python.origins import origin
from crosscast_reading.readers.words import PRECISIONS, mode_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call


def precision(
    writer: FactWriter, node: ast.expr | None, call: Call, places: list[Span], *, by_flags: bool
) -> None:
    """Record the meaning of `precision=`; Lightning runs in float32 without it."""
    if node is None:
        if by_flags:
            writer.say(
                "precision.enabled", "flag", *places, origin="flag", expression="--precision"
            )
            writer.say("precision.compute_dtype", "float32", *places, confidence="likely")
            writer.say("precision.flag", "--precision", *places)
            writer.say("loss_scaling.mode", "library", *places)
        elif not call.has_star:
            writer.say("precision.enabled", "never", *places, origin="library_default")
            writer.say("precision.compute_dtype", "float32", *places, origin="library_default")
            writer.say("loss_scaling.mode", "none", *places, origin="library_default")
        return
    module = call.module.owner_of(node)
    value = evaluate(node, module)
    who = origin(node, module)
    spans = [module.span(node), *places]
    word = _word(value)
    text = "" if who == "always" else module.text(node)
    dtype, mode = PRECISIONS.get(word, ""), mode_of(word)
    if text:
        writer.say("precision.enabled", who, *spans, expression=text)
        writer.say("precision.flag", text, *spans)
        writer.say("loss_scaling.mode", "library", *spans)
    elif not word:
        writer.say("precision.enabled", "config", *spans, confidence="likely")
    elif dtype:
        writer.say("precision.enabled", "never" if dtype == "float32" else "always", *spans)
        scaled = dtype == "float16" and mode == "mixed"
        writer.say("loss_scaling.mode", "library" if scaled else "none", *spans)
    if not dtype:
        reason = f"a precision called {word!r}" if word else "the precision is unknown"
        writer.unknown("precision.compute_dtype", reason, *spans, expression=text)
        return
    writer.say("precision.compute_dtype", dtype, *spans, expression=text)
    if dtype != "float32":
        writer.say("precision.dtypes", dtype, *spans)
        writer.say("precision.mode", mode, *spans)


def _word(value: Value) -> str:
    """Return a precision in lower case; empty if unknown."""
    match settled(value):
        case Known(value=plain) | Unknown(default=plain, has_default=True):
            return str(plain).lower()
    return ""


def accumulation(
    writer: FactWriter, node: ast.expr | None, call: Call, places: list[Span], *, by_flags: bool
) -> None:
    """Record the facts of `accumulate_grad_batches=`."""
    if node is None:
        if not by_flags:
            return
        spans = places
        text = "args.accumulate_grad_batches"
        writer.say("accumulation.steps", 1, *spans, origin="flag", expression=text,
                 confidence="likely")  # fmt: skip
    else:
        module = call.module.owner_of(node)
        spans = [module.span(node), *places]
        value = evaluate(node, module)
        match value:
            case Known(value=None):
                return
            case Known(value=dict()):
                writer.unknown("accumulation.steps", "it changes with the epoch", *spans)
            case _:
                writer.value("accumulation.steps", value, *spans)
    writer.say("accumulation.present", "yes", *spans)
    for name in ("loss_divided", "tail", "no_sync"):
        writer.say(f"accumulation.{name}", "library", *spans)


def clipping(
    writer: FactWriter,
    bound: dict[str, ast.expr],
    call: Call,
    places: list[Span],
    *,
    by_flags: bool,
) -> None:
    """Record the facts of `gradient_clip_val=` and `gradient_clip_algorithm=`."""
    node = bound.get("gradient_clip_val")
    if node is None:
        if not by_flags:
            return
        text = "args.gradient_clip_val"
        writer.say(
            "clipping.value", 0.0, *places, origin="flag", expression=text, confidence="likely"
        )
        spans = places
    else:
        module = call.module.owner_of(node)
        value = evaluate(node, module)
        spans = [module.span(node), *places]
        match value:
            case Known(value=None | 0, flag=""):
                return
        writer.number("clipping.value", value, *spans)
    kind = "global_norm"
    algorithm = bound.get("gradient_clip_algorithm")
    if algorithm is not None:
        word = content(evaluate(algorithm, call.module.owner_of(algorithm)))
        kind = (
            "value"
            if word == "value"
            else "global_norm"
            if word in ("norm", None)
            else "selectable"
        )
    writer.say("clipping.kind", kind, *spans)
    writer.say("clipping.unscaled_first", "library", *spans)
    writer.say("clipping.per", "library", *spans)
