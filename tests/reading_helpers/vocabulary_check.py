"""Facts are in the words of the vocabulary: what is in other words, `lift` does not see."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.facts.vocabulary import NUMBER, TEXT, VOCABULARY
from crosscast_reading.lift.drafting import DIRECT
from crosscast_reading.lift.precedence import words


def check_words(facts: Iterable[Fact], *, numbers: bool = False) -> None:
    """Fail for a field or a word that the vocabulary does not have.

    Args:
        facts: what a reader said.
        numbers: also fail for text in place of a number, which only programs may have: the default
            of an argument, such as `loss_scale="dynamic"`.
    """
    for fact in facts:
        if fact.field.startswith(DIRECT):
            continue
        entry = VOCABULARY[fact.field]
        if not fact.known or fact.value is None or entry.values == TEXT:
            continue
        if entry.values == NUMBER:
            assert not numbers or isinstance(fact.value, int | float), fact
        else:
            assert {*words(fact.value)} <= {*entry.values}, fact
            assert entry.many or not isinstance(fact.value, tuple), fact


def check_once(facts: Iterable[Fact]) -> None:
    """Fail for a field that a configuration says twice, of two entries for one thing."""
    told: dict[object, Fact] = {}
    for fact in facts:
        many = fact.field == "api" or (fact.field in VOCABULARY and VOCABULARY[fact.field].many)
        if fact.layer is Layer.CONFIG and fact.files and not many:
            key = (fact.field, fact.subject, fact.reader, fact.files[0], fact.under)
            assert told.setdefault(key, fact) is fact, (told[key], fact)
