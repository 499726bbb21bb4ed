"""CL215: an optimizer that is never stepped, or not with mixed precision."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import (
    conditions,
    eager_steps,
    made_by,
    plain_scaler,
    receiver,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep

_PRECISION = re.compile(r"fp16|bf16|amp|half|mixed|scaler|apex|precision", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that one branch of a condition steps and the other does not."""
    for step in eager_steps(subject):
        yield from _forgotten(step)
        for text, holds in _switches(step):
            on_branch = [event for event in step.of("step") if _stands(event, text, holds)]
            on_other = [event for event in step.of("step") if _stands(event, text, not holds)]
            always = {o.subject for o in step.of("step") if not _is_under(o, text)}
            stepped = {event.subject for event in on_branch} | always
            if not any(event.scaler for event in on_branch) or any(map(_is_inner, stepped)):
                continue
            for missing in dict.fromkeys(o.subject for o in on_other if o.subject not in stepped):
                if not missing:
                    continue
                yield Finding(
                    span=on_branch[-1].span,
                    message=f"{missing} is not stepped "
                    + (f"if {text}" if holds else f"unless {text}"),
                    hint=f"also step {missing} here",
                    related=tuple(o.span for o in on_other if o.subject == missing)[:1],
                )


def _is_inner(subject: str) -> bool:
    """Whether it is the optimizer within another object, which may be any of the others."""
    owner, _, name = subject.rpartition(".")
    return owner not in ("", "self") and name.lstrip("_") in ("opt", "optim", "optimizer")


def _switches(step: TrainingStep) -> list[tuple[str, bool]]:
    around = [condition for event in step.of("step") for condition in conditions(event)]
    return [fromkey for fromkey in dict.fromkeys(around) if _PRECISION.search(fromkey[0])]


def _stands(event: Event, text: str, holds: bool) -> bool:
    return (text, holds) in conditions(event)


def _is_under(event: Event, text: str) -> bool:
    return any(condition == text for condition, _ in conditions(event))


def _forgotten(step: TrainingStep) -> Iterator[Finding]:
    """Find optimizers next to a scaler whose gradients are cleared but that are never stepped."""
    stepped = {event.subject for event in step.of("step")}
    if not any(plain_scaler(event) for event in step.of("step")):
        return
    texts = [module.code for module in step.module.program.modules]
    for cleared in step.inside("zero_grad"):
        expression = receiver(cleared)
        if cleared.subject in stepped or cleared.guards or expression is None:
            continue
        names = made_by(cleared, expression)
        name = re.escape(cleared.subject.rpartition(".")[2])
        used = re.compile(
            rf"\b{name}(\.\w+)*\.step\(|step\([^)]*\b{name}\b|[\[(,]\s*{name}\s*[\]),]"
        )
        known = names and all(has_role(word, "optimizer") for word in names)
        if known and not any(used.search(text) for text in texts):
            yield Finding(
                span=cleared.span,
                message=f"the gradients of {cleared.subject} are cleared, but it never steps",
                hint=f"also step {cleared.subject} with the scaler",
            )


RULE = Rule("CL215", check, hints=("step(",))
