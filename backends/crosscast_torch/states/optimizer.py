"""The optimizer's state in a file of torch.save: moments by weight, and formula variants."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from crosscast.emit.lowering import slot_names
from crosscast.messages.diagnostics import Severity
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import BertModel, Recipe
from crosscast.state.problems import listed
from crosscast.state.reading import Arrays, Moments, Reading, count, number, other_formula, widened
from crosscast.state.saved_file import SavedTensor
from crosscast_torch.states import keys

_KNOWN = {*keys.SETTINGS, *keys.FIXED, *keys.FREE}
_WARNING = Severity.WARNING
_HINT = (
    "moments cannot be assigned to weights: pass model.named_parameters() to the optimizer "
    "(PyTorch 2.6), or one group in the order of the model"
)


def read_optimizer(value: Any, weights: Arrays, reading: Reading) -> tuple[Moments, int | None]:
    """Return the moments by slot and name, and the number of updates if the file has it."""
    groups = value.get("param_groups") if isinstance(value, dict) else None
    states = value.get("state") if isinstance(value, dict) else None
    plain = isinstance(groups, list) and all(isinstance(g, dict) for g in groups)
    if not plain or not isinstance(states, dict):
        reading.problem("CC961", ["the optimizer's state lacks param_groups or state"])
        return {}, None
    assert isinstance(groups, list)
    for group in groups:
        reading.problem("CC966", _differences(group, reading.recipe))
    reading.problem("CC966", other_formula(reading.recipe, "torch.optim"))
    unsaid = {str(key) for group in groups for key in group if key not in _KNOWN}
    reading.problem("CC965", (f"optimizer setting {k!r} is ignored" for k in unsaid), _WARNING)
    names = _names(groups, weights, reading)
    for group in groups:
        own = [names[p] for p in group.get("params", ()) if p in names]
        reading.problem("CC966", _decay_and_rate(group, own, reading.recipe))
    reading.account.add("learning rate", len(groups), "derived", "by the recipe's formula")
    moments: Moments = {}
    known = slot_names(canonical_plan(reading.recipe))
    steps, unknown = set(), set()
    for index, slots in states.items():
        if index not in names or not isinstance(slots, dict):
            if names:
                reading.problem("CC961", [f"state of parameter {index!r}, which is in no group"])
            continue
        for slot, tensor in slots.items():
            if slot == "step":
                steps.add(count(tensor))
            elif isinstance(tensor, SavedTensor) and slot in known:
                moments.setdefault(str(slot), {})[names[index]] = widened(tensor)
            elif tensor is not None:
                unknown.add(str(slot))
    reading.problem("CC966", (f"the recipe has no moment {moment!r}" for moment in sorted(unknown)))
    if len(steps) > 1 or None in steps:
        reading.problem("CC967", ["its weights have different numbers of updates"])
    return moments, steps.pop() if len(steps) == 1 else None


def _differences(group: Mapping[Any, Any], recipe: Recipe) -> Iterator[str]:
    """Yield settings of a parameter group that differ from the recipe's."""
    optimizer = recipe.optimizer
    for name, field in keys.SETTINGS.items():
        wanted = getattr(optimizer, field, None)
        if name in group and wanted is not None and not _is_equal(group[name], wanted):
            yield f"{name} is {group[name]}, in the recipe {wanted}"
    for name, value in keys.FIXED.items():
        if name in group and group[name] != value:
            yield f"{name} is {group[name]}, which a recipe cannot express"
    decoupled = group.get("decoupled_weight_decay")
    wrong = decoupled is (optimizer.name == "adam") and "betas" in group
    if wrong and group.get("weight_decay"):
        kind = "decoupled" if decoupled else "coupled"
        yield f"its weight decay is {kind}, that of {optimizer.name} is not"


def _decay_and_rate(
    group: Mapping[Any, Any], names: Sequence[str], recipe: Recipe
) -> Iterator[str]:
    """Yield differences of decay and base rate between a group and the recipe.

    Normalization layers and embeddings are recognized only by the names of the shipped BERT.
    """
    if recipe.optimizer.no_decay and not isinstance(recipe.model, BertModel):
        return
    wanted = [_settings(name, recipe) for name in names]
    decay = number(group.get("weight_decay"))
    other = [n for n, w in zip(names, wanted, strict=True) if decay is not None and w[0] != decay]
    if other:
        yield f"weight decay {decay} of {listed(other, 2)} differs from the recipe"
    schedule = recipe.schedule
    changes = schedule.name != "constant" or schedule.warmup_steps
    rate = number(group.get("initial_lr", None if changes else group.get("lr")))
    base = recipe.optimizer.learning_rate
    if rate is not None and not all(math.isclose(rate, base * factor) for _, factor in wanted):
        yield f"learning rate {rate} differs from the recipe"


