"""The public names of releases of libraries: what exists in them, and what can be called how.

`make_index.py` writes an index from an installed release, as JSON:

- `releases`: package to version;
- `modules`: the name of a module to its names, and each of these to the name of another module, the
  number of an object, or null for something of which no more is known. A module that an object of
  the same name hides (`paddle.tensor`) is listed, too: imports reach it;
- `objects`: classes and functions. `call` is the signature as text, null if it is not known. Of a
  class: `members`, its own public attributes with the signatures of methods; `set`, the attributes
  that its methods set; `bases`, numbers of classes; `open`, whether instances may have others;
- `unread`: modules that could not be imported there.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from crosscast.targets.source_support import load_object

_OF_FUNCTIONS = (
    "cache_clear",
    "cache_info",
    "cache_parameters",
    "dispatch",
    "register",
    "registry",
)
"""What functools gives to functions."""
_OF_CLASSES = frozenset({"members", "set", "bases", "open"})
"""Keys of objects that only classes have; a class that has nothing at all is like a function."""
_SHOWN = 2
"""Names that are offered for one that does not exist."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name of a library is.

    `opaque`: it exists, and what it has is not known. `number`: of a class or function.
    """

    kind: Literal["module", "class", "function", "opaque"]
    path: str = ""
    number: int = -1


OPAQUE = Entry("opaque")


@dataclass(frozen=True, slots=True)
class Past:
    """A name of an earlier release. `now`: where the same object is, empty if nowhere.

    `last`: the last release known to have the name; `without`: the next one that is known.
    """

    name: str
    last: str
    without: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicNames:
    """What a package knows of the names of its framework's releases."""

    file: Path
    """The index, compressed."""
    past: Path | None = None
    """The names that earlier releases had, compressed: see `make_past`."""
    added: frozenset[str] = frozenset()
    """Names that exist and are not seen: other packages add them, or the call of a class makes an
    object of another one."""
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Attributes that the objects of a class have only elsewhere, as with another backend."""
    signatures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Signatures that Python does not tell, as in an index, by the name that is called; a call must
    fit one of them."""


