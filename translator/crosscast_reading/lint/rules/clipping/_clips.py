"""Clipping of gradients that are still multiplied by the loss scale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert
from crosscast_reading.lint.answers.loop import (
    MAY_SWITCH_SCALER,
    asks_settings,
    compatible,
    conditions,
    conditions_of,
    eager_steps,
    implies,
    known_word,
    plain_scaler,
    receiver,
    unscaled_before,
)
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import makers_of


def scaled_clips(subject: Subject, *, by_value: bool) -> Iterator[tuple[Event, Event]]:
    """Yield every clip of scaled gradients with the step that applies them."""
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            if clip.library or (known_word(clip, "kind") == "value") != by_value:
                continue
            if "masters" in clip.detail or "scale" in str(known_word(clip, "max_text")).lower():
                continue
            applied = _applied(step, clip)
            if applied is not None:
                yield clip, applied


def sometimes_scaled(subject: Subject) -> Iterator[tuple[Event, Event, str]]:
    """Yield every clip that another setting than the scaler's own unscales gradients for.

    With the unscaling and its condition, as text.
    """
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            around = [e for e in step.of("unscale") if e.order < clip.order and compatible(e, clip)]
            if len(around) != 1 or clip.library or not plain_scaler(around[0]):
                continue
            mine = set(conditions(clip))
            if not mine <= set(conditions(around[0])):
                continue  # its own condition may imply that of the unscaling
            extra = [guard for guard in around[0].guards if not set(conditions_of(guard)) <= mine]
            others = [e for e in step.of("backward", "step") if e.scaler and compatible(e, clip)]
            backward = [e for e in others if e.kind == "backward" and e.order < clip.order]
            applied = [e for e in others if e.kind == "step" and e.order > clip.order]
            if (
                len(extra) == 1
                and asks_settings(extra[0].node)
                and not MAY_SWITCH_SCALER.search(extra[0].text)
                and any(implies(clip, event) for event in backward)
                and any(implies(clip, event, windows=True) for event in applied)
            ):
                yield clip, around[0], extra[0].text


def clips_in_scale_loss(subject: Subject, *, by_value: bool) -> Iterator[tuple[Event, Event]]:
    """Yield every clip inside apex's `scale_loss` with the preceding backward pass.

    The gradients are unscaled at the end of that block.
    """
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            scale = clip.context("scale_loss")
            if scale is None or (known_word(clip, "kind") == "value") != by_value:
                continue
            for event in step.of("backward"):
                if scale in event.contexts and event.order < clip.order:
                    yield clip, event
                    break


def clips_of_accelerate(subject: Subject, *, by_value: bool) -> Iterator[tuple[Event, Event, bool]]:
    """Yield every clip of gradients that only Accelerate's own functions would unscale.

    With the backward pass, and whether they are certainly scaled: where the Accelerator is not
    given its precision, the configuration of the launch decides.
    """
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            if clip.library or (known_word(clip, "kind") == "value") != by_value:
                continue
            before = [
                event
                for event in step.of("backward")
                if event.order < clip.order and compatible(event, clip)
            ]
            after = [event for event in step.of("step") if event.order > clip.order]
            if {event.library for event in (*before, *after)} != {"accelerate"}:
                continue
            half = _half_of_accelerator(before[-1]) if before and after else None
            if half is False and any(
                not s.name.endswith((".py", ".ipynb")) for s in subject.sources
            ):
                half = None  # the launch or the configuration is among the files
            if half is not None and not unscaled_before(step, clip):
                yield clip, before[-1], half


def _half_of_accelerator(backward: Event) -> bool | None:
    """Return whether an Accelerator was given float16; None if it was given another precision.

    None also if it cannot be seen, or if DeepSpeed or FSDP has the gradients.
    """
    accelerator = receiver(backward)
    makers = makers_of(accelerator, CallFrame(backward.module, None)) if accelerator else []
    answers = {_half_of(maker, backward.module) for _, maker in makers}
    return answers.pop() if len(answers) == 1 else None


def _half_of(maker: Call, module: Module) -> bool | None:
    if maker.has_star or any("plugin" in name for name in maker.bound()):
        return None
    match maker.argument("mixed_precision"):
        case Known(value=str(precision), flag=""):
            return True if precision == "fp16" else None
        case Known(value=str(), flag=flag):
            dest = flag.rpartition(".")[2]
            named = [each for each in module.program.all_flags if each.dest == dest]
            return None if any(f.choices and "fp16" not in f.choices for f in named) else False
        case None | Known(value=None):
            return False  # the launch decides
    return None


def clips_of_engines(subject: Subject) -> Iterator[tuple[Event, Event]]:
    """Yield every clip between the backward pass and the step of a DeepSpeed engine, and the step.

    The engine keeps the gradients, multiplied by the loss scale, and divides them in its step.
    """
    for step in subject.steps:
        for clip in step.of("clip"):
            around = {
                (event.kind, event.order < clip.order): event
                for event in step.of("backward", "step")
                if event.library == "deepspeed" and compatible(event, clip)
            }
            if ("backward", True) in around and ("step", False) in around:
                yield clip, around["step", False]


def _applied(step: TrainingStep, clip: Event) -> Event | None:
    """Return the step of a scaler that applies the clipped gradients, still scaled.

    Every step is looked at on its own way through the loop: what happens under conditions that
    exclude the step says nothing about it, such as a backward pass without half precision.
    """
    after = [o for o in step.of("step") if o.order > clip.order and compatible(clip, o)]
    for place, applied in enumerate(after):
        if any(compatible(other, applied) for other in after[:place]):
            continue  # the clip is of the step before
        if not applied.scaler or not plain_scaler(applied):
            continue
        before = [
            event
            for event in step.of("backward", "unscale")
            if event.order < clip.order
            and compatible(event, clip)
            and compatible(event, applied)
            and "functional" not in event.detail
        ]
        backward = [event for event in before if event.kind == "backward"]
        if not backward or len(backward) < len(before) or not plain_scaler(backward[-1]):
            continue
        return applied
    return None


def unscale_edit(clip: Event, applied: Event) -> tuple[Edit, ...]:
    """Return the line `scaler.unscale_(optimizer)` before a clip that is a separate statement.

    Empty if the names are not available in the function.
    """
    module = clip.module
    statement = module.statement_of(clip.node)
    same = module.function_of(clip.node) is applied.module.function_of(applied.node)
    match statement, applied.node:
        case ast.Expr() | ast.Assign(), ast.Call(
            func=ast.Attribute(value=scaler), args=[optimizer]
        ):
            row = module.lines[statement.lineno - 1]
            indent = row[: len(row) - len(row.lstrip())]
            if not same or not module.text(statement).startswith(row.strip()[:1]):
                return ()
            line = f"{indent}{module.text(scaler)}.unscale_({module.text(optimizer)})\n"
            return (insert(module, statement.lineno, 1, line),)
    return ()
