"""What settings of Lightning's Trainer and Fabric mean."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Known, Unknown, Value
from crosscast.readers.python.origins import origin
from crosscast.readers.torch.fact_writer import Told, content, is_number
from crosscast.readers.words import PRECISIONS, mode_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call


def precision(
    told: Told, node: ast.expr | None, call: Call, places: list[Span], *, by_flags: bool
) -> None:
    """Say what `precision=` means; Lightning runs in float32 without it."""
    if node is None:
        if by_flags:
            told.say("precision.enabled", "flag", *places, origin="flag", expression="--precision")
            told.say("precision.compute_dtype", "float32", *places, confidence="likely")
            told.say("precision.flag", "--precision", *places)
            told.say("loss_scaling.mode", "library", *places)
        elif not call.has_star:
            told.say("precision.enabled", "never", *places, origin="library_default")
            told.say("precision.compute_dtype", "float32", *places, origin="library_default")
            told.say("loss_scaling.mode", "none", *places, origin="library_default")
        return
    module = call.module.owner_of(node)
    value = evaluate(node, module)
    who = origin(node, module)
    spans = [module.span(node), *places]
    word = _word(value)
    text = module.text(node)
    if who == "always":
        if word is None:
            told.unknown("precision.compute_dtype", "the precision is not known", *spans)
            told.say("precision.enabled", "config", *spans, confidence="likely")
            return
        dtype, mode = PRECISIONS.get(word, "float32"), mode_of(word)
        told.say("precision.enabled", "never" if dtype == "float32" else "always", *spans)
        told.say("precision.compute_dtype", dtype, *spans)
        if dtype != "float32":
            told.say("precision.dtypes", dtype, *spans)
            told.say("precision.mode", mode, *spans)
        scaled = dtype == "float16" and mode == "mixed"
        told.say("loss_scaling.mode", "library" if scaled else "none", *spans)
        return
    told.say("precision.enabled", who, *spans, expression=text)
    told.say("precision.flag", text, *spans)
    told.say("loss_scaling.mode", "library", *spans)
    if word is None:
        told.unknown("precision.compute_dtype", "the switch is not known", *spans, expression=text)
        return
    dtype = PRECISIONS.get(word, "float32")
    told.say("precision.compute_dtype", dtype, *spans, expression=text)
    told.say("precision.dtypes", dtype, *spans)
    if dtype != "float32":
        told.say("precision.mode", mode_of(word), *spans)


def _word(value: Value) -> str | None:
    plain = content(value)
    if plain is None and not (isinstance(value, Known) or _defaulted(value)):
        return None
    return str(plain).lower()


def _defaulted(value: Value) -> bool:
    return isinstance(value, Unknown) and value.has_default


def accumulation(
    told: Told, node: ast.expr | None, call: Call, places: list[Span], *, by_flags: bool
) -> None:
    """Say what `accumulate_grad_batches=` means."""
    if node is None:
        if not by_flags:
            return
        spans = places
        text = "args.accumulate_grad_batches"
        told.say("accumulation.steps", 1, *spans, origin="flag", expression=text,
                 confidence="likely")  # fmt: skip
    else:
        module = call.module.owner_of(node)
        spans = [module.span(node), *places]
        value = evaluate(node, module)
        if isinstance(value, Known) and not is_number(value.value):
            if not isinstance(value.value, dict):
                return
            told.unknown("accumulation.steps", "it changes with the epoch", *spans)
        else:
            told.value("accumulation.steps", value, *spans)
    told.say("accumulation.present", "yes", *spans)
    for name in ("loss_divided", "tail", "no_sync"):
        told.say(f"accumulation.{name}", "library", *spans)


def clipping(
    told: Told, bound: dict[str, ast.expr], call: Call, places: list[Span], *, by_flags: bool
) -> None:
    """Say what `gradient_clip_val=` and `gradient_clip_algorithm=` mean."""
    node = bound.get("gradient_clip_val")
    if node is None:
        if not by_flags:
            return
        text = "args.gradient_clip_val"
        told.say(
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
        told.number("clipping.value", value, *spans)
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
    told.say("clipping.kind", kind, *spans)
    told.say("clipping.unscaled_first", "library", *spans)
    told.say("clipping.per", "library", *spans)
