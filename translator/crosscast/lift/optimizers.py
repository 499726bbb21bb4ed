"""Facts to the section of a recipe about the optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.facts.fact import Fact
from crosscast.lift.precedence import Settlement
from crosscast.lift.recipe_draft import Draft
from crosscast.lift.step_sections import number, word

FAMILIES = ("sgd", "adam", "adamw", "lamb", "lion", "adafactor")
"""Optimizers that a recipe can name."""
_VAGUE = ("elsewhere", "caller", "library_default", "inherit", "selectable", None)
_PLACEHOLDER_RATE = 0.001
BETAS = ("beta1", "beta2")
"""What notes call the two decays."""
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
    elif name in _VAGUE:
        note = f"{family.expression or name or 'the name'} is not known here".replace("_", " ")
        draft.put("optimizer.name", "adamw", family, how="stand_in", note=note)
    else:
        hint = f"a recipe knows {', '.join(FAMILIES)}"
        draft.note("CC911", "optimizer", f"the optimizer is {name}", family, hint)
        draft.put("optimizer.name", "adamw", family, how="stand_in", note=f"in place of {name}")
    _settings(settled, chosen, draft)
    if "optimizer.learning_rate" not in draft.fields:
        lr = settled.get(("optimizer.learning_rate", chosen))
        fact = lr.fact if lr else None
        text = fact.expression if fact else ""
        note = f"{text} is not known" if text else "not in the source"
        draft.put(
            "optimizer.learning_rate", _PLACEHOLDER_RATE, fact or family, how="stand_in", note=note
        )
    return chosen


def _only_settings(settled: Settlement) -> str:
    """Return the subject of settings that come without a family: flags of a launch."""
    return next((who for field, who in settled if field == "optimizer.learning_rate"), "")


def _choose(settled: Settlement, everyone: Sequence[str], draft: Draft) -> str:
    """Return the optimizer of the recipe, and report the others as lost."""
    usable = [w for w in everyone if word(settled["optimizer.name", w].fact) in FAMILIES]
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


def _alternatives(settled: Settlement, name: str, other: str) -> bool:
    """Whether only one of two optimizers is made, by a condition."""
    first = settled["optimizer.name", name].fact.under
    second = settled["optimizer.name", other].fact.under
    return first != second and bool(first or second)


def _settings(settled: Settlement, who: str, draft: Draft) -> None:
    def look(name: str) -> Fact | None:
        found = settled.get((f"optimizer.{name}", who))
        return found.fact if found else None

    name = draft.value("optimizer.name")
    lr = look("learning_rate")
    if (rate := number(lr)) is not None and rate > 0:
        draft.put("optimizer.learning_rate", float(rate), lr)
    if name in ("adam", "adamw", "lamb", "lion"):
        _betas(look("betas.0"), look("betas.1"), draft)
    if name in ("adam", "adamw", "lamb") and (eps := number(look("eps"))) is not None and eps > 0:
        draft.put("optimizer.eps", float(eps), look("eps"))
    decay = look("l2") if name in ("sgd", "adam") else look("weight_decay")
    decay = decay or look("weight_decay") or look("l2")
    if (value := number(decay)) is not None and value >= 0:
        draft.put("optimizer.weight_decay", float(value), decay)
    if name == "sgd":
        if (momentum := number(look("momentum"))) is not None:
            draft.put("optimizer.momentum", float(momentum), look("momentum"))
        if (nesterov := look("nesterov")) is not None and nesterov.known:
            draft.put("optimizer.nesterov", nesterov.value in ("yes", True), nesterov)
    groups = look("no_decay")
    if groups is not None and name != "adafactor" and name != "lion":
        roles = ["bias", "layer_norm"] if word(groups) in ("yes", True) else []
        draft.put("optimizer.no_decay", roles, groups, confidence="likely")
    elif name in ("adamw", "lamb") and draft.fields["optimizer.name"].how == "source":
        draft.absent("optimizer.no_decay", [], "no group without decay in the source")


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
    note = f"{unsaid[0]} {NOT_IN_SOURCE}" if unsaid and values != [None, None] else ""
    draft.put("optimizer.betas", both, source, how="stand_in", **({"note": note} if note else {}))
