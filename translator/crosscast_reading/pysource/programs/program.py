"""A program: its modules, calls and flags, and the questions that can be asked of it.

Names, containers and values of a program depend on each other, so none of the rooms that find
them comes first. They ask the program; `project.py` puts it together from all of them.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast_reading.pysource.libraries import public_names, signatures
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.programs.meaning import Meaning
from crosscast_reading.pysource.programs.memo import Memo, Progress
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.scopes import Binding, Scope
from crosscast_reading.pysource.values.value import Value

if TYPE_CHECKING:
    from crosscast_reading.facts.command import Command

Documents = Callable[[str, bool, bool], Mapping[str, object] | None]
"""Takes the name of a file, whether its loader reads `1e-6` as a number, and whether Hydra composes
it; returns nested mappings of values, None if no such file is given."""
_KNOWN_NAMES = frozenset(signatures.known_names())


class Program(ABC):
    """All modules of one program. Everything beyond parsing is found when it is asked for."""

    meanings: Memo[Module, tuple[Meaning, ...]]
    entries: Memo[Module, Sequence[Binding]]
    values: Memo[Module, Value]

    def __init__(
        self,
        modules: Sequence[Module],
        launch: Command | None = None,
        versions: Mapping[str, str] | None = None,
        settings: Mapping[str, Value] | None = None,
        documents: Documents | None = None,
    ) -> None:
        self.modules: tuple[Module, ...] = tuple(modules)
        self.launch = launch
        """The command that starts it; its flags win over defaults."""
        self.versions: dict[str, str] = dict(versions or {})
        """Package (`torch`, `transformers`) and version, as requirements or the user say."""
        self.settings: dict[str, Value] = dict(settings or {})
        """`function.parameter` and the value that a file for gin binds to it."""
        self.documents = documents
        """What gives the content of a configuration file that the program loads."""
        self.progress = Progress()
        self.known_names = _KNOWN_NAMES
        self.kept: dict[object, Any] = {}
        """What was looked up in it: see `once`."""
        self._flags: dict[str, Flag] | None = None
        self._finding_flags = False
        self._all_flags: tuple[Flag, ...] = ()
        self._by_name: dict[str, list[Call]] | None = None
        self._by_file = {m.source.name: m for m in reversed(self.modules)}
        for module in self.modules:
            module.program = self

    # ---- calls

    def calls(self, *names: str) -> Iterator[Call]:
        """Yield the calls of all modules, of some names if they are given.

        A name matches what it names exactly; one that ends with `.` or `*` every name that begins
        with the rest; one that begins with a dot or `*` every name that ends with the rest.
        """
        if not names:
            for module in self.modules:
                yield from module.calls
            return
        matches: dict[Call, None] = {}
        index = self._calls_by_name()
        for name in names:
            if not _is_pattern(name):
                matches.update(dict.fromkeys(index.get(public_names.same_name(name), ())))
                continue
            start = public_names.same_name(name.rstrip("*")) if name.endswith((".", "*")) else ""
            end = name.lstrip("*") if name.startswith((".", "*")) else ""
            for full, calls in index.items():
                if (start and full.startswith(start)) or (end and full.endswith(end)):
                    matches.update(dict.fromkeys(calls))
        if len(names) == 1 and not _is_pattern(names[0]):
            yield from matches
            return
        place = {module: number for number, module in enumerate(self.modules)}
        yield from sorted(matches, key=lambda c: (place[c.module], *_position(c.node)))

    def _calls_by_name(self) -> dict[str, list[Call]]:
        """Return the calls of each name; a call with several names is there several times."""
        if self._by_name is not None:
            return self._by_name
        index: dict[str, list[Call]] = {}
        for module in self.modules:
            for call in module.calls:
                for name in dict.fromkeys(map(public_names.same_name, call.names)):
                    index.setdefault(name, []).append(call)
        if self.progress.settled:
            self._by_name = index
        return index

    def function(self, call: Call) -> tuple[Module, Function] | None:
        """Return the function of the program that a call runs; `forward` of a model called."""
        for name in call.names:
            callee = self.function_named(name)
            if callee is not None:
                return callee
            if name.endswith(".__call__"):
                forward = self.function_named(f"{name[: -len('.__call__')]}.forward")
                if forward is not None:
                    return forward
        return None

    @abstractmethod
    def constructor(self, call: Call) -> tuple[Module, Function] | None:
        """Return the `__init__` that a call of a class of the program runs."""

    @abstractmethod
    def calls_written(self, word: str) -> Sequence[tuple[int, int]]:
        """Return the places of the calls of `word` or `x.word`: number of the module, in it."""

    @abstractmethod
    def call_sites(self, module: Module, function: Function) -> tuple[Call, ...]:
        """Return the calls of a function of the program, `Class(...)` for its `__init__`."""

    # ---- names

    @property
    def flags(self) -> dict[str, Flag]:
        """All flags, by the name that the program reads them by."""
        if self._flags is None:
            if self._finding_flags:
                self.progress.cuts += 1
                return {}
            self._finding_flags = True
            self.progress.begin()
            try:
                self._all_flags = tuple(self.find_flags())
            finally:
                self._finding_flags = False
                self.progress.end()
            self._flags = {}
            for flag in self._all_flags:
                self._flags.setdefault(flag.dest, flag)
        return self._flags

    @property
    def all_flags(self) -> tuple[Flag, ...]:
        """All flags, including flags that share a name."""
        _ = self.flags
        return self._all_flags

    def has_flag(self, dest: str) -> bool:
        """Whether a flag of this name is defined anywhere."""
        return dest in self.flags

    def is_flag_owner(self, name: str) -> bool:
        """Whether a class or function of the program is filled from the command line."""
        return any(f.owner == name for f in self.all_flags)

    def flag_named(self, dest: str, module: Module, owner: str = "") -> Flag | None:
        """Return the flag that a module reads; one of its own first; None if several differ."""
        flags = [f for f in self.all_flags if f.dest == dest]
        if owner:
            flags = [f for f in flags if f.owner == owner]
        own = [f for f in flags if f.module is module] or flags
        first = own[0] if own else None
        return first if all(f.default == own[0].default for f in own) else None

    def version_of(self, name: str) -> str:
        """Return the version of the package that a qualified name belongs to; empty: unknown."""
        head = name.partition(".")[0]
        package = public_names.PACKAGE_OF.get(head, head)
        return self.versions.get(package, self.versions.get(head, ""))

    @abstractmethod
    def find_module(self, dotted: str, importer: Module) -> Module | None:
        """Return the module of the program that an import in a module means."""

    @abstractmethod
    def global_bindings(self, target: str, importer: Module) -> Sequence[Binding]:
        """Return the assignments to what `from a import b` (`a.b`) brings from the program."""

    @abstractmethod
    def members(self, module: Module, name: str) -> tuple[Meaning, ...]:
        """Return the meanings of a global name of a module."""

    @abstractmethod
    def attribute_of(
        self, base: Meaning, name: str, use: ast.AST | None = None
    ) -> Iterator[Meaning]:
        """Yield the meanings of an attribute of something."""

    def function_named(self, name: str) -> tuple[Module, Function] | None:
        """Return the function that a name `file:qualname` means."""
        file, _, qualname = name.rpartition(":")
        module = self._by_file.get(file)
        function = module.functions.get(qualname) if module is not None else None
        return (module, function) if module is not None and function is not None else None

    def class_named(self, name: str) -> Scope | None:
        """Return the scope of the class that a name `file:qualname` means."""
        file, _, qualname = name.rpartition(":")
        module = self._by_file.get(file)
        node = module.classes.get(qualname) if module is not None else None
        return module.scopes.get(node) if module is not None and node is not None else None

    # ---- classes

    @abstractmethod
    def bases(self, scope: Scope) -> tuple[Meaning, ...]:
        """Return instances of the direct bases of a class."""

    @abstractmethod
    def library_base(self, scope: Scope) -> str:
        """Return the first base of a class that is of a library, also of a base; else empty."""

    def has_attribute(self, scope: Scope, name: str) -> bool:
        """Whether a class or a base in the program assigns to an attribute or defines a method."""
        return bool(self.attribute_bindings(scope, name, None))

    @abstractmethod
    def attribute_bindings(self, scope: Scope, name: str, use: ast.AST | None) -> Sequence[Binding]:
        """Return the assignments to an attribute of instances of a class."""

    @abstractmethod
    def field_given(
        self, scope: Scope, name: str, call: ast.Call, module: Module
    ) -> Binding | None:
        """Return the argument that a call gives for a field of a dataclass."""

    @abstractmethod
    def parameters_of(self, name: str) -> tuple[str, ...]:
        """Return the positional parameters of a function or class of the program."""

    @abstractmethod
    def arguments_for(self, binding: Binding) -> Sequence[tuple[ast.expr, Module]]:
        """Return the arguments that calls pass for a parameter; defaults are not among them."""

    # ---- what only the rooms above can find

    @abstractmethod
    def find_flags(self) -> Iterator[Flag]:
        """Yield the flags that the program defines."""

    @abstractmethod
    def unpacked(
        self, node: ast.expr, module: Module
    ) -> Iterator[tuple[str | None, ast.expr | None]]:
        """Yield the entries that a call unpacks with `**`; None for unknown ones."""


def _position(node: ast.Call) -> tuple[int, int, int, int]:
    """Return the sort key of calls: their start, outer ones first."""
    return (
        node.lineno,
        node.col_offset,
        -(node.end_lineno or 0),
        -(node.end_col_offset or 0),
    )


def _is_pattern(name: str) -> bool:
    return name.endswith((".", "*")) or name.startswith((".", "*"))
