"""Which weights decay, and which have a rate of their own: what the groups of an optimizer say."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, get_args

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Role, Step
from crosscast.recipe.document import Recipe
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.reading.changes import CLOSE, alike, put
from crosscast_parity.reading.evidence import Evidence, Parameter, most_common
from crosscast_parity.reading.statements import Statement

PLAIN = re.compile(r"[A-Za-z0-9_./:-]{1,200}")
MOST_NAMES = 20
ROLES: tuple[Role, ...] = get_args(Role)
WHY = "the groups of the optimizer"


def group_statements(evidence: Evidence, recipe: Recipe) -> dict[str, Statement]:
    """Return decay, roles without decay and groups as the optimizer has them.

    Values of the recipe stay where they mean the same for every tensor.
    """
    step = canonical_plan(recipe).find(Step)
    pairs = _settings(evidence)
    if step is None or not pairs or evidence.optimizers > 1:
        return {}
    own = {p.name: settings_of(step, p.name, p.roles) for p in evidence.parameters}
    if _mean_the_same(pairs, own):
        optimizer = recipe.optimizer
        return _group_values(optimizer.weight_decay, optimizer.no_decay, optimizer.groups)
    values = _decay(evidence.parameters, pairs)
    return _group_values(*values) if values and put(recipe, _values(values)) else {}


def _values(values: tuple[Any, ...]) -> dict[str, Any]:
    names = ("weight_decay", "no_decay", "groups")
    return {f"optimizer.{name}": value for name, value in zip(names, values, strict=True)}


def _group_values(*values: Any) -> dict[str, Statement]:
    return {
        path: Statement(path=path, value=value, why=WHY) for path, value in _values(values).items()
    }


Pairs = Mapping[str, tuple[float, float]]
"""Decay and rate by the name of a tensor."""


def _settings(evidence: Evidence) -> Pairs:
    """Return decay and rate of every tensor at the update with the highest rates."""
    updates = [a for a in evidence.recording.updates if a.optimizer == 0]
    if not updates or not evidence.parameters:
        return {}
    highest = max(updates, key=lambda attempt: max(attempt.rates, default=0.0))
    by_tensor = {}
    for parameter in evidence.parameters:
        if parameter.group >= len(highest.settings):
            return {}
        settings = highest.settings[parameter.group]
        decay, rate = settings.get("weight_decay", 0.0), settings.get("lr")
        if rate is None:
            return {}
        by_tensor[parameter.name] = (float(decay or 0.0), float(rate))
    return by_tensor


def _mean_the_same(pairs: Pairs, own: Pairs) -> bool:
    """Whether a recipe gives every tensor its decay, and all rates but for one factor."""
    if not all(alike(decay, own[name][0]) for name, (decay, _) in pairs.items()):
        return False
    base = [rate / own[name][1] for name, (_, rate) in pairs.items() if own[name][1]]
    frozen = all(rate == 0.0 for name, (_, rate) in pairs.items() if not own[name][1])
    return frozen and bool(base) and max(base) - min(base) <= CLOSE * max(base)


def _decay(parameters: Sequence[Parameter], pairs: Pairs) -> tuple[Any, ...] | None:
    """Return decay, roles and groups that give every tensor what it has."""
    decays = {decay for decay, _ in pairs.values() if decay}
    decay = most_common([d for d, _ in pairs.values() if d]) if decays else 0.0
    rate = most_common(rate for _, rate in pairs.values())
    if not rate or not math.isfinite(rate):
        return None
    usual = [p for p in parameters if pairs[p.name][1] == rate and pairs[p.name][0] in (0.0, decay)]
    roles = _roles(usual, pairs) if decay else ()
    groups = []
    for key in dict.fromkeys(pairs.values()):
        members = [p.name for p in parameters if pairs[p.name] == key]
        spared = {p.name for p in parameters if roles and p.roles & set(roles)}
        if key[1] == rate and all(key[0] == (0.0 if n in spared else decay) for n in members):
            continue
        patterns = _patterns(members, [p.name for p in parameters])
        if not patterns:
            return None
        own = None if all(key[0] == (0.0 if n in spared else decay) for n in members) else key[0]
        factor = float(f"{key[1] / rate:.6g}")
        groups.append({"parameters": patterns, "weight_decay": own, "rate_factor": factor})
    return decay, roles, tuple(groups)


def _roles(parameters: Sequence[Parameter], pairs: Pairs) -> tuple[Role, ...]:
    """Return the fewest roles whose tensors are those without decay; none if there are no such."""
    spared = {p.name for p in parameters if not pairs[p.name][0]}
    for count in range(len(ROLES) + 1):
        for roles in combinations(ROLES, count):
            if {p.name for p in parameters if p.roles & set(roles)} == spared:
                return roles
    return ()


def _patterns(members: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return patterns for just these names; () if there are none that a recipe takes."""
    parts = members[0].split(".")
    for length in range(1, len(parts)):
        prefix = ".".join(parts[:length]) + "."
        if {name for name in names if name.startswith(prefix)} == set(members):
            return (f"{prefix}*",) if PLAIN.fullmatch(prefix) else ()
    plain = all(PLAIN.fullmatch(name) for name in members)
    return tuple(members) if plain and len(members) <= MOST_NAMES else ()
