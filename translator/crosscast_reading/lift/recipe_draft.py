"""A recipe that is being filled in: every field with its value, its places and its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.numbers import nearby
from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.lift.library_defaults import Found, Library
from crosscast_reading.lift.loop_coverage import Aspect, Coverage

How = Literal["read", "derived", "default", "assumed"]
"""The four kinds of values. Read: a source says it, at a place (also that there is nothing: a loop
that was understood and does not clip). Derived: computed from places of a source. Default: of a
library, in a version. Assumed: no source says it, and a recipe needs it (FILL IN)."""
KINDS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One field of the recipe."""

    value: Any
    how: How = "read"
    places: tuple[Span, ...] = ()
    confidence: Confidence = "certain"
    note: str = ""
    """What else a reader of the recipe must know: `args.clip`, `default of torch 2.13.0`."""
    nothing: bool = False
    """Whether it was read that the source does nothing of the kind."""


@dataclass(slots=True)
class Draft:
    """The fields so far, by their path in the recipe, and facts that a recipe cannot express."""

    fields: dict[str, Filled] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    """What the training loop shows by not doing it."""
    library: Library = field(default_factory=Library)
    """Defaults of the library that runs the loop."""
    unknown: Mapping[str, Fact] = field(default_factory=dict)
    """Fields that a source sets to something that cannot be known: no default holds for them."""
    direct: frozenset[str] = frozenset()
    """Fields that a source names as the recipe does, as emitted scripts do: nothing that is read
    of the loop replaces them."""

    def put(self, path: str, value: Any, fact: Fact | None = None, **more: Any) -> None:
        """Fill a field; `fact` gives places and confidence."""
        if path in self.direct:
            return
        filled = self._of_fact(value, fact) if fact is not None else Filled(value=value)
        self.fields[path] = replace(filled, **more)

    def _of_fact(self, value: Any, fact: Fact) -> Filled:
        if fact.origin != "library_default":
            return of_fact(value, fact)
        note = self.library.label or "default of the library"
        return Filled(
            value=value, how="default", places=fact.places, confidence="likely", note=note
        )

    def assume(
        self,
        path: str,
        value: Any,
        note: str = "",
        fact: Fact | None = None,
        *,
        places: tuple[Span, ...] = (),
    ) -> None:
        """Fill a field with a value that no source says: it is left to the user."""
        if path in self.direct:
            return
        at = places or (fact.places if fact is not None else ())
        self.fields[path] = Filled(
            value=value, how="assumed", places=at, confidence="guess", note=note
        )

    def stand_in(
        self, path: str, value: Any, note: str = "", *, places: tuple[Span, ...] = ()
    ) -> None:
        """Assume a value for a field that is not filled."""
        if path not in self.fields:
            self.assume(path, value, note, places=places)

    def default(self, path: str, value: Any, source: Found) -> None:
        """Fill a field with a library's default; never override a source."""
        if path in self.fields:
            return
        if path in self.unknown:
            self._unsaid(path, value)
        else:
            confidence: Confidence = "certain" if source.certain else "likely"
            note = source.label
            self.fields[path] = Filled(value=value, how="default", confidence=confidence, note=note)

    def nothing(self, path: str, value: Any, aspect: Aspect, note: str) -> None:
        """Fill a field with the word for nothing, because no source has it.

        It is the default of the library that runs the loop, or read from a loop that was
        understood; otherwise it is left to the user.

        Args:
            path: The field.
            value: The word for nothing.
            aspect: What the loop does not do.
            note: The same in words.
        """
        if path in self.fields:
            return
        shown = self.coverage.of(aspect)
        if path in self.unknown:
            self._unsaid(path, value)
        elif path in self.library.values:
            self.default(path, self.library.values[path], self.library)
        elif shown.seen:
            self.assume(path, value, shown.seen, places=shown.places)
        else:
            self.fields[path] = Filled(
                value=value,
                places=shown.places,
                confidence=shown.confidence,
                note=note,
                nothing=True,
            )

    def _unsaid(self, path: str, value: Any) -> None:
        """Fill a field that a source sets to an unknown value."""
        fact = self.unknown[path]
        self.assume(path, value, f"{fact.expression or 'it'} is not known", fact)

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

    def is_assumed(self, path: str) -> bool:
        """Whether a field is filled with a value that no source says."""
        filled = self.fields.get(path)
        return filled is not None and filled.how == "assumed"

    def value(self, path: str) -> Any:
        """Return the value of a field, None if it is not filled."""
        filled = self.fields.get(path)
        return filled.value if filled else None

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
    how: How = "derived" if fact.origin == "derived" else "read"
    if how == "derived" and isinstance(value, float):
        value = nearby(value)
    if fact.confidence == "guess":
        how, note = "assumed", ", ".join(filter(None, (note, fact.reason or "a guess")))
    return Filled(value=value, how=how, places=fact.places, confidence=fact.confidence, note=note)


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
