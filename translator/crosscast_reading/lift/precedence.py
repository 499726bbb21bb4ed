"""What counts where several facts speak of one field: the outermost layer, then the surest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Confidence, Fact, Layer, Plain
from crosscast_reading.facts.profile import Profile
from crosscast_reading.facts.vocabulary import VOCABULARY

ABSENT = frozenset({"none", "no", "never", "float32", "constant"})
"""Words that say that something is not there."""
_QUALITIES = frozenset({"accumulation.loss_divided", "clipping.unscaled_first"})
"""Fields about how something is done; `no` says as much there as `yes`."""
_LAYERS = list(Layer)
_SURE: dict[Confidence, int] = {"certain": 2, "likely": 1, "guess": 0}
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a source says of one field of one subject, all facts taken together."""

    fact: Fact
    """The one that counts; its value is that of all facts together."""
    others: tuple[Fact, ...] = ()
    """Facts that say something else and do not count."""

    @property
    def places(self) -> tuple[Span, ...]:
        """All places that say it, the most telling one first."""
        return self.fact.places


Settlement = Mapping[Key, Settled]


def settle(profile: Profile) -> dict[Key, Settled]:
    """Return the settled facts by field and subject; the subject is '' for fields without."""
    groups: dict[Key, list[Fact]] = {}
    for fact in profile:
        entry = VOCABULARY.get(fact.field)
        if entry is None:
            continue
        subject = fact.subject if entry.of_subject else ""
        groups.setdefault((fact.field, subject), []).append(fact)
    return {
        key: _union(facts) if VOCABULARY[key[0]].many else _winner(facts)
        for key, facts in groups.items()
    }


def words(value: object) -> tuple[Plain, ...]:
    """Return the value of a field that may have several, as a tuple."""
    if isinstance(value, tuple):
        return value
    return (value,)  # type: ignore[return-value]


def _union(facts: list[Fact]) -> Settled:
    """Return all words of all facts; a word for nothing counts only alone."""
    top = [f for f in facts if f.known] or facts
    all_words = list(dict.fromkeys(w for f in top if f.known for w in words(f.value)))
    present = [w for w in all_words if w not in ABSENT] or all_words
    best = max(top, key=_weight)
    value = tuple(present) if best.known else None
    return Settled(fact=_copy(best, value=value, places=_places(top, best)))


def _winner(facts: list[Fact]) -> Settled:
    outermost = max(facts, key=lambda f: _LAYERS.index(f.layer)).layer
    inner = [f for f in facts if f.layer is not outermost]
    of_layer = [f for f in facts if f.layer is outermost]
    best = max(of_layer, key=_weight)
    agree = [f for f in of_layer if _word(f) == _word(best)]
    differ = [f for f in of_layer if f not in agree]
    chosen = {f.value for f in of_layer if f.known and f.value not in ABSENT}
    if len(chosen) > 1 and "selectable" in VOCABULARY[best.field].values and _differ(of_layer):
        joined = _copy(best, value="selectable", places=_places(of_layer, best))
        return Settled(fact=joined, others=tuple(inner))
    return Settled(fact=_copy(best, places=_places(agree, best)), others=(*differ, *inner))


def _differ(facts: Iterable[Fact]) -> bool:
    """Whether facts with different words stand under different conditions."""
    conditions: dict[object, set[tuple[str, ...]]] = {}
    for fact in facts:
        if fact.known:
            conditions.setdefault(fact.value, set()).add(fact.under)
    each = list(conditions.values())
    return any(not a & b for i, a in enumerate(each) for b in each[i + 1 :])


def _word(fact: Fact) -> tuple[object, str]:
    return (fact.value, "") if fact.known else (None, fact.expression or fact.reason or "?")


def _places(facts: Iterable[Fact], first: Fact) -> tuple[Span, ...]:
    return tuple(dict.fromkeys((*first.places, *(p for f in facts for p in f.places))))


def _copy(fact: Fact, **changes: object) -> Fact:
    return replace(fact, **changes)  # type: ignore[arg-type]


def _weight(fact: Fact) -> tuple[int, bool, bool, int]:
    is_present = fact.known and (fact.value not in ABSENT or fact.field in _QUALITIES)
    return (_LAYERS.index(fact.layer), fact.known, is_present, _sure(fact))


def _sure(fact: Fact) -> int:
    """Return how much a fact counts; a guess with a reason is the most that the code shows."""
    return _SURE["certain" if fact.confidence == "guess" and fact.reason else fact.confidence]
