"""Parameter groups of a recipe name the user's parameters; the toy has names of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crosscast.plan.operations import Group, Op, Plan, Step
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.toy.model import ROLES


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
