"""CL208: half-precision weights with a GradScaler."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, plain_scaler, scaler_names
from crosscast_reading.lint.answers.scalers import scaler_calls, switched_off
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.loss_scaling._half_weights import casts_of, conditional, halves
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find models that are cast to float16 and trained with a scaler of PyTorch."""
    scalers = scaler_calls(subject)
    if not scalers or all(switched_off(made_call) is not False for made_call in scalers):
        return
    if any("paddle" in name.name or "peft" in name.module.imported for name in scalers):
        return
    for step in eager_steps(subject):
        applied = [o for o in step.of("step") if plain_scaler(o) and scaler_names(o)]
        if not applied:
            continue
        models = {event.subject for event in step.of("forward") if event.context("no_grad") is None}
        for module in {event.module for event in step.events}:
            for call in casts_of(module):
                if halves(call, module, models) and not conditional(call, module, step):
                    yield Finding(
                        span=module.span(call.node),
                        message=f"the weights are float16, so {applied[0].scaler} would have to "
                        "unscale float16 gradients",
                        hint="keep the weights in float32: autocast chooses the dtype of every "
                        "operation",
                        related=(applied[0].span,),
                    )


RULE = Rule("CL208", check, hints=("half", "float16"))
