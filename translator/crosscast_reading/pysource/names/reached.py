"""Which functions and classes of imported modules nothing in a program refers to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import OWN
from crosscast_reading.pysource.programs.module import Function

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Definition = Function | ast.ClassDef
_IMPORTS = frozenset({"import_module", "__import__", "__subclasses__", "load_source"})
"""With these, code can run that no name in the program leads to."""
_OWN_NAMES = frozenset({"exec", "eval", "globals", "locals"})
"""With these, any name of the module itself can be meant."""
_LOOK_UPS = frozenset({"getattr", "vars", "getmembers", "dir"})
"""With these, any name of the module that they are given can be meant."""
_PLAIN_DECORATORS = frozenset(
    {
        *OWN,
        *("numpy", "functools", "contextlib", "dataclasses", "typing", "abc", "unittest"),
        *("property", "staticmethod", "classmethod"),
    }
)
"""Where decorators come from that do not enter what they get in a table of the program."""
_LINKS = 12
"""Most modules through which a name is followed that they hand on."""
_DOTTED = re.compile(r"(?<!\w)(?:[A-Za-z_]\w*+\.)*([A-Za-z_]\w*+)[.:]([A-Za-z_]\w*)")
_STORES = frozenset({"append", "add", "update", "setdefault", "insert", "setattr", "register"})


def unreached(program: Program, texts: Iterable[str]) -> list[tuple[Module, Definition]]:
    """Return definitions at the top of imported modules that nothing reached refers to.

    Everything in a module that no other one imports is reached, and so is what runs when a module
    is imported. A class is reached as a whole. Where names are found at run time, too much counts
    as reached, never too little.

    Args:
        program: all modules.
        texts: configurations and commands, which may name definitions: `pkg.models.Net`.
    """
    search = _Search(program)
    for module in program.modules:
        search.start(module)
    for text in texts:
        search.named(text)
    search.run()
    if search.anything:
        return []
    return [
        (module, node)
        for module, definitions in search.definitions.items()
        for node in definitions.values()
        if node not in search.reached
    ]


@dataclass
class _Search:
    program: Program
    definitions: dict[Module, dict[str, Definition]] = field(default_factory=dict)
    owners: dict[str, list[Module]] = field(default_factory=dict)
    """The modules that define a name."""
    reached: set[Definition] = field(default_factory=set)
    todo: list[tuple[Module, Definition]] = field(default_factory=list)
    anything: bool = False
    """Whether code of any module may run."""

    def __post_init__(self) -> None:
        for module in self.program.modules:
            definitions: dict[str, Definition] = {
                name: node
                for name, node in chain(module.functions.items(), module.classes.items())
                if "." not in name
            }
            self.definitions[module] = definitions
            for name in definitions:
                self.owners.setdefault(name, []).append(module)
        modules = self.program.modules
        used = {
            other
            for module in modules
            for name in chain(module.imported, module.imports.values())
            if (other := self.program.find_module(name, module)) not in (None, module)
        }
        self.entries = {module for module in modules if module not in used} | set(modules[:1])

    def start(self, module: Module) -> None:
        """Reach what runs with a module."""
        defined = set(self.definitions[module].values())
        if module in self.entries:
            for name in self.definitions[module]:
                self.add(module, name)
        for node in defined:
            if any(_registers(decorator, module) for decorator in node.decorator_list):
                self.add(module, node.name)
        for statement in module.tree.body:
            if module in self.entries or not _only_as_main(statement):
                self.read(_outside(statement, defined), module)

    def add(self, module: Module, name: str) -> None:
        """Reach a definition."""
        node = self.definitions[module][name]
        if node not in self.reached:
            self.reached.add(node)
            self.todo.append((module, node))

    def run(self) -> None:
        """Follow what is reached."""
        while self.todo:
            module, node = self.todo.pop()
            self.read(ast.walk(node), module)

    def read(self, nodes: Iterable[ast.AST], module: Module) -> None:
        """Reach what some code refers to."""
        for node in nodes:
            match node:
                case ast.Name(id=name):
                    if name in _OWN_NAMES:
                        self.all_of(module)
                    elif name in _IMPORTS:
                        self.anything = True
                    self.follow(module, name)
                case ast.Attribute(value=value, attr=name):
                    if name in _IMPORTS:
                        self.anything = True
                    elif name in ("__dict__", "modules"):
                        self.all_in(value, module)
                    for other in self.imported(module):
                        self.follow(other, name)
                case ast.Call(func=function, args=[given, *_]):
                    called = function.attr if isinstance(function, ast.Attribute) else None
                    if getattr(function, "id", called) in _LOOK_UPS:
                        self.all_in(given, module)
                case ast.Constant(value=str(text)) if mention := _DOTTED.fullmatch(text):
                    self.qualified(*mention.groups())

    def named(self, text: str) -> None:
        """Reach the definitions whose qualified names stand in a text."""
        for mention in _DOTTED.finditer(text):
            self.qualified(*mention.groups())

    def qualified(self, home: str, name: str) -> None:
        """Reach the definitions that the end of a qualified name may mean."""
        for owner in self.owners.get(name, ()):
            if home in owner.name.split("."):
                self.add(owner, name)

    def imported(self, module: Module) -> Iterator[Module]:
        """Yield the modules of the program that a module has under a name."""
        for target in module.imports.values():
            other = self.program.find_module(target, module)
            if other is not None:
                yield other

    def all_in(self, value: ast.expr, module: Module) -> None:
        """Reach everything in a module that an expression is."""
        if not isinstance(value, ast.Name):
            self.all_of(module)
            return
        if value.id == "sys":
            self.all_of(module)
        target = module.imports.get(value.id)
        other = self.program.find_module(target, module) if target else None
        if other is not None:
            self.all_of(other)

    def all_of(self, module: Module) -> None:
        """Reach everything that a module defines or has from others."""
        for name in (*self.definitions[module], *module.imports):
            self.follow(module, name)
        for star in module.stars:
            other = self.program.find_module(star, module)
            if other is not None:
                for name in self.definitions[other]:
                    self.add(other, name)

    def follow(self, module: Module, name: str, links: int = _LINKS) -> None:
        """Reach what a global name of a module is, through the modules that hand it on."""
        if name in self.definitions[module]:
            self.add(module, name)
        elif links and (target := module.imports.get(name)):
            base, _, last = target.rpartition(".")
            if target.startswith(".") and not base.strip("."):
                base = target[: len(target) - len(last)]
            other = self.program.find_module(base, module) if base else None
            if other is not None:
                self.follow(other, last, links - 1)
        elif links:
            for star in module.stars:
                other = self.program.find_module(star, module)
                if other is not None and other is not module:
                    self.follow(other, name, links - 1)


def _registers(decorator: ast.expr, module: Module) -> bool:
    """Whether a decorator may enter what it gets in a table, for code that looks it up there."""
    name = module.resolve(decorator.func if isinstance(decorator, ast.Call) else decorator)
    own = module.program.function_named(name)
    if own is None:
        return not name or name.partition(".")[0] not in _PLAIN_DECORATORS
    for node in ast.walk(own[1]):
        match node:
            case ast.Subscript(ctx=ast.Store()) | ast.Global():
                return True
            case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called)):
                if called in _STORES:
                    return True
    return False


def _only_as_main(statement: ast.stmt) -> bool:
    """Whether a statement runs only in the module that is started."""
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )


def _outside(node: ast.AST, definitions: Set[ast.AST]) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without definitions; but what runs to make these."""
    if node in definitions:
        assert isinstance(node, Definition)
        for part in node.decorator_list:
            yield from ast.walk(part)
        if not isinstance(node, ast.ClassDef):
            yield from ast.walk(node.args)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _outside(child, definitions)
