"""Parameter groups of a recipe name parameters as the framework does; the toy has names of its own.

For the comparison, groups are replaced by one for every parameter of the toy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crosscast.optimizer_math import settings_of
from crosscast.plan import Group, Op, Plan, Step
from fuzz.toy import ROLES


def resolved(plan: Plan, names: Mapping[str, str]) -> Plan:
    """Return the plan with groups that name the parameters of the toy.

    Args:
        plan: A plan whose groups name what the framework calls them.
        names: What it calls the parameters of the toy, by their names there.
    """

    def change(op: Op) -> Op:
        if not isinstance(op, Step) or not op.groups:
            return op
        return replace(op, groups=tuple(_group(op, own, name) for own, name in names.items()))

    return replace(plan, window=tuple(map(change, plan.window)))


def _group(op: Step, own: str, name: str) -> Group:
    decay, factor = settings_of(op, name, ROLES.get(own, frozenset()))
    return Group(parameters=(own,), weight_decay=decay, rate_factor=factor)
