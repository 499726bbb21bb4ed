"""All facts of a source together, by field and subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crosscast_reading.facts.fact import Confidence, Fact, Layer

_LAYERS = list(Layer)
_SURE: dict[Confidence, int] = {"certain": 2, "likely": 1, "guess": 0}


@dataclass(frozen=True, slots=True)
class Profile:
    """The facts about one training run."""

    facts: tuple[Fact, ...]

    def all(self, field: str, subject: str | None = None) -> tuple[Fact, ...]:
        """Return all facts of a field, of one subject if it is given."""
        return tuple(
            f for f in self.facts if f.field == field and (subject is None or f.subject == subject)
        )

    def best(self, field: str, subject: str | None = None) -> Fact | None:
        """Return the fact that counts: the outermost layer, then the surest, then the first."""
        facts = self.all(field, subject)
        return max(facts, key=_weight) if facts else None

    def subjects(self, field: str) -> tuple[str, ...]:
        """Return the subjects that a field is said of, in the order of the source."""
        return tuple(dict.fromkeys(f.subject for f in self.all(field)))

    def of_file(self, name: str) -> Profile:
        """Return the facts to which one file contributes, alone or with others."""
        return Profile(tuple(f for f in self.facts if name in f.files))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)


def profile_of(facts: Iterable[Fact]) -> Profile:
    """Return the profile of facts; the same fact told twice is kept once."""
    return Profile(tuple(dict.fromkeys(facts)))


def _weight(fact: Fact) -> tuple[int, int, int]:
    return (_LAYERS.index(fact.layer), int(fact.known), _SURE[fact.confidence])
