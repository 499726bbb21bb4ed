"""Decays of the learning rate by names of schedules in any framework."""

from __future__ import annotations

import re

Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def _patterns(*pairs: tuple[str, str]) -> Patterns:
    return tuple((word, re.compile(pattern, re.I)) for word, pattern in pairs)


_DECAYS = _patterns(
    ("custom", r"cyclic(al)?_?(lr|learning|sched)|^(multiplicativelr|swalr)$|tanh_?lr"),
    ("noam", r"noam|^scheduledoptim$"),
    ("onecycle", r"one_?cycle"),
    ("cosine", r"cosine|cos_?(decay|lr|sched|anneal|warm|policy)"),
    ("step_custom", r"piecewise\w*warm_?up"),
    ("linear", r"piecewise_?linear"),
    ("multistep", r"piecewise|multi_?step(_?(decay|lr|sched|policy)|$)"),
    ("polynomial", r"polynomial|poly_?(decay|lr|sched|warm|policy)"),
    ("inverse_sqrt", r"rsqrt|inv(erse)?_?sqrt|reciprocal_?sqrt"),
    ("linear", r"linear_?(warm_?up_?)?(and_?linear_?)?(decay|sched|lr|policy|with_?warm)"),
    ("linear", r"linear_?anneal\w*warm"),
    ("linear", r"warm_?up_?(and_?)?linear|(?-i:^WarmupDecayLR$)"),
    ("exponential", r"exponential|exp_?(decay|lr|sched|policy)|natural_?exp|inverse_?time"),
    ("step", r"stepwise|step_?(decay|lr)"),
    ("plateau", r"plateau"),
    ("constant", r"constant_?(lr|sched|warm)|warm_?up_?constant|(?-i:^WarmupLR$)"),
)
"""A word of the vocabulary and the names that stand for it; the first match decides."""
_OF_SCHEDULES = _patterns(
    ("custom", r"cyclic|triangular|tri_?stage|warm_?up_?hold|range_?test|^(wsd|rex)$"),
    ("cosine", r"^cos([_-]?restarts?)?$"),
    ("multistep", r"multi_?step"),
    ("polynomial", r"^poly|quadratic"),
    ("inverse_sqrt", r"square[_-]?root"),
    ("linear", r"linear"),
    ("exponential", r"^exp"),
    ("constant", r"const|^fixed"),
    ("step", r"step"),
)
"""The same for what certainly names a schedule, where `_DECAYS` has nothing."""


def decay_of(name: str) -> str:
    """Return the decay that the name of a schedule stands for; empty if there is none."""
    return _first(_DECAYS, name)


def decay_of_schedule(name: str) -> str:
    """Return the decay named by the value of a setting that selects a schedule.

    Such a value may be too general for a name in a program: `linear`, `step`.
    """
    return decay_of(name) or _first(_OF_SCHEDULES, name)


def _first(decays: Patterns, name: str) -> str:
    word = name.rpartition(".")[2].rpartition(":")[2]
    return next((decay for decay, pattern in decays if pattern.search(word)), "")
