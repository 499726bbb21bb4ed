"""CL506: weight decay is applied to the parameters that should have none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.optimizer._decay import decay_groups, names_excluded
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find pairs of groups with exchanged weight decay."""
    for module in subject.program.modules:
        for node in module.every(ast.List):
            if module.is_dead(node):
                continue
            groups = decay_groups(node, module)
            if len(groups) != 2 or groups[0].excluded == groups[1].excluded:
                continue
            excluded, others = sorted(groups, key=lambda group: not group.excluded)
            if others.none and not excluded.none:
                yield Finding(
                    span=module.span(excluded.node),
                    message="the parameters in the no-decay list are decayed, and all others are "
                    "not",
                    hint="swap the two values of weight_decay",
                    related=(module.span(others.node),),
                )
    yield from _filters(subject)


def _filters(subject: Subject) -> Iterator[Finding]:
    """Find functions for Paddle's optimizers that select the parameters to decay."""
    for module in subject.program.modules:
        for call in module.calls:
            for keyword in call.node.keywords:
                wanted = _MEANS.get(keyword.arg or "")
                if wanted is None:
                    continue
                chosen = names_excluded(keyword.value, module)
                if chosen is not None and chosen is not wanted:
                    yield Finding(
                        span=module.span(keyword.value),
                        message=f"{keyword.arg} is true for biases and norms"
                        if chosen
                        else f"{keyword.arg} is true for all but biases and norms",
                        hint="negate the condition",
                    )


_MEANS = {"apply_decay_param_fun": False, "exclude_from_weight_decay_fn": True}
"""Whether the function should be true for biases and norms."""


RULE = Rule(
    "CL506",
    check,
    hints=(
        *("no_decay", "nodecay", "no_wd", "not_decay", "no_weight_decay", "skip_decay"),
        *("skip_weight_decay", "exclude", "apply_decay_param_fun"),
    ),
)
