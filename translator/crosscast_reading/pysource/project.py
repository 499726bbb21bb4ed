"""Python files read together: modules that import each other, their flags, the launch command."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.pysource.evaluation.nodes import circular, value_of_node
from crosscast_reading.pysource.flags.definitions import flags_of
from crosscast_reading.pysource.flags.replaced_globals import replace_globals
from crosscast_reading.pysource.names import call_sites as sites
from crosscast_reading.pysource.names import classes, module_links, resolution
from crosscast_reading.pysource.names.containers import look_up_entries, unpacked
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.meaning import Meaning
from crosscast_reading.pysource.programs.memo import Memo
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Documents, Program
from crosscast_reading.pysource.programs.scopes import Binding, Scope
from crosscast_reading.pysource.syntax.notebook import cells_as_source, is_notebook
from crosscast_reading.pysource.syntax.parse import parse_source

if TYPE_CHECKING:
    from crosscast_reading.facts.command import Command
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.values.value import Value


class Project(Program):
    """A program whose names, containers and values are found by the rooms of this package."""

    def __init__(
        self,
        modules: Sequence[Module],
        launch: Command | None = None,
        versions: Mapping[str, str] | None = None,
        settings: Mapping[str, Value] | None = None,
        documents: Documents | None = None,
    ) -> None:
        super().__init__(modules, launch, versions, settings, documents)
        progress = self.progress
        self.meanings: Memo[Module, tuple[Meaning, ...]] = Memo(
            resolution.look_up, lambda n, m: (), 30, progress
        )
        self.entries: Memo[Module, Sequence[Binding]] = Memo(
            look_up_entries, lambda n, m: (), 24, progress
        )
        self.values: Memo[Module, Value] = Memo(value_of_node, circular, 40, progress)
        self._sites: Memo[Module, tuple[Call, ...]] = Memo(
            sites.call_sites, lambda n, m: (), 30, progress
        )
        self._arguments: Memo[Binding, Sequence[tuple[ast.expr, Module]]] = Memo(
            sites.arguments_for, lambda n, b: (), 30, progress
        )
        self._written: dict[str, list[tuple[int, int]]] | None = None
        self._found: dict[tuple[str, str], Module | None] = {}

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
        return self._sites.get(function, module)

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
        """Return the meanings of a global name of a module."""
        return tuple(resolution.members(module, name, self))

    def attribute_of(
        self, base: Meaning, name: str, use: ast.AST | None = None
    ) -> Iterator[Meaning]:
        """Yield the meanings of an attribute of something."""
        return resolution.attribute_of(base, name, self, use)

    def bases(self, scope: Scope) -> tuple[Meaning, ...]:
        """Return instances of the direct bases of a class."""
        return classes.bases(scope)

    def library_base(self, scope: Scope) -> str:
        """Return the first base of a class that is of a library, also of a base; else empty."""
        return classes.library_base(self, scope)

    def attribute_bindings(self, scope: Scope, name: str, use: ast.AST | None) -> Sequence[Binding]:
        """Return the assignments to an attribute of instances of a class."""
        return classes.attribute_bindings(self, scope, name, use)

    def field_given(
        self, scope: Scope, name: str, call: ast.Call, module: Module
    ) -> Binding | None:
        """Return the argument that a call gives for a field of a dataclass."""
        return classes.field_given(self, scope, name, call, module)

    def parameters_of(self, name: str) -> tuple[str, ...]:
        """Return the positional parameters of a function or class of the program."""
        return sites.parameters_of(self, name)

    def arguments_for(self, binding: Binding) -> Sequence[tuple[ast.expr, Module]]:
        """Return the arguments that calls pass for a parameter; defaults are not among them."""
        return self._arguments.get(binding.node, binding)

    def find_flags(self) -> Iterator[Flag]:
        """Yield the flags that the program defines."""
        return flags_of(self)

    def unpacked(
        self, node: ast.expr, module: Module
    ) -> Iterator[tuple[str | None, ast.expr | None]]:
        """Yield the entries that a call unpacks with `**`; None for unknown ones."""
        return unpacked(node, module)


def read_program(
    sources: Sequence[Source],
    launch: Command | None = None,
    versions: Mapping[str, str] | None = None,
    settings: Mapping[str, Value] | None = None,
    documents: Documents | None = None,
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """Read Python files as one program; what cannot be read is a diagnostic.

    Args:
        sources: the files; a notebook (`.ipynb`) counts with its code cells.
        launch: the command that starts the program; its flags override defaults.
        versions: package and version, as requirements or the user say.
        settings: `function.parameter` and the value that a file for gin binds to it.
        documents: what gives the content of a configuration file that the program loads.
    """
    modules: list[Module] = []
    diagnostics: list[Diagnostic] = []
    _read_all(sources, launch, modules, diagnostics)
    return Project(modules, launch, versions, settings, documents), tuple(diagnostics)


def _read_all(
    sources: Sequence[Source],
    launch: Command | None,
    modules: list[Module],
    diagnostics: list[Diagnostic],
) -> None:
    parsed: list[tuple[Source, ast.Module]] = []
    for source in sources:
        if is_notebook(source.name):
            cells, problem = cells_as_source(source)
            if cells is None:
                diagnostics.extend([problem] if problem is not None else [])
                continue
            source = cells
        tree, problem = parse_source(source)
        diagnostics.extend([problem] if problem is not None else [])
        if tree is None:
            continue
        parsed.append((source, tree))
    trees = replace_globals([tree for _, tree in parsed], launch)
    modules.extend(Module(source, tree) for (source, _), tree in zip(parsed, trees, strict=True))
