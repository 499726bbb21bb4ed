"""CL013: updates that go up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_jax.answers.chains import Link, chains
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject

_KEEPS_SIGN = re.compile(
    r"scale|scale_by_(adam|amsgrad|belief|lion|rms|rss|stddev|trust_ratio|yogi|radam|factored_rms)"
    r"|add_decayed_weights|clip\w*|adaptive_grad_clip|trace|zero_nans|identity"
)
_ADDS = re.compile(r"apply_updates|apply_gradients|\bOptimizer\(")
_NEGATES = re.compile(r"lambda (\w{1,60}): -\1\b|\bnegative\(")
"""Signs of a program that means to go up."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find chains of directions that end with a positive factor."""
    texts = [module.code for module in subject.program.modules]
    if any(map(_NEGATES.search, texts)) or not any(map(_ADDS.search, texts)):
        return
    for _, links in chains(subject.program):
        end = links[-1] if links else Link()
        if end.name != "scale" or end.call is None:
            continue
        if not all(_KEEPS_SIGN.fullmatch(link.name) for link in links):
            continue
        scales = [link.call for link in links if link.name == "scale" and link.call is not None]
        factors = [plain(call.argument("step_size")) for call in scales]
        signs = [
            value > 0
            for value in factors
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        directed = any(link.name.startswith("scale_by_") for link in links)
        if directed and len(signs) == len(factors) and all(signs):
            yield Finding(
                span=end.call.module.span(end.call.node),
                message=f"the chain ends with a positive factor, {factors[-1]}: apply_updates adds "
                "it, and the loss goes up",
                hint="write the rate with a minus, or optax.scale_by_learning_rate(rate)",
            )


RULE = Rule("CL013", check, hints=("optax.scale", "scale("))