def _is_equal(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        pairs = isinstance(stored, list) and len(stored) == len(wanted)
        return pairs and all(map(_is_equal, stored, wanted))
    if isinstance(wanted, bool) or number(stored) is None:
        return bool(stored) == wanted if isinstance(stored, bool | int) else False
    return math.isclose(number(stored) or 0.0, wanted, rel_tol=1e-9)


def _names(groups: list[Any], weights: Arrays, reading: Reading) -> dict[Any, str]:
    """Return parameter number to name of the weight; empty if unknown."""
    if all(isinstance(g.get("param_names"), list) for g in groups):
        by_number: dict[Any, str] = {}
        for group in groups:
            named = (reading.renamed.get(str(n), str(n)) for n in group["param_names"])
            by_number |= dict(zip(group.get("params", ()), named, strict=False))
        reading.account.add("parameters", len(by_number), "carried", "by the names in the file")
        return by_number
    counts = [len(g["params"]) for g in groups if isinstance(g.get("params"), list)]
    trained = _optimized(weights, sum(counts), reading)
    names: dict[Any, str] = {}
    for group in groups:
        own = trained if len(groups) == 1 else _of_group(group, trained, reading.recipe)
        params = group.get("params")
        if not isinstance(params, list) or len(params) != len(own):
            have = len(params) if isinstance(params, list) else "no"
            reading.problem("CC961", [f"{have} parameters in a group of {len(own)}: {_HINT}"])
            return {}
        names |= zip(params, own, strict=True)
    if len(set(names.values())) != len(trained):
        reading.problem("CC961", [f"its groups overlap: {_HINT}"])
        return {}
    reading.account.add("parameters", len(names), "derived", "by the order of the model's weights")
    return names


def _optimized(weights: Arrays, count: int, reading: Reading) -> list[str]:
    """Return the weights that an optimizer with so many parameters has, in their order.

    A model hands out a tied weight once, and no buffers. Frozen weights may be left out. Only a map
    of the weights tells them.
    """
    optimized = [name for name in weights if name.rpartition(".")[2] not in keys.BUFFERS]
    if reading.known is None:
        return optimized
    places = [place for held in reading.known.of("torch").values() for _, place in held]
    tied = {name for place in places for name in place.also}
    counters = set(reading.known.left.get("torch", ()))
    for others in (tied, counters, reading.known.frozen("torch")):
        if len(optimized) > count:
            optimized = [name for name in optimized if name not in others]
    return optimized


def _of_group(group: Mapping[Any, Any], names: list[str], recipe: Recipe) -> list[str]:
    """Return the weights with the decay and rate of a group in the recipe."""
    base = recipe.optimizer.learning_rate
    rate = number(group.get("initial_lr"))
    factor = None if rate is None else rate / base
    decay = number(group.get("weight_decay")) or 0.0
    members = []
    for name in names:
        own_decay, own_factor = _settings(name, recipe)
        near = factor is None or math.isclose(factor, own_factor, rel_tol=1e-6, abs_tol=1e-12)
        if near and math.isclose(decay, own_decay, rel_tol=1e-9):
            members.append(name)
    return members


def _settings(name: str, recipe: Recipe) -> tuple[float, float]:
    """Return the decay and the rate factor of a weight by its name."""
    optimizer = recipe.optimizer
    decay = 0.0 if _roles(name) & set(optimizer.no_decay) else optimizer.weight_decay
    for group in optimizer.groups:
        if any(fnmatchcase(name, pattern) for pattern in group.parameters):
            own = group.weight_decay
            return decay if own is None else own, group.rate_factor
    return decay, 1.0


def _roles(name: str) -> set[str]:
    roles = {"bias"} if name.endswith("bias") else set()
    if "layernorm" in name.lower().replace("_", ""):
        roles.add("layer_norm")
    return roles | ({"embedding"} if name.endswith("embeddings.weight") else set())
