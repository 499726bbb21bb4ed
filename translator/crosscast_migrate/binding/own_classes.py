"""Classes of a program that derive from classes of an indexed library."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_migrate.binding.index import Entry, Index, Signature
from crosscast_reading.pysource.programs.meaning import meanings_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope

_OPENING = frozenset({"__getattr__", "__getattribute__", "__slots__", "__new__"})
"""Names in a class that make more attributes than can be listed."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A class that an object may have: of a library, or of the program and derived from such.

    `name`, `entry`: of the library's class. `own`: attributes that the program's classes define
    before it, and classes derived from them after it. `is_open`: whether it may have others.
    """

    name: str
    entry: Entry
    own: frozenset[str] = frozenset()
    is_open: bool = False

    def has(self, attribute: str, index: Index) -> bool:
        """Whether an object of it has an attribute, or may have it."""
        known = self.is_open or attribute in self.own or index.is_added(f"{self.name}.{attribute}")
        return known or index.attribute(self.entry, attribute) is not None

    def signatures(self, method: str, index: Index) -> list[Signature | None]:
        """Return how a method is called; None for a way that is not known."""
        if method in self.own:
            return [None]
        if method == "__init__":
            return index.signatures(self.entry, self.name)
        return [index.signature(self.entry, method)]


class OwnClasses:
    """Finds what the classes of a program derive from.

    A class counts if every class in its line has one base, and the last one is of the library:
    where several bases meet, what `super()` means depends on all of them.
    """

    def __init__(self, program: Program, index: Index) -> None:
        self._program = program
        self._index = index
        self._scopes = dict(_scopes_of(program))
        self._bases = {name: self._bases_of(scope) for name, scope in self._scopes.items()}
        self._below: dict[str, set[str]] = {name: set() for name in self._scopes}
        for name in self._scopes:
            for above in self._above(name):
                self._below[above].add(name)
        self._sets_by_name = any(
            _gives_any_attribute(node) for module in program.modules for node in module.nodes
        )
        self._made = {name for module in program.modules for name in _called(module)}

    def kind(self, name: str, *, exactly: bool) -> Kind | None:
        """Return the class that an object of one of the program has; None if it is not certain.

        Args:
            name: the class, as `file:qualname`.
            exactly: whether the object is known to be of this class, not of a derived one.
        """
        line = self._line(name)
        if line is None:
            return None
        own, library = line
        below = set() if exactly else self._below[name]
        related = {*own, *below, *(above for each in below for above in self._above(each))}
        if {base for each in related for base in self._bases[each]} - related - {library, "object"}:
            return None  # an object of a class below may have what another base has
        is_made = exactly or self._made & {name, *below}
        return self._kind(library, related, is_open=not is_made)

    def above(self, name: str) -> Kind | None:
        """Return the class that `super()` is in methods of a class; None if it is not certain."""
        line = self._line(name)
        meets_others = any(len(self._bases[below]) != 1 for below in self._below.get(name, ()))
        if line is None or meets_others:
            return None
        own, library = line
        return self._kind(library, own[1:])

    def derives(self, name: str) -> bool:
        """Whether a class of the program has one of the library among its bases."""
        names = {name, *self._above(name)}
        bases = {base for each in names for base in self._bases.get(each, ())}
        return any(not base or (":" not in base and self._is_indexed(base)) for base in bases)

    def constructed(self, name: str) -> Kind | None:
        """Return the class whose constructor a call of one of the program runs unchanged."""
        line = self._line(name)
        if line is None:
            return None
        own, library = line
        scopes = [self._scopes[each] for each in own]
        for scope in scopes:
            node = scope.node
            assert isinstance(node, ast.ClassDef)
            if node.decorator_list or node.keywords or {"__init__", "__new__"} & {*scope.bindings}:
                return None
        return Kind(library, self._entry(library))

    def _kind(self, library: str, own: Iterable[str], *, is_open: bool = False) -> Kind:
        scopes = [self._scopes[each] for each in own]
        defined = frozenset(name for scope in scopes for name in _defined(scope))
        is_open = is_open or self._sets_by_name or any(map(_is_open, scopes))
        return Kind(library, self._entry(library), defined, is_open=is_open)

    def _line(self, name: str) -> tuple[list[str], str] | None:
        own: list[str] = []
        while name in self._scopes and name not in own:
            own.append(name)
            bases = self._bases[name]
            if len(bases) != 1:
                return None
            name = bases[0]
        return (own, name) if own and self._is_indexed(name) else None

    def _above(self, name: str) -> Iterator[str]:
        """Yield the classes of the program that a class derives from."""
        waiting, seen = list(self._bases.get(name, ())), {name}
        while waiting:
            here = waiting.pop()
            if here in self._scopes and here not in seen:
                seen.add(here)
                yield here
                waiting += self._bases[here]

    def _bases_of(self, scope: Scope) -> tuple[str, ...]:
        """The names of the bases of a class; an empty one for each that is not known."""
        node = scope.node
        assert isinstance(node, ast.ClassDef)
        names = []
        for base in node.bases:
            meanings = meanings_of(base, scope.module)
            certain = len(meanings) == 1 and meanings[0].kind == "symbol"
            names.append(meanings[0].name if certain else "")
        return tuple(names)

    def _is_indexed(self, name: str) -> bool:
        if name.partition(".")[0] not in self._index.packages:
            return False
        entry = self._index.entry(name)
        return entry is not None and entry.kind == "class"

    def _entry(self, name: str) -> Entry:
        entry = self._index.entry(name)
        assert entry is not None
        return entry


def _scopes_of(program: Program) -> Iterator[tuple[str, Scope]]:
    """Yield the classes of a program by name; one that is written twice is not certain."""
    for module in program.modules:
        names = Counter(module.qualname(node) for node in module.every(ast.ClassDef))
        for name, node in module.classes.items():
            scope = module.scopes.get(node)
            if scope is not None and names[name] == 1:
                yield f"{module.source.name}:{name}", scope


def _defined(scope: Scope) -> Iterator[str]:
    yield from scope.bindings
    yield from scope.attributes


def _is_open(scope: Scope) -> bool:
    node = scope.node
    assert isinstance(node, ast.ClassDef)
    return bool(node.decorator_list or node.keywords or _OPENING & {*scope.bindings})


def _gives_any_attribute(node: ast.AST) -> bool:
    """`setattr(x, name, ...)`, `x.__dict__` and `vars(x)`: any attribute of any object."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id == "setattr":
        return len(node.args) != 3 or not isinstance(node.args[1], ast.Constant)
    return node.func.id == "vars" and bool(node.args)


def _called(module: Module) -> Iterator[str]:
    """Yield the classes of the program that a module makes objects of."""
    for call in module.calls:
        yield from (meaning.name for meaning in call.meanings if ":" in meaning.name)
