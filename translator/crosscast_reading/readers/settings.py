"""What readers of flags and configurations share: settings as written, and their facts."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_reading.facts.fact import Confidence, Fact, Layer, Origin, PlainValue

_NUMBER = re.compile(r"[-+]?(\d[\d_]*+(?:\.\d*+)?|\.\d++)([eE][-+]?\d+)?")
_TRUE = frozenset({"true", "t", "1", "yes", "y", "on"})
_FALSE = frozenset({"false", "f", "0", "no", "n", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One name with its value: a flag of a command, a key of a configuration."""

    name: str
    value: PlainValue = None
    known: bool = True
    reason: str = ""
    """Why the value is not known."""
    places: tuple[Span, ...] = ()
    origin: Origin = "literal"
    under: tuple[str, ...] = ()

    @property
    def number(self) -> int | float | None:
        """The value as a number, also of text such as `2e-5`; None if it is none."""
        return number_of(self.value) if self.known else None

    @property
    def switch(self) -> bool | None:
        """The value as a boolean, also of text such as `true`; None if it is none."""
        return switch_of(self.value) if self.known else None

    @property
    def text(self) -> str:
        """The value as text, empty if there is none."""
        return "" if self.value is None or not self.known else str(self.value)


def number_of(value: object) -> int | float | None:
    """Return a number or the number that a text spells, None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if abs(value) <= sys.float_info.max else None
    if not isinstance(value, str) or len(value) > 40 or not _NUMBER.fullmatch(value.strip()):
        return None
    text = value.strip().replace("_", "")
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else number


def switch_of(value: object) -> bool | None:
    """Return a text or number as a boolean, None if it is none."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in _TRUE else False if word in _FALSE else None


@dataclass(slots=True)
class Settings:
    """Settings by name; `-` and `_` in names are the same."""

    entries: dict[str, Setting] = field(default_factory=dict)

    def add(self, setting: Setting) -> None:
        """Keep a setting; a later one of the same name wins, as in argparse."""
        self.entries[normal(setting.name)] = setting

    def get(self, *names: str) -> Setting | None:
        """Return the first of these settings that is present."""
        for name in names:
            if (setting := self.entries.get(normal(name))) is not None:
                return setting
        return None

    def having(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of the names that are set."""
        return frozenset(name for name in names if normal(name) in self.entries)

    def is_on(self, *names: str) -> bool:
        """Return whether the first of these settings that is present is true."""
        setting = self.get(*names)
        return setting is not None and setting.switch is True

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: str) -> bool:
        return normal(name) in self.entries


def normal(name: str) -> str:
    """Return a name without leading dashes, with `_` for `-`."""
    return name.lstrip("-").replace("-", "_")


@dataclass(slots=True)
class SettingWriter:
    """Collects the facts that the settings of a source state."""

    reader: str
    layer: Layer = Layer.CONFIG
    confidence: Confidence = "certain"
    subject: str = ""
    under: tuple[str, ...] = ()
    home: tuple[Span, ...] = ()
    """Places of facts that follow from the source as a whole."""
    facts: list[Fact] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)

    def tell(
        self,
        name: str,
        value: PlainValue,
        *settings: Setting | None,
        origin: Origin | None = None,
        expression: str = "",
        confidence: Confidence | None = None,
        subject: str | None = None,
    ) -> None:
        """Record that a field has a value, with the settings that determine it."""
        given = [setting for setting in settings if setting is not None]
        places = _places(given)
        if not places and origin != "library_default":
            places = self.home
        self.facts.append(
            Fact(
                field=name,
                value=value,
                expression=expression,
                subject=self.subject if subject is None else subject,
                places=places,
                layer=self.layer,
                origin=origin or _origin(given),
                confidence=confidence or self.confidence,
                under=tuple(
                    dict.fromkeys((*self.under, *(c for setting in given for c in setting.under)))
                ),
                reader=self.reader,
            )
        )

    def unknown(self, name: str, reason: str, *settings: Setting | None, text: str = "") -> None:
        """Record that these settings determine a field, but its value is not known."""
        self.tell(name, None, *settings, confidence="likely", expression=text)
        self.facts[-1] = replace(self.facts[-1], known=False, reason=reason)

    def number(self, name: str, setting: Setting | None, factor: float = 1) -> None:
        """Record the number of a setting as a field, if it is set and not null."""
        if setting is None or (setting.known and setting.value is None):
            return
        value = setting.number
        if value is None:
            text = setting.text
            reason = setting.reason or f"{setting.name} is {text!r}, which is not a number"
            self.unknown(name, reason, setting, text=text)
        else:
            self.tell(name, value if factor == 1 else value * factor, setting)

    def switch(self, name: str, setting: Setting | None, on: str = "yes", off: str = "no") -> None:
        """Record what a setting switches on or off, if it is set and says which."""
        if setting is not None and setting.switch is not None:
            self.tell(name, on if setting.switch else off, setting)

    def default(self, name: str, value: PlainValue, subject: str | None = None) -> None:
        """Record a default of the library."""
        self.tell(name, value, origin="library_default", confidence="likely", subject=subject)
        self.facts[-1] = replace(self.facts[-1], layer=Layer.LIBRARY)

    def by_library(self, *names: str) -> None:
        """Record that the library takes care of these fields."""
        for name in names:
            self.tell(name, "library", origin="presence")

    def warn(
        self,
        code: str,
        message: str,
        place: Setting | Span | None = None,
        *,
        hint: str = "",
        severity: Severity = Severity.WARNING,
    ) -> None:
        """Report a setting that is not understood or contradictory."""
        span = place if isinstance(place, Span) else None
        if isinstance(place, Setting) and place.places:
            span = place.places[0]
        self.diagnostics.append(
            Diagnostic(code=code, message=message, severity=severity, span=span, hint=hint)
        )

    def mention(self, path: str) -> None:
        """Keep the path of another file that this one refers to."""
        if path and path not in self.mentions:
            self.mentions.append(path)


def settings_of(entries: Mapping[str, Setting]) -> Settings:
    """Return settings from a mapping by name."""
    return Settings({normal(name): entry for name, entry in entries.items()})


def _places(settings: Iterable[Setting]) -> tuple[Span, ...]:
    places: dict[tuple[str, int], Span] = {}
    for setting in settings:
        for place in setting.places:
            places.setdefault((place.file, place.line), place)
    return tuple(places.values())


def _origin(settings: list[Setting]) -> Origin:
    if not settings:
        return "presence"
    if len(settings) == 1 or all(setting.origin == settings[0].origin for setting in settings):
        return settings[0].origin
    return "derived"
