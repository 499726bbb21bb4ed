"""CL711: the policy is set after layers are created."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.keras import policy_sites
from crosscast_tensorflow.reading.late_policies import late_policies

_SAYS = {
    "layers": "the layers were created: they remain",
    "model": "the model was created: its layers remain",
    "compiled model": "the model was built and compiled: its layers remain",
}


def check(subject: Subject) -> Iterator[Finding]:
    """Find policies that are set when the layers of a model exist."""
    program = subject.program
    for late in late_policies(program, list(policy_sites(program))):
        yield Finding(
            span=late.policy.span,
            message=f"the policy is set after {_SAYS[late.exists]} in float32",
            hint="set the policy before the model is built",
            related=(late.place,),
        )


RULE = Rule("CL711", check, hints=("mixed_float16",))
