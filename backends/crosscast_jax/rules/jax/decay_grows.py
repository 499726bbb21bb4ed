"""CL012: a decay behind the optimizer makes weights grow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_jax.answers.chains import Link, chains
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find decays that are added to updates which have their sign and rate already."""
    for _, links in chains(subject.program):
        made = next((link for link in links if link.is_optimizer), None)
        if made is None or made.call is None:
            continue
        behind = links[links.index(made) + 1 :]
        if not all(_PLAIN.fullmatch(link.name) for link in behind) or _is_negative(made):
            continue
        for link in behind:
            if link.name == "add_decayed_weights" and _is_positive(link) and link.call is not None:
                yield Finding(
                    span=link.call.module.span(link.call.node),
                    message=f"the decay is added behind {made.name}, whose updates have their sign "
                    "and rate already: weights grow by it in every step",
                    hint="use optax.adamw, or put add_decayed_weights between scale_by_adam() and "
                    "scale_by_learning_rate(rate)",
                    related=(made.call.module.span(made.call.node),),
                )


_PLAIN = re.compile(r"add_decayed_weights|clip\w*|zero_nans|keep_params_nonnegative|identity")


def _is_negative(made: Link) -> bool:
    """Whether an optimizer has a rate below 0."""
    rate = made.call.bound().get("learning_rate") if made.call is not None else None
    return isinstance(rate, ast.UnaryOp) and isinstance(rate.op, ast.USub)


def _is_positive(link: Link) -> bool:
    value = plain(link.call.argument("weight_decay")) if link.call is not None else None
    return isinstance(value, int | float) and value > 0


RULE = Rule("CL012", check, hints=("add_decayed_weights",))
