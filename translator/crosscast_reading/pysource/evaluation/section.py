"""Sections of settings: dictionaries whose entries are read as attributes, too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from crosscast_reading.pysource.machine.frames import Closure, Variables
from crosscast_reading.pysource.values.value import Known, Unknown, Value

ANYWHERE = "it may be set where that cannot be read"
COPIES = frozenset({"copy.copy", "copy.deepcopy"})
"""Functions of Python that copy settings."""
MISSING = object()
"""Stands for an entry that is not there."""
_SETTINGS = ("ConfigDict", "FrozenConfigDict")
_Join = Callable[[str, object, object], object]


class Section(dict[Any, Any]):
    """A `ConfigDict`, or a plain dictionary.

    Args:
        content: its entries.
        merges: whether `update` changes the sections within it entry by entry.
    """

    __slots__ = ("is_open", "merges")

    def __init__(self, content: Any = (), *, merges: bool = False) -> None:
        super().__init__(content)
        self.merges = merges
        self.is_open = False
        """Whether it may have entries besides those that are known."""

    def entry(self, key: object, text: str) -> Any:
        """Return an entry, or why it has no value."""
        if key in self:
            return self[key]
        reason = ANYWHERE if self.is_open else f"the configuration has no {key!r}"
        return Unknown(text, reason, "config", names=(text,))

    def put(self, key: object, value: object) -> None:
        """Set an entry; settings keep their floats, and get a copy of a plain dictionary."""
        if self.merges and type(value) is int and type(self.get(key)) is float:
            value = float(value)
        if self.merges and isinstance(value, dict) and not getattr(value, "merges", False):
            value = settings_of(value)
        self[key] = value

    def update_with(self, content: dict[Any, Any]) -> None:
        """Set entries as `update` does."""
        for key, value in content.items():
            held = self.get(key)
            if self.merges and isinstance(held, Section) and isinstance(value, dict):
                held.update_with(value)
            else:
                self.put(key, value)
        self.is_open = self.is_open or (isinstance(content, Section) and content.is_open)

    def lose(self) -> None:
        """Forget all entries: something may have changed them."""
        self.is_open = True
        for key, value in self.items():
            if isinstance(value, Section):
                if not value.is_open or any(not isinstance(e, Unknown) for e in value.values()):
                    value.lose()
            else:
                self[key] = Unknown(str(key)[:200], ANYWHERE, "config", names=(str(key)[:200],))


def makes_settings(name: str) -> bool:
    """Whether a qualified name is that of ml_collections' class of settings."""
    return name.startswith("ml_collections.") and name.rpartition(".")[2] in _SETTINGS


def settings_of(content: dict[Any, Any]) -> Section:
    """Return a copy whose sections are settings."""
    made = Section(merges=True)
    made.update_with(content)
    return made


def made_by(name: str, given: Sequence[Any], named: Mapping[str, Any]) -> Section:
    """Return the settings that `ConfigDict(...)` makes, or the dictionary of `dict(...)`."""
    made = Section(merges=name != "dict")
    for content in given[:1]:
        if isinstance(content, dict):
            made.update_with(content)
        elif content is not None:
            made.is_open = True
    if name == "dict":
        made.update_with(dict(named))
    return made


def nested(flat: Mapping[Any, Any]) -> Section:
    """Return `{"a.b": 1}` as sections."""
    made = Section()
    for key, value in flat.items():
        *outer, last = str(key).split(".")
        here = made
        for part in outer:
            here = here.setdefault(part, Section())
        here[last] = value
    return made


def copied(value: object) -> Any:
    """Return a copy with copies of all sections and lists in it."""
    if isinstance(value, Section):
        made = Section({key: copied(part) for key, part in value.items()}, merges=value.merges)
        made.is_open = value.is_open
        return made
    if isinstance(value, dict):
        return Section({key: copied(part) for key, part in value.items()})
    return [copied(part) for part in value] if isinstance(value, list) else value


