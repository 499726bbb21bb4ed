"""The terms of an update as the settings of an optimizer with groups of weights."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crosscast_jax.inside.transformations import CLIP

OPTIMIZERS: Mapping[tuple[str, ...], tuple[str, Mapping[str, Any]]] = {
    ("adam",): ("Adam", {"bias_correction": True}),
    ("decay", "adam"): ("Adam", {"bias_correction": True, "decoupled_weight_decay": False}),
    ("adam", "decay"): ("AdamW", {"bias_correction": True, "decoupled_weight_decay": True}),
    ("adam", "trust ratio"): ("Lamb", {"bias_correction": True}),
    ("adam", "decay", "trust ratio"): ("Lamb", {"bias_correction": True}),
    ("lion",): ("Lion", {}),
    ("lion", "decay"): ("Lion", {}),
    (): ("SGD", {"momentum": 0.0, "nesterov": False}),
    ("decay",): ("SGD", {"momentum": 0.0, "nesterov": False}),
    ("momentum",): ("SGD", {}),
    ("decay", "momentum"): ("SGD", {}),
    ("momentum", "decay"): ("SGD", {"decoupled_weight_decay": True}),
}
"""Kinds of the terms between clips and rate: the class as in the records of all frameworks."""
NORMS = re.compile(r"(layer|rms)_?norm|^(ln|norm)_?\d*$", re.I)
"""What layers that normalize the values of a row are called."""
WRAPPED = ("value", "raw_value")
"""Parts of a path that lead into a variable of NNX."""


class ToldTerm(NamedTuple):
    """A term with its numbers, and the weights that it was for."""

    kind: str
    settings: Mapping[str, float | bool]
    names: frozenset[str]


class Settings(NamedTuple):
    """What the terms of an update say."""

    cls: str
    groups: list[dict[str, Any]]
    group_of: dict[str, int]
    clips: list[dict[str, Any]]


def settings_of(terms: Sequence[ToldTerm], names: Sequence[str]) -> Settings:
    """Return class, settings by group, the groups of the weights, and clips of all gradients."""
    clips: list[dict[str, Any]] = []
    rest = list(terms)
    while rest and rest[0].kind.startswith(CLIP) and rest[0].names == set(names):
        kind, limit = rest[0].kind[len(CLIP) :], float(rest[0].settings["limit"])
        clips.append({"kind": kind, "limit": limit, "size": math.nan})
        del rest[0]
    members: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        places = tuple(n for n, term in enumerate(rest) if name in term.names)
        members.setdefault(places, []).append(name)
    groups: list[dict[str, Any]] = []
    classes: set[str] = set()
    group_of: dict[str, int] = {}
    for number, (places, group) in enumerate(members.items()):
        cls, settings = _group([rest[place] for place in places])
        if cls:
            classes.add(cls)
        groups.append({"tensors": len(group), **settings})
        group_of |= dict.fromkeys(group, number)
    return Settings(_common(classes), _completed(groups), group_of, clips)


def _group(terms: Sequence[ToldTerm]) -> tuple[str, dict[str, Any]]:
    """Return class and settings of one group; an empty class of one that is not trained."""
    if any(term.kind == "zero" for term in terms):
        return "", {"lr": 0.0}
    rate, count = -1.0, len(terms)
    while count and terms[count - 1].kind == "rate":
        count -= 1
        rate *= float(terms[count].settings["factor"])
    given: dict[str, Any] = {"lr": abs(rate)} if count < len(terms) else {"lr": 1.0}
    if count < len(terms) and rate < 0:
        given["maximize"] = True
    kinds = tuple(term.kind for term in terms[:count])
    for term in terms[:count]:
        given |= term.settings
    if "b1" in given:
        given["betas"] = [float(given.pop("b1")), float(given.pop("b2"))]
    if kinds not in OPTIMIZERS or count == len(terms):
        return "+".join(term.kind for term in terms) or "identity", given
    cls, more = OPTIMIZERS[kinds]
    return cls, {"weight_decay": 0.0, **more, **given}


def _common(classes: set[str]) -> str:
    """Return the class of all groups.

    A group without decay differs from its optimizer in what no number shows: AdamW is Adam there.
    """
    for plain, decaying in (("Adam", "AdamW"),):
        if classes == {plain, decaying}:
            return decaying
    return classes.pop() if len(classes) == 1 else " and ".join(sorted(classes))


def _completed(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return groups that all have the same settings: what is not trained gets those of others."""
    shared: dict[str, Any] = {}
    for group in groups:
        shared = {**group, **shared}
    shared.pop("lr", None)
    shared.pop("tensors", None)
    return [{**shared, "weight_decay": 0.0, **group} for group in groups]


def name_of(path: Sequence[Any]) -> str:
    """Return the name of a weight by its path in a tree."""
    parts = [
        str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path
    ]
    return ".".join(part for part in parts if part not in WRAPPED) or "weights"


def roles_of(name: str) -> list[str]:
    """Return the roles of a weight by the names of its layer and its own."""
    *layers, last = name.split(".")
    roles = ["bias"] if "bias" in last.split("_") else []
    if layers and NORMS.search(layers[-1]):
        roles.append("layer_norm")
    if last == "embedding":
        roles.append("embedding")
    return roles
