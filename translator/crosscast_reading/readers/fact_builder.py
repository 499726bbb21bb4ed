"""Build facts from values of expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crosscast.messages.diagnostics import Span
from crosscast.messages.numbers import nearby
from crosscast_reading.facts.fact import Confidence, Fact, Layer, Plain, PlainValue
from crosscast_reading.facts.vocabulary import NUMBER, VOCABULARY
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value


def fact_of(
    field: str,
    value: Value,
    *places: Span,
    subject: str = "",
    layer: Layer = Layer.SCRIPT,
    under: tuple[str, ...] = (),
    confidence: Confidence = "certain",
    reader: str = "",
    convert: Callable[[object], PlainValue] | None = None,
) -> Fact:
    """Return the fact that a field has the value of an expression.

    Args:
        field: of the vocabulary.
        value: as `evaluate` returns it; what is not plain data becomes an expression.
        places: where it stands.
        subject: see `Fact`.
        layer: see `Fact`.
        under: see `Fact`.
        confidence: see `Fact`.
        reader: name of the reader.
        convert: from the value in the source to the word of the vocabulary.
    """
    fact = Fact(
        field=field,
        subject=subject,
        places=places,
        layer=layer,
        under=under,
        confidence=confidence,
        reader=reader,
        known=False,
    )
    match value:
        case Known(value=plain, origin=origin, flag=flag):
            shown = convert(plain) if convert else _plain(plain)
            if isinstance(shown, float) and _is_computed(shown, origin, places):
                shown = nearby(shown)
            return _with(fact, value=shown, known=True, origin=origin, expression=flag)
        case Unknown(text=text, reason=reason, origin=origin, default=default, has_default=given):
            if given:
                shown = convert(default) if convert else _plain(default)
                return _with(fact, value=shown, known=True, origin=origin, expression=text)
            return _with(fact, expression=text, reason=reason, origin=origin)
        case Symbol(name=name) if convert is None and VOCABULARY[field].values == NUMBER:
            return _with(fact, expression=name, reason="set in another file", origin="config")
        case Symbol(name=name):
            shown = convert(name) if convert else name
            return _with(fact, value=shown, known=True, origin="constant")
        case Choice(options=options):
            words = " or ".join(f"{_words(option)} if {condition}" for condition, option in options)
            return _with(fact, expression=words, reason="it depends on a condition")
        case Instance(made_by=name):
            return _with(fact, expression=name, reason=f"the result of a call of {name}")


def _is_computed(value: float, origin: str, places: tuple[Span, ...]) -> bool:
    """Whether a number is the result of a computation and is not written in the source."""
    if origin == "literal":
        return bool(places) and not any(repr(value) in place.text for place in places)
    return origin == "derived"


def _with(fact: Fact, **changes: object) -> Fact:
    return replace(fact, **changes)  # type: ignore[arg-type]


def _plain(value: object) -> PlainValue:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        parts: list[Plain] = []
        for item in value:
            if not (item is None or isinstance(item, bool | int | float | str)):
                return str(value)
            parts.append(item)
        return tuple(parts)
    return str(value)


def _words(value: Value) -> str:
    match value:
        case Known(value=plain):
            return str(plain)
        case Symbol(name=name):
            return name
        case Unknown(text=text):
            return text
        case _:
            return "something else"