def section_of(value: Value) -> Any:
    """Return the content of a value that holds in every run, with its dictionaries as sections."""
    return copied(value.value) if isinstance(value, Known) and not value.flag else value


class Kept:
    """What a frame and all that can be reached from it held at one point.

    Args:
        frame: the innermost one.
        before: an earlier point; what it held is kept here, too.
    """

    def __init__(self, frame: Variables, before: Kept | None = None) -> None:
        holders = [*_holders([frame])]
        if before is not None:
            holders += [holder for holder, _ in before._held.values()]
        self._held: dict[int, tuple[Any, Any]] = {
            id(holder): (holder, _content(holder)) for holder in holders
        }
        self._open = {
            key: holder.is_open
            for key, (holder, _) in self._held.items()
            if isinstance(holder, Section)
        }

    @property
    def size(self) -> int:
        """How many entries it keeps."""
        return sum(len(content) for _, content in self._held.values())

    def restore(self) -> None:
        """Put everything back."""
        for key, (holder, content) in self._held.items():
            _fill(holder, content)
            if isinstance(holder, Section):
                holder.is_open = self._open[key]

    def join(self, other: Kept, join: _Join) -> None:
        """Put back what this point and another one agree on; `join` says what else is there."""
        for key, (holder, content) in self._held.items():
            if key not in other._held:
                continue
            there = other._held[key][1]
            if isinstance(holder, list):
                is_same = same_content(content, there)
                _fill(holder, content if is_same else [join("", content, there)])
                continue
            names = dict.fromkeys((*content, *there))
            _fill(
                holder,
                {n: joined(n, content.get(n, MISSING), there.get(n, MISSING), join) for n in names},
            )
            if isinstance(holder, Section):
                holder.is_open = self._open[key] or other._open[key]


def joined(name: object, one: object, two: object, join: _Join) -> object:
    """Return the value of a name or entry that has one of two."""
    if one is two or same_content(one, two):
        return one
    if isinstance(one, Section) and isinstance(two, Section):
        names = dict.fromkeys((*one, *two))
        made = Section(
            {n: joined(n, one.get(n, MISSING), two.get(n, MISSING), join) for n in names},
            merges=one.merges and two.merges,
        )
        made.is_open = one.is_open or two.is_open
        return made
    return join(str(name), one, two)


def same_content(one: object, two: object) -> bool:
    """Whether two values are the same and cannot be told apart; never for sections."""
    if isinstance(one, Section) or isinstance(two, Section):
        return one is two
    if isinstance(one, list | tuple) and type(one) is type(two) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(same_content, one, two))
    return type(one) is type(two) and one == two


def _content(holder: Any) -> Any:
    return list(holder) if isinstance(holder, list) else dict(holder)


def _fill(holder: Any, content: Any) -> None:
    holder.clear()
    if isinstance(holder, list):
        holder.extend(content)
    else:
        holder.update(content)


def _holders(values: Iterable[object]) -> Iterator[Any]:
    """Yield the sections and lists that values reach; frames also reach those around them."""
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        here = waiting.pop()
        if isinstance(here, Closure):
            waiting += [here.frame, *here.given, *here.named.values()]
        if isinstance(here, Variables):
            waiting.append(here.parent)
            here = here.names
        if isinstance(here, tuple):
            waiting += here
        if not isinstance(here, dict | list) or id(here) in seen:
            continue
        seen.add(id(here))
        yield here
        parts: Iterable[object] = here.values() if isinstance(here, dict) else here
        waiting += parts


def lose_all(*values: object) -> None:
    """Forget what is reached from values that something may have changed."""
    for holder in list(_holders(values)):
        if isinstance(holder, Section):
            holder.lose()


def is_computed(node: ast.expr, frame: Variables) -> bool:
    """Whether the computed code itself makes a value."""
    match node:
        case ast.Name(id=name):
            return frame.find(name) is not None
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return is_computed(inner, frame)
        case ast.Call(func=ast.Name()):
            return True
        case ast.Call(func=inner):
            return is_computed(inner, frame)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.List | ast.Dict)
