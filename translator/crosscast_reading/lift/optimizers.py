"""Facts to the section of a recipe about the optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.lift.frameworks import framework_of
from crosscast_reading.lift.precedence import Settlement
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.lift.step_sections import Look, number, word

FAMILIES = ("sgd", "adam", "adamw", "lamb", "lion", "adafactor")
"""Optimizers that a recipe can name."""
_VAGUE = ("elsewhere", "caller", "library_default", "inherit", "selectable", None)
_PLACEHOLDER_RATE = 0.001
BETAS = ("beta1", "beta2")
"""What notes call the two decays."""
_PARTS = {"weight_decay": ("weight_decay", "l2"), "betas": ("betas.0", "betas.1")}
"""Fields of a recipe to the facts that they are made of, where these have other names."""
NOT_IN_SOURCE = "is not in the source"
"""Note about the one of two decays that the call of an optimizer leaves out."""


def subjects(settled: Settlement) -> list[str]:
    """Return the optimizers of a source, in its order."""
    return [who for field, who in settled if field == "optimizer.name"]


def optimizer(settled: Settlement, draft: Draft) -> str:
    """Fill `optimizer`; return the optimizer it is about."""
    everyone = subjects(settled)
    if not everyone:
        draft.stand_in("optimizer.name", "adamw", "no optimizer in the source")
        _settings(settled, _only_settings(settled), draft)
        draft.stand_in("optimizer.learning_rate", _PLACEHOLDER_RATE, "not in the source")
        return ""
    chosen = _choose(settled, everyone, draft)
    family = settled["optimizer.name", chosen].fact
    name = word(family)
    if name in FAMILIES:
        draft.put("optimizer.name", name, family)
        made_by = settled.get(("optimizer.source_name", chosen))
        if made_by is not None and ":" in f"{made_by.fact.expression}{made_by.fact.value}":
            # A class of the program: its name was read, not its formula.
            draft.fields["optimizer.name"] = replace(
                draft.fields["optimizer.name"], confidence="likely"
            )
    elif name in _VAGUE:
        note = f"{family.expression or name or 'the name'} is not known here".replace("_", " ")
        draft.assume("optimizer.name", "adamw", note, family)
    else:
        hint = f"a recipe knows {', '.join(FAMILIES)}"
        draft.note("CC911", "optimizer", f"the optimizer is {name}", family, hint)
        draft.assume("optimizer.name", "adamw", f"in place of {name}", family)
    _settings(settled, chosen, draft)
    _undecided(settled, chosen, draft)
    _computed_rate(settled, chosen, draft)
    if "optimizer.learning_rate" not in draft.fields:
        lr = settled.get(("optimizer.learning_rate", chosen))
        fact = lr.fact if lr else None
        text = fact.expression if fact else ""
        note = f"{text} is not known" if text else "not in the source"
        draft.assume("optimizer.learning_rate", _PLACEHOLDER_RATE, note, fact or family)
    return chosen


def _only_settings(settled: Settlement) -> str:
    """Return the subject of settings that come without a family: flags of a launch."""
    return next((who for field, who in settled if field == "optimizer.learning_rate"), "")


def _choose(settled: Settlement, everyone: Sequence[str], draft: Draft) -> str:
    """Return the optimizer of the recipe, and report the others as lost."""
    usable = [w for w in everyone if word(settled["optimizer.name", w].fact) in FAMILIES]
    usable.sort(key=lambda who: settled["optimizer.name", who].fact.confidence != "certain")
    chosen = (usable or list(everyone))[0]
    others = [w for w in everyone if w != chosen]
    together = [w for w in others if not _alternatives(settled, chosen, w)]
    if together:
        fact = settled["optimizer.name", together[0]].fact
        names = ", ".join(sorted({w or "another" for w in (chosen, *together)}))
        message = f"{len(together) + 1} optimizers train together ({names}); a recipe has one"
        hint = f"the recipe is about {chosen or 'the first'}; write one recipe for each"
        draft.note("CC911", "optimizer", message, fact, hint)
    elif others:
        fact = settled["optimizer.name", others[0]].fact
        draft.note("CC912", "optimizer", f"a switch chooses it; taken is {chosen}", fact)
    return chosen


def _undecided(settled: Settlement, chosen: str, draft: Draft) -> None:
    """Leave open what an unknown switch decides: the optimizer, and settings that differ."""
    family = settled["optimizer.name", chosen].fact
    others = [
        who for who in subjects(settled) if who != chosen and _alternatives(settled, chosen, who)
    ]
    if family.confidence == "certain" or len(_values("name", (chosen, *others), settled)) < 2:
        return
    note = f"only if {' and '.join(family.under)}"
    for path, filled in draft.fields.items():
        section, _, field = path.partition(".")
        if section == "optimizer" and len(_values(field, (chosen, *others), settled)) > 1:
            draft.fields[path] = replace(filled, how="assumed", confidence="guess", note=note)


def _computed_rate(settled: Settlement, chosen: str, draft: Draft) -> None:
    """Leave the rate open if a formula that was not understood replaces that of the optimizer."""
    changed = settled.get(("optimizer.learning_rate_changed", chosen))
    course = settled.get(("schedule.name", ""))
    rate = draft.fields.get("optimizer.learning_rate")
    if changed is None or course is None or rate is None or ("schedule.peak", "") in settled:
        return
    guessed = course.fact.value == "custom" or course.fact.confidence == "guess"
    if guessed and changed.fact.value == "computed":
        draft.assume("optimizer.learning_rate", rate.value, changed.fact.expression, changed.fact)


def _values(field: str, everyone: Sequence[str], settled: Settlement) -> set[object]:
    """Return the different values that optimizers have in a field of a recipe."""
    names = _PARTS.get(field, (field,))
    facts = [[settled.get((f"optimizer.{name}", who)) for name in names] for who in everyone]
    return {tuple((f.fact.value, f.fact.expression) if f else None for f in each) for each in facts}


def _alternatives(settled: Settlement, name: str, other: str) -> bool:
    """Whether only one of two optimizers is made, by a condition."""
    first = settled["optimizer.name", name].fact.under
    second = settled["optimizer.name", other].fact.under
    return first != second and bool(first or second)


def _settings(settled: Settlement, who: str, draft: Draft) -> None:
    def look(name: str) -> Fact | None:
        settled_fact = settled.get((f"optimizer.{name}", who))
        return settled_fact.fact if settled_fact else None

    lr = look("learning_rate")
    if (rate := number(lr)) is not None and rate > 0:
        draft.put("optimizer.learning_rate", float(rate), lr)
    _decay(look, draft)
    name = draft.value("optimizer.name")
    if name in ("adam", "adamw", "lamb", "lion"):
        _betas(look("betas.0"), look("betas.1"), draft)
    if name in ("adam", "adamw", "lamb") and (eps := number(look("eps"))) is not None and eps > 0:
        draft.put("optimizer.eps", float(eps), look("eps"))
    if name == "sgd":
        fact = look("momentum")
        if (momentum := number(fact)) is not None:
            draft.put("optimizer.momentum", float(momentum), fact)
        elif fact is not None:
            note = f"{fact.expression or 'it'} is not known"
            draft.assume("optimizer.momentum", _STARTS["momentum"], note, fact)
        if (nesterov := look("nesterov")) is not None and nesterov.known:
            draft.put("optimizer.nesterov", nesterov.value in ("yes", True), nesterov)
    _groups(look, draft)
    _changed_later(look, draft)


def _decay(look: Look, draft: Draft) -> None:
    """Fill the weight decay: added to the gradients, or taken off the weights (decoupled)."""
    name = draft.value("optimizer.name")
    coupled, decoupled = look("l2"), look("weight_decay")
    own, other = (coupled, decoupled) if name in ("sgd", "adam") else (decoupled, coupled)
    if (value := number(own)) is not None and value >= 0:
        draft.put("optimizer.weight_decay", float(value), own)
        return
    value = number(other)
    if own is not None or other is None or value is None or value < 0:
        return
    if value == 0:
        draft.put("optimizer.weight_decay", 0.0, other)
    elif name in _WITH_DECAY and other.confidence == "certain":
        family = replace(draft.fields["optimizer.name"], value=_WITH_DECAY[name])
        if family.how == "read":
            places = tuple(dict.fromkeys((*family.places, *other.places)))
            family = replace(family, how="derived", places=places, note=f"{name} with such decay")
        draft.fields["optimizer.name"] = family
        draft.put("optimizer.weight_decay", float(value), other)
    else:
        note = "added to the gradients or taken off the weights: not read"
        draft.assume("optimizer.weight_decay", float(value), note, other)


_WITH_DECAY = {"adam": "adamw", "adamw": "adam"}
"""Adam with decoupled decay is AdamW, AdamW with coupled decay is Adam."""


def _groups(look: Look, draft: Draft) -> None:
    """Fill which weights decay, and whether some have a rate of their own."""
    groups, rates, family = look("no_decay"), look("rate_groups"), draft.fields["optimizer.name"]
    name = family.value
    if groups is not None and groups.known and name not in ("adafactor", "lion"):
        spares = word(groups) in ("yes", True)
        roles = ["bias", "layer_norm"] if spares else []
        sure: Confidence = "likely" if spares else groups.confidence
        draft.put("optimizer.no_decay", roles, groups, confidence=sure)
    if rates is not None and word(rates) != "no":
        draft.assume("optimizer.groups", [], "groups with rates of their own", rates)
    elif rates is not None or (groups is not None and groups.known):
        groups = rates or groups
        note = "no group with a rate of its own"
        draft.put("optimizer.groups", [], groups, note=note, nothing=True)


def groups(look: Look, draft: Draft) -> None:
    """Say of weights that no reader saw groups of whether there are none.

    Where optimizers take groups with their parameters, only a list without groups shows that.
    """
    family = draft.fields["optimizer.name"]
    if family.how == "assumed":
        return
    framework = framework_of(str(word(look("framework"))))
    if framework is not None and not framework.groups:
        draft.nothing("optimizer.no_decay", [], "groups", "nothing is spared from decay")
        if not draft.has("optimizer.groups."):
            draft.nothing("optimizer.groups", [], "groups", "no group with a rate of its own")
        return
    decay = draft.fields.get("optimizer.weight_decay", family)
    if decay.value or decay.how == "assumed":
        note = "whether some weights are spared was not read"
        draft.stand_in("optimizer.no_decay", [], note, places=family.places)
    if not draft.has("optimizer.groups."):
        note = "whether some weights have rates of their own was not read"
        draft.stand_in("optimizer.groups", [], note, places=family.places)


def _changed_later(look: Look, draft: Draft) -> None:
    """Leave to the user what the program changes after it made the optimizer."""
    for name in _CHANGED.get(str(draft.value("optimizer.name")), ()):
        fact = look(f"{name}_changed")
        if fact is None or (name == "learning_rate" and look(name) is not None):
            continue  # a schedule starts from the rate that was given
        before = draft.fields.get(f"optimizer.{name}")
        value = before.value if before is not None else _STARTS[name]
        draft.assume(f"optimizer.{name}", value, fact.expression, fact)


_STARTS = {
    "learning_rate": _PLACEHOLDER_RATE,
    "weight_decay": 0.01,
    "momentum": 0.9,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
}
_OF_ADAM = ("learning_rate", "weight_decay", "betas", "eps")
_CHANGED = {
    "sgd": ("learning_rate", "weight_decay", "momentum"),
    **dict.fromkeys(("adam", "adamw", "lamb"), _OF_ADAM),
    "lion": ("learning_rate", "weight_decay", "betas"),
    "adafactor": ("learning_rate", "weight_decay"),
}
"""Settings of each optimizer that a program may change later."""


def _betas(first: Fact | None, second: Fact | None, draft: Draft) -> None:
    source = first or second
    if source is None:
        return
    values = [number(first), number(second)]
    both = [
        default if value is None else float(value)
        for value, default in zip(values, (0.9, 0.999), strict=True)
    ]
    if None not in values:
        draft.put("optimizer.betas", both, source)
        return
    unsaid = [name for name, beta in zip(BETAS, (first, second), strict=True) if beta is None]
    if unsaid and values != [None, None]:
        note = f"{unsaid[0]} {NOT_IN_SOURCE}"
    else:
        open_ = next(beta for beta in (first, second) if beta is not None and number(beta) is None)
        note = f"{open_.expression or open_.reason or 'it'} is not known"
    draft.assume("optimizer.betas", both, note, source)
