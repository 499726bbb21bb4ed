"""Python files read together: modules that import each other, their flags, the launch command."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast.pysource.calls import signatures
from crosscast.pysource.calls.arguments import Call
from crosscast.pysource.flags.definitions import flags_of
from crosscast.pysource.module import Function, Module
from crosscast.pysource.names import call_sites as sites
from crosscast.pysource.names import classes, libraries, module_links, resolution
from crosscast.pysource.names.lookup import Meaning
from crosscast.pysource.names.memo import Memo
from crosscast.pysource.syntax.notebook import cells_as_source
from crosscast.pysource.syntax.parse import parse_source
from crosscast.pysource.syntax.scopes import Binding, Scope
from crosscast.pysource.values.containers import look_up_entries
from crosscast.pysource.values.evaluate import circular, value_of_node

if TYPE_CHECKING:
    from crosscast.facts.command import Command
    from crosscast.pysource.flags.flag import Flag
    from crosscast.pysource.values.value import Value

_KNOWN_NAMES = frozenset(signatures.known_names())


class Program:
    """All modules of one program. Everything beyond parsing is found when it is asked for."""

    def __init__(
        self,
        modules: Sequence[Module],
        launch: Command | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.modules: tuple[Module, ...] = tuple(modules)
        self.launch = launch
        """The command that starts it; its flags win over defaults."""
        self.versions: dict[str, str] = dict(versions or {})
        """Package (`torch`, `transformers`) and version, as requirements or the user say."""
        self.known_names = _KNOWN_NAMES
        self.meanings: Memo[tuple[Meaning, ...]] = Memo(resolution.look_up, lambda n, m: (), 30)
        self.entries: Memo[Sequence[Binding]] = Memo(look_up_entries, lambda n, m: (), 24)
        self.values: Memo[Value] = Memo(value_of_node, circular, 40)
        self._flags: dict[str, Flag] | None = None
        self._all_flags: tuple[Flag, ...] = ()
        self._sites: dict[ast.AST, tuple[Call, ...]] = {}
        self._by_name: dict[str, list[Call]] | None = None
        self._written: dict[str, list[tuple[int, int]]] | None = None
        self._found: dict[tuple[str, str], Module | None] = {}
        self._arguments: dict[ast.AST, list[tuple[ast.expr, Module]]] = {}
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
        found: dict[Call, None] = {}
        index = self._calls_by_name()
        for name in names:
            if not _is_pattern(name):
                found.update(dict.fromkeys(index.get(libraries.same_name(name), ())))
                continue
            start = libraries.same_name(name.rstrip("*")) if name.endswith((".", "*")) else ""
            end = name.lstrip("*") if name.startswith((".", "*")) else ""
            for full, calls in index.items():
                if (start and full.startswith(start)) or (end and full.endswith(end)):
                    found.update(dict.fromkeys(calls))
        if len(names) == 1 and not _is_pattern(names[0]):
            yield from found
            return
        place = {module: number for number, module in enumerate(self.modules)}
        yield from sorted(found, key=lambda c: (place[c.module], *_position(c.node)))

    def _calls_by_name(self) -> dict[str, list[Call]]:
        """Return the calls of each name; a call with several names is there several times."""
        if self._by_name is not None:
            return self._by_name
        index: dict[str, list[Call]] = {}
        for module in self.modules:
            for call in module.calls:
                for name in dict.fromkeys(map(libraries.same_name, call.names)):
                    index.setdefault(name, []).append(call)
        if self.meanings.settled:
            self._by_name = index
        return index

    def function(self, call: Call) -> tuple[Module, Function] | None:
        """Return the function of the program that a call runs; `forward` of a model called."""
        for name in call.names:
            found = self.function_named(name)
            if found is not None:
                return found
            if name.endswith(".__call__"):
                forward = self.function_named(f"{name[: -len('.__call__')]}.forward")
                if forward is not None:
                    return forward
        return None

    def constructor(self, call: Call) -> tuple[Module, Function] | None:
        """Return the `__init__` that a call of a class of the program runs."""
        for name in call.names:
            scope = self.class_named(name)
            if scope is not None:
                return classes.initializer(scope)
        return None

    def calls_written(self, word: str) -> Sequence[tuple[int, int]]:
        """Return the places of the calls of `word` or `x.word`: number of the module, in it."""
        if self._written is None:
            self._written = sites.by_written_name(self.modules)
        return self._written.get(word, ())

    def call_sites(self, module: Module, function: Function) -> tuple[Call, ...]:
        """Return the calls of a function of the program, `Class(...)` for its `__init__`."""
        return tuple(sites.call_sites(self, module, function))

    # ---- names

    @property
    def flags(self) -> dict[str, Flag]:
        """All flags, by the name that the program reads them by."""
        if self._flags is None:
            self._flags = {}  # while they are being found
            self._all_flags = tuple(flags_of(self))
            for flag in self._all_flags:
                self._flags.setdefault(flag.dest, flag)
        return self._flags

    @property
    def all_flags(self) -> tuple[Flag, ...]:
        """All flags, those that share a name too."""
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
        found = [f for f in self.all_flags if f.dest == dest]
        if owner:
            found = [f for f in found if f.owner == owner]
        own = [f for f in found if f.module is module] or found
        first = own[0] if own else None
        return first if all(f.default == own[0].default for f in own) else None

    def sites(self, module: Module, function: Function) -> tuple[Call, ...]:
        """Return the calls of a function of the program; the same as `call_sites`, kept."""
        found = self._sites.get(function)
        if found is None:
            self._sites[function] = ()  # while it is being found
            found = self._sites[function] = self.call_sites(module, function)
        return found

    def version_of(self, name: str) -> str:
        """Return the version of the package that a qualified name belongs to; empty: unknown."""
        head = name.partition(".")[0]
        package = libraries.PACKAGE_OF.get(head, head)
        return self.versions.get(package, self.versions.get(head, ""))

    def module_named(self, file: str) -> Module | None:
        """Return the module of a file, as its source is called."""
        return self._by_file.get(file)

    def find_module(self, dotted: str, importer: Module) -> Module | None:
        """Return the module of the program that an import in a module means."""
        key = (dotted, importer.source.name)
        if key not in self._found:
            self._found[key] = module_links.find_module(self.modules, dotted, importer)
        return self._found[key]

    def global_bindings(self, target: str, importer: Module) -> Sequence[Binding]:
        """Return the assignments to what `from a import b` (`a.b`) brings from the program."""
        return module_links.global_bindings(self, target, importer)

    def members(self, module: Module, name: str) -> tuple[Meaning, ...]:
        """Return what a global name of a module is."""
        return tuple(resolution.members(module, name, self))

    def attribute_of(
        self, base: Meaning, name: str, use: ast.AST | None = None
    ) -> Iterator[Meaning]:
        """Yield what an attribute of something is."""
        return resolution.attribute_of(base, name, self, use)

    def function_named(self, name: str) -> tuple[Module, Function] | None:
        """Return the function that a name `file:qualname` means."""
        file, _, qualname = name.rpartition(":")
        module = self._by_file.get(file)
        found = module.functions.get(qualname) if module is not None else None
        return (module, found) if module is not None and found is not None else None

    def class_named(self, name: str) -> Scope | None:
        """Return the scope of the class that a name `file:qualname` means."""
        file, _, qualname = name.rpartition(":")
        module = self._by_file.get(file)
        node = module.classes.get(qualname) if module is not None else None
        return module.scopes.get(node) if module is not None and node is not None else None

    # ---- classes

    def bases(self, scope: Scope) -> tuple[Meaning, ...]:
        """Return instances of the direct bases of a class."""
        return classes.bases(scope)

    def library_base(self, scope: Scope) -> str:
        """Return the first base of a class that is of a library, also of a base; else empty."""
        return classes.library_base(self, scope)

    def has_attribute(self, scope: Scope, name: str) -> bool:
        """Whether a class or a base in the program assigns to an attribute or defines a method."""
        return bool(self.attribute_bindings(scope, name, None))

    def attribute_bindings(self, scope: Scope, name: str, use: ast.AST | None) -> Sequence[Binding]:
        """Return the assignments to an attribute of instances of a class."""
        return classes.attribute_bindings(self, scope, name, use)

    def field_given(
        self, scope: Scope, name: str, call: ast.Call, module: Module
    ) -> Binding | None:
        """Return what a call gives for a field of a dataclass."""
        return classes.field_given(self, scope, name, call, module)

    def parameters_of(self, name: str) -> tuple[str, ...]:
        """Return the positional parameters of a function or class of the program."""
        return sites.parameters_of(self, name)

    def arguments_for(self, binding: Binding, name: str) -> list[tuple[ast.expr, Module]]:
        """Return what the calls of a function give for a parameter; defaults are not among it."""
        found = self._arguments.get(binding.node)
        if found is None:
            self._arguments[binding.node] = []  # while it is being found
            found = sites.arguments_for(self, binding, name)
            self._arguments[binding.node] = found
        return found


def _position(node: ast.Call) -> tuple[int, int, int, int]:
    """Return what calls are ordered by: where they begin, outer ones first."""
    return (
        node.lineno,
        node.col_offset,
        -(node.end_lineno or 0),
        -(node.end_col_offset or 0),
    )


def _is_pattern(name: str) -> bool:
    return name.endswith((".", "*")) or name.startswith((".", "*"))


def read_program(
    sources: Sequence[Source],
    launch: Command | None = None,
    versions: Mapping[str, str] | None = None,
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """Read Python files as one program; what cannot be read is a diagnostic.

    Args:
        sources: the files; a notebook (`.ipynb`) counts with its code cells.
        launch: the command that starts the program; its flags override defaults.
        versions: package and version, as requirements or the user say.
    """
    modules: list[Module] = []
    diagnostics: list[Diagnostic] = []
    with _without_collector():
        _read_all(sources, modules, diagnostics)
    return Program(modules, launch, versions), tuple(diagnostics)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let the collector rest while trees are built: it would visit them again and again."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()


def _read_all(
    sources: Sequence[Source], modules: list[Module], diagnostics: list[Diagnostic]
) -> None:
    for source in sources:
        if source.name.endswith(".ipynb"):
            cells, problem = cells_as_source(source)
            if cells is None:
                diagnostics.extend([problem] if problem is not None else [])
                continue
            source = cells
        tree, problem = parse_source(source)
        diagnostics.extend([problem] if problem is not None else [])
        if tree is None:
            continue
        modules.append(Module(source, tree))
