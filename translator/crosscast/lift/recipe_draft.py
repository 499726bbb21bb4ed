"""A recipe that is being filled in: every field with its value, its places and its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from crosscast.facts.fact import Confidence, Fact
from crosscast.messages.diagnostics import Diagnostic, Severity, Span

How = Literal["source", "default", "absent", "derived", "stand_in"]
"""Where a value comes from: a source; the default of a library; no source, so it is off; arithmetic
with values of a source; no source, although a recipe requires it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One field of the recipe."""

    value: Any
    how: How = "source"
    places: tuple[Span, ...] = ()
    confidence: Confidence = "certain"
    note: str = ""
    """What else a reader of the recipe must know: `args.clip`, `default of torch 2.13.0`."""


@dataclass(slots=True)
class Draft:
    """The fields so far, by their path in the recipe, and facts that a recipe cannot express."""

    fields: dict[str, Filled] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)
    unread: str = ""
    """A program that the sources start but that was not given: none of its settings is absent."""
    unknown: Mapping[str, Fact] = field(default_factory=dict)
    """Fields that a source sets to something that cannot be known: no default holds for them."""

    def put(self, path: str, value: Any, fact: Fact | None = None, **more: Any) -> None:
        """Fill a field; `fact` gives places and confidence."""
        filled = of_fact(value, fact) if fact is not None else Filled(value=value)
        self.fields[path] = replace(filled, **more)

    def default(self, path: str, value: Any, note: str) -> None:
        """Fill a field with a library's default; never override a source."""
        if path in self.unknown:
            self._unsaid(path, value)
        elif path not in self.fields:
            self.fields[path] = Filled(value=value, how="default", note=note)

    def stand_in(self, path: str, value: Any, note: str) -> None:
        """Fill a field that no source speaks of and that a recipe needs; never over a source."""
        if path not in self.fields:
            self.fields[path] = Filled(value=value, how="stand_in", note=note)

    def absent(self, path: str, value: Any, note: str) -> None:
        """Fill a field with the word for nothing, because no source has it."""
        if self.unread:
            self.stand_in(path, value, f"{self.unread} was not read")
        elif path in self.unknown:
            self._unsaid(path, value)
        elif path not in self.fields:
            self.fields[path] = Filled(value=value, how="absent", note=note)

    def _unsaid(self, path: str, value: Any) -> None:
        """Fill a field that a source sets to an unknown value."""
        fact = self.unknown[path]
        note = f"{fact.expression or 'it'} is not known"
        if path not in self.fields:
            self.fields[path] = Filled(value=value, how="stand_in", places=fact.places, note=note)

    def note(
        self, code: str, path: str, message: str, fact: Fact | None = None, hint: str = ""
    ) -> None:
        """Keep a warning about a field."""
        span = fact.places[0] if fact is not None and fact.places else None
        self.notes.append(
            Diagnostic(
                code=code,
                path=path,
                message=message,
                severity=Severity.WARNING,
                span=span,
                hint=hint,
            )
        )

    def value(self, path: str) -> Any:
        """Return the value of a field, None if it is not filled."""
        found = self.fields.get(path)
        return found.value if found else None

    def has(self, beginning: str) -> bool:
        """Whether a field is filled whose path begins like this."""
        return any(path.startswith(beginning) for path in self.fields)

    def without(self, *beginnings: str) -> None:
        """Drop all fields with this path prefix."""
        for path in [p for p in self.fields if p.startswith(beginnings)]:
            del self.fields[path]

    def nested(self) -> dict[str, Any]:
        """Return the fields as a recipe has them."""
        return nested({path: filled.value for path, filled in self.fields.items()})


def of_fact(value: Any, fact: Fact) -> Filled:
    """Return a field with the places of a fact."""
    note = fact.expression if fact.expression and fact.expression != str(value) else ""
    return Filled(value=value, places=fact.places, confidence=fact.confidence, note=note)


def nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted paths as nested dictionaries; parts that are numbers make lists."""
    result: dict[str, Any] = {}
    for path, value in fields.items():
        *parents, last = path.split(".")
        place = result
        for part in parents:
            place = place.setdefault(part, {})
        place[last] = value
    return {name: _lists(value) for name, value in result.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return list(value) if isinstance(value, tuple) else value
    parts = {name: _lists(part) for name, part in value.items()}
    if parts and all(name.isdigit() for name in parts):
        return [parts[name] for name in sorted(parts, key=int)]
    return parts