class Index:
    """The names of one set of releases."""

    def __init__(
        self,
        document: Mapping[str, Any],
        names: PublicNames | None = None,
        past: Mapping[str, Any] | None = None,
    ) -> None:
        self.releases: Mapping[str, str] = document["releases"]
        self._added = names.added if names else frozenset()
        self._signatures = names.signatures if names else {}
        self._modules: Mapping[str, Mapping[str, Any]] = document["modules"]
        self._objects: Sequence[Mapping[str, Any]] = document["objects"]
        self._unread: Mapping[str, str] = document["unread"]
        self._past = past or {}
        members = names.members.items() if names else ()
        places = [(self.entry(name), added) for name, added in members]
        self._members = {place.number: added for place, added in places if place is not None}

    @classmethod
    @cache
    def load(cls, place: str) -> Index:
        """Read the index of `package.module:OBJECT`, a `PublicNames`.

        Raises:
            TypeError: it is none.
        """
        names = load_object(place)
        if not isinstance(names, PublicNames):
            raise TypeError(f"{place} is no PublicNames")
        return cls(_read(names.file), names, _read(names.past) if names.past else None)

    @property
    def packages(self) -> frozenset[str]:
        """The first parts of the names that it decides about."""
        return frozenset(self.releases)

    def title(self, package: str) -> str:
        """A package with its version, for messages."""
        return f"{package} {self.releases[package].partition('+')[0]}"

    def past_names(self, package: str) -> list[str]:
        """Return the names that earlier releases of a package had and this one lacks."""
        known = self._past.get(package, {"names": {}})["names"]
        return [f"{module}.{name}" for module, names in known.items() for name in names]

    def is_added(self, name: str) -> bool:
        """Whether a name exists though it is not seen."""
        return name in self._added

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a dotted name; None if its package has no such name."""
        parts = name.split(".")
        if parts[0] not in self._modules:
            return OPAQUE
        place = Entry("module", parts[0])
        for count, part in enumerate(parts[1:], 1):
            hidden = ".".join(parts[:count])
            if place.kind == "function" and hidden in self._modules:
                place = Entry("module", hidden)
            inner = self.attribute(place, part)
            if inner is None:
                return None
            place = inner
        return place

    def may_be_module(self, name: str) -> bool:
        """Whether imports reach a module of a name that exists, as far as that is known."""
        parts = name.split(".")
        return not any(self.is_object(".".join(parts[: n + 1])) for n in range(len(parts)))

    def is_object(self, name: str) -> bool:
        """Whether a name is one of a function or class, which hides no module."""
        place = self.entry(name)
        is_object = place is not None and place.kind in ("class", "function")
        return is_object and name not in self._modules

    def is_no_attribute(self, name: str, attribute: str) -> bool:
        """Whether a name is one of a function, or of a class with nothing, without an attribute."""
        place = self.entry(name)
        if place is None or place.kind != "function" or name in self._modules:
            return False
        # Without a signature it may be an object of which no more is known.
        known = self._objects[place.number].get("call") is not None
        return known and not attribute.startswith("_") and attribute not in _OF_FUNCTIONS

    def names_in(self, name: str) -> frozenset[str] | None:
        """Return the public names in a module; None if the name is not one of a module."""
        place = self.entry(name)
        path = name if name in self._modules else place.path if place else ""
        return frozenset(self._modules[path]) if path else None

    def members(self, name: str) -> frozenset[str]:
        """Return the public attributes of the instances of a class, as far as they are listed."""
        place = self.entry(name)
        line = self._line(place.number) if place is not None and place.kind == "class" else ()
        listed = {
            name for held in line for name in (*held.get("members", ()), *held.get("set", ()))
        }
        return frozenset(name for name in listed if not name.startswith("_"))

    def attribute(self, place: Entry, name: str) -> Entry | None:
        """Return an attribute of a module or class; None if it has none of that name."""
        if place.kind == "module":
            return self._of_module(place.path, name)
        if place.kind == "class":
            return self._of_class(place.number, name)
        return OPAQUE

    def ending_like(self, name: str) -> list[str]:
        """Return names of the same package that end like a name; the shortest, two at most.

        Of a function or class, which is there, its own name alone.
        """
        if self.is_object(name):
            return [name]
        package, _, rest = name.partition(".")
        last = rest.rpartition(".")[2]
        places = [f"{path}.{last}" for path, names in self._modules.items() if last in names]
        own = [place for place in places if place.partition(".")[0] == package]
        return sorted(own, key=lambda place: (place.count("."), place))[:_SHOWN]

    def past(self, name: str) -> Past | None:
        """Return the past of a name that the release lacks; None if no release had it.

        Of a name within something that has another one by now, the new one has the rest as well.
        """
        known = self._past.get(name.partition(".")[0])
        parts = name.split(".")
        for count in range(len(parts), 1, -1) if known else ():
            module, short = ".".join(parts[: count - 1]), parts[count - 1]
            past = known["names"].get(module, {}).get(short) if known else None
            if known and past:
                last, now = past
                releases, rest = known["releases"], parts[count:]
                now = ".".join((now, *rest)) if now else ""
                here = ".".join(parts[:count])
                return Past(here, releases[last], releases[last + 1], now)
        return None

    def _of_module(self, path: str, name: str) -> Entry | None:
        full = f"{path}.{name}"
        if name.startswith("_") or full in self._unread or full in self._added:
            return OPAQUE
        names = self._modules[path]
        if name not in names:
            return None
        held = names[name]
        if isinstance(held, str):
            return Entry("module", held)
        return OPAQUE if held is None else self._object(held)

    def _object(self, number: int) -> Entry:
        is_class = _OF_CLASSES & self._objects[number].keys()
        return Entry("class" if is_class else "function", number=number)

    def _of_class(self, number: int, name: str) -> Entry | None:
        if name.startswith("_"):
            return OPAQUE
        for described in self._line(number):
            if name in described.get("members", ()) or name in described.get("set", ()):
                return OPAQUE
        if any(name in self._members.get(each, ()) for each in self._numbers(number)):
            return OPAQUE
        return OPAQUE if self.is_open(number) else None

    def _line(self, number: int) -> Iterator[Mapping[str, Any]]:
        """Yield a class and all its bases."""
        yield from map(self._objects.__getitem__, self._numbers(number))

    def _numbers(self, number: int) -> Iterator[int]:
        waiting, seen = [number], set()
        while waiting:
            here = waiting.pop(0)
            if here in seen:
                continue
            seen.add(here)
            yield here
            waiting += [base for base in self._objects[here].get("bases", ()) if base is not None]

    def is_open(self, number: int) -> bool:
        """Whether instances of a class may have attributes that are not listed."""
        return any(
            described.get("open") or None in described.get("bases", ())
            for described in self._line(number)
        )

    def signatures(self, place: Entry, name: str) -> list[Signature | None]:
        """Return the ways in which what has a dotted name is called; None is one not known."""
        if name in self._signatures:
            return [_parsed(text) for text in self._signatures[name]]
        return [self.signature(place)]

    def signature(self, place: Entry, method: str = "") -> Signature | None:
        """Return how something is called, or one of its methods; None if that is not known.

        Args:
            place: what is called, or the class of the object whose method is.
            method: of a method, its name.
        """
        if place.number < 0:
            return None
        if not method:
            return _parsed(self._objects[place.number].get("call"))
        for described in self._line(place.number):
            if method in described.get("members", ()):
                return _parsed(described["members"][method])
        return None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of something that is called."""

    positional: tuple[str, ...]
    """Those that may be given by position."""
    named: frozenset[str]
    """Those that may be given by name."""
    required: frozenset[str]
    """Those without a default."""
    takes_any_number: bool
    takes_any_name: bool

    @property
    def words(self) -> str:
        """The names of the arguments, those that may only be given by name last."""
        names = [*self.positional, *sorted(self.named - set(self.positional))]
        more = ["others"] * (self.takes_any_name or self.takes_any_number)
        return ", ".join([*names, *more])

    def refusal(self, count: int, names: Sequence[str], *, is_open: bool) -> str:
        """Say why a call does not fit; empty if it does.

        Args:
            count: the number of arguments given by position.
            names: the names of the others.
            is_open: whether there are starred arguments, which may hold any.
        """
        if not self.takes_any_name:
            for name in names:
                if name not in self.named:
                    return f"it has no argument {name}"
        if count > len(self.positional) and not self.takes_any_number:
            most = len(self.positional)
            return f"it takes {most or 'no'} argument{'s' * (most != 1)} by position, not {count}"
        by_position = set(self.positional[:count])
        twice = [name for name in names if name in by_position and name in self.named]
        if twice:
            return f"{twice[0]} is given twice"
        missing = sorted(self.required - by_position - set(names))
        if missing and not is_open:
            return f"it needs {', '.join(missing)}"
        return ""


def _read(file: Path) -> Mapping[str, Any]:
    with lzma.open(file, "rt", encoding="utf-8") as stream:
        document: Mapping[str, Any] = json.load(stream)
    return document


@cache
def _parsed(text: str | None) -> Signature | None:
    if text is None:
        return None
    words = text.split()
    positional: list[str] = []
    only_positional: list[str] = []
    named: set[str] = set()
    required: set[str] = set()
    by_position, any_number, any_name = True, False, False
    for word in words:
        name = word.rstrip("=")
        if word == "/":
            only_positional = list(positional)
        elif word.startswith("**"):
            any_name = True
        elif word.startswith("*"):
            by_position, any_number = False, word != "*"
        else:
            # After one with a default, Python lets none be without: a default that is
            # `inspect.Parameter.empty` looks like none.
            optional = word.endswith("=") or (by_position and len(required) < len(positional))
            positional += [name] if by_position else []
            named.add(name)
            required |= set() if optional else {name}
    return Signature(
        tuple(positional),
        frozenset(named - set(only_positional)),
        frozenset(required),
        any_number,
        any_name,
    )
