"""Parameter groups of a recipe name the user's parameters; the toy has names of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crosscast.plan.operations import Group, Op, Plan, Step
from crosscast.recipe.optimizer import ParameterGroup
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


PATTERNS = (("*dense.weight", "*kernel"), ("*table.weight", "*embeddings"), ("*bias",))
"""What the groups of a recipe hold on the toy, as any of the frameworks calls it."""


def for_toy(groups: Sequence[ParameterGroup]) -> tuple[ParameterGroup, ...]:
    """Return groups with the same settings that hold parameters of the toy; at most three."""
    pairs = zip(groups, PATTERNS, strict=False)
    return tuple(group.model_copy(update={"parameters": names}) for group, names in pairs)
