"""Calls, and their arguments by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crosscast_reading.pysource.libraries import signatures
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of
from crosscast_reading.pysource.values.value import Unknown

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.values.value import Value

_NOTHING: Any = object()


class Call:
    """One call of a program. What it calls is resolved when it is asked for."""

    __slots__ = ("_bound", "_names", "_open", "_unplaced", "module", "node")

    def __init__(self, node: ast.Call, module: Module) -> None:
        self.node = node
        self.module = module
        self._bound: dict[str, ast.expr] | None = None
        self._names: tuple[str, ...] | None = None
        self._open = False
        self._unplaced = False

    def __repr__(self) -> str:
        return f"Call({self.module.source.name}:{self.node.lineno} {self.name or '?'})"

    @property
    def meanings(self) -> tuple[Meaning, ...]:
        """What the called expression can be."""
        return meanings_of(self.node.func, self.module)

    @property
    def names(self) -> tuple[str, ...]:
        """Every qualified name that may be called, in the order of the text."""
        if self._names is not None:
            return self._names
        names = tuple(dict.fromkeys(map(_called_name, self.meanings)))
        if self.module.program.progress.settled:
            self._names = names
        return names

    @property
    def name(self) -> str:
        """Qualified name of what is called, of the first if there are several; empty: unknown."""
        names = self.names
        return names[0] if names else ""

    @property
    def method(self) -> str:
        """Last part of the name, with aliases resolved: `backward`, `step`."""
        function = self.node.func
        if isinstance(function, ast.Attribute):
            return function.attr
        last = self.name.rpartition(".")[2].rpartition(":")[2]
        if last and last != "__call__":
            return last
        return function.id if isinstance(function, ast.Name) else ""

    @property
    def receiver(self) -> ast.expr | None:
        """What stands before the last dot of the called expression."""
        function = self.node.func
        return function.value if isinstance(function, ast.Attribute) else None

    @property
    def receiver_text(self) -> str:
        """The text of the receiver; empty if there is none."""
        return self.module.text(self.receiver) if self.receiver is not None else ""

    @property
    def version(self) -> str:
        """Version of the package that the call belongs to; empty if unknown."""
        return self.module.program.version_of(self.name)

    @property
    def has_star(self) -> bool:
        """Whether there are `*` or `**` arguments whose content is not known."""
        self.bound()
        return self._open

    def parameters(self, name: str = "") -> tuple[str, ...]:
        """Return the positional parameters of what is called; empty if they are not known."""
        name = name or self.name
        program = self.module.program
        if ":" in name:
            return program.parameters_of(name)
        version = program.version_of(name)
        return signatures.positional(name, version)

    def bound(self) -> dict[str, ast.expr]:
        """Return the arguments by name of the parameter.

        Positional ones only as far as the signature of the version is known, `*x` and `**x` where
        they are literals; those of a `functools.partial` are included.
        """
        if self._bound is None:
            self._bound = {}
            meanings, done = self.meanings, 0
            for maker in meanings[0].partial if meanings else ():
                module = meanings[0].module or self.module
                self._bind(maker.args[1:], maker.keywords, module, done)
                done += len(maker.args) - 1
            self._bind(self.node.args, self.node.keywords, self.module, done)
        return self._bound

    def _bind(
        self, args: list[ast.expr], keywords: list[ast.keyword], module: Module, done: int
    ) -> None:
        assert self._bound is not None
        names = self.parameters() if args else ()
        place = done
        for argument in args:
            if isinstance(argument, ast.Starred):
                if isinstance(argument.value, ast.Tuple | ast.List):
                    for inner in argument.value.elts:
                        if place < len(names):
                            self._bound[names[place]] = inner
                        place += 1
                    continue
                self._open = True
                break
            if place < len(names):
                self._bound[names[place]] = argument
            elif names:
                self._unplaced = True
            place += 1
        for keyword in keywords:
            if keyword.arg is not None:
                self._bound[keyword.arg] = keyword.value
        for keyword in keywords:
            if keyword.arg is None and not self._merge(keyword.value, module):
                self._open = True

    def _merge(self, node: ast.expr, module: Module) -> bool:
        """Bind the entries of a dictionary; False if they are not known."""
        assert self._bound is not None
        for name, value in self._unpacked(node, module):
            if name is None or value is None:
                return False
            self._bound.setdefault(name, value)
        return True

    def _unpacked(
        self, node: ast.expr, module: Module
    ) -> Iterator[tuple[str | None, ast.expr | None]]:
        return self.module.program.unpacked(node, module)

    def argument(self, name: str, default: Value | None = None) -> Value | None:
        """Return the value of an argument; `default` if it is not given.

        With `*` or `**` arguments of unknown content, or with one whose place differs between
        versions, an argument that is not seen is unknown.
        """
        node = self.bound().get(name)
        if node is not None:
            return evaluate(node, self.module.owner_of(node))
        if self._open:
            text = self.module.text(self.node)[:200]
            return Unknown(text, f"{name} may be among the starred arguments")
        if self._unplaced:
            text = self.module.text(self.node)[:200]
            return Unknown(text, f"{name} may be an argument whose place differs between versions")
        return default


def _called_name(meaning: Meaning) -> str:
    return f"{meaning.name}.__call__" if meaning.kind == "instance" else meaning.name
