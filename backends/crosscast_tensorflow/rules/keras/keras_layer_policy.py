"""CL710: a policy for single layers, with which compile does not wrap the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import half_policies, scales
from crosscast_tensorflow.reading.keras import policy_sites


def check(subject: Subject) -> Iterator[Finding]:
    """Find layers in mixed_float16 without a policy of the model."""
    program = subject.program
    if half_policies(program) or scales(program):
        return
    made = list(compiled(program))
    sites = [site for site in policy_sites(program) if site.dtypes == ("float16",)]
    for site in sites[:1] if made else ():
        call = site.module.call(site.node)  # type: ignore[arg-type]
        if last(call.name) in ("Sequential", "Model"):
            return
        yield Finding(
            span=site.module.span(site.node),
            message="compile does not scale the loss: it checks the policy of the model, not of "
            "its layers",
            hint='call keras.mixed_precision.set_global_policy("mixed_float16"), or wrap the '
            "optimizer in LossScaleOptimizer",
            related=(made[0].module.span(made[0].node),),
        )


RULE = Rule("CL710", check, hints=("mixed_float16",))
