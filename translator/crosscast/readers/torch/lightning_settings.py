"""What settings of Lightning's Trainer and Fabric mean."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Known, Unknown, Value
from crosscast.readers.python.fact_writer import FactWriter, content, is_number
from crosscast.readers.python.origins import origin
from crosscast.readers.words import PRECISIONS, mode_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call


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
    text = module.text(node)
    if who == "always":
        if word is None:
            writer.unknown("precision.compute_dtype", "the precision is unknown", *spans)
            writer.say("precision.enabled", "config", *spans, confidence="likely")
            return
        if word not in PRECISIONS:
            writer.unknown("precision.compute_dtype", f"a precision called {word!r}", *spans)
            return
        dtype, mode = PRECISIONS[word], mode_of(word)
        writer.say("precision.enabled", "never" if dtype == "float32" else "always", *spans)
        writer.say("precision.compute_dtype", dtype, *spans)
        if dtype != "float32":
            writer.say("precision.dtypes", dtype, *spans)
            writer.say("precision.mode", mode, *spans)
        scaled = dtype == "float16" and mode == "mixed"
        writer.say("loss_scaling.mode", "library" if scaled else "none", *spans)
        return
    writer.say("precision.enabled", who, *spans, expression=text)
    writer.say("precision.flag", text, *spans)
    writer.say("loss_scaling.mode", "library", *spans)
    if word is None:
        writer.unknown("precision.compute_dtype", "the switch is unknown", *spans, expression=text)
        return
    if word not in PRECISIONS:
        reason = f"a precision called {word!r}"
        writer.unknown("precision.compute_dtype", reason, *spans, expression=text)
        return
    dtype = PRECISIONS[word]
    writer.say("precision.compute_dtype", dtype, *spans, expression=text)
    writer.say("precision.dtypes", dtype, *spans)
    if dtype != "float32":
        writer.say("precision.mode", mode_of(word), *spans)


def _word(value: Value) -> str | None:
    plain = content(value)
    if plain is None and not (isinstance(value, Known) or _defaulted(value)):
        return None
    return str(plain).lower()


def _defaulted(value: Value) -> bool:
    return isinstance(value, Unknown) and value.has_default


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
        if isinstance(value, Known) and not is_number(value.value):
            if not isinstance(value.value, dict):
                return
            writer.unknown("accumulation.steps", "it changes with the epoch", *spans)
        else:
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
        plain = content(value)
        if isinstance(value, Known) and not value.flag and (plain is None or plain == 0):
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
