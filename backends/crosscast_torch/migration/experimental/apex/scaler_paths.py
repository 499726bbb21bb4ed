"""Passes the loss scaler from its creation to its uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert
from crosscast_torch.migration.experimental.apex.scaler_creation import Start
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_DEPTH = 3
_NAMES = ("scaler", "grad_scaler", "amp_scaler")
_CLOSING = re.compile(r"\s*+,?\s*+(?:#[^\n]*\n\s*+)*\)\Z")


@dataclass(slots=True)
class ScalerPaths:
    """The scaler's name in each function, and the edits that pass it there."""

    program: Program
    start: Start
    stops: Stops
    name: str = "scaler"
    method: bool = False
    """Whether it is an attribute of the object that initializes apex."""
    edits: list[Edit] = field(default_factory=list)
    handed: list[Call] = field(default_factory=list)
    """The calls that pass it on."""
    _known: dict[Function | None, bool] = field(default_factory=dict)

    @property
    def made(self) -> str:
        """Its name where it is created."""
        return f"self.{self.name}" if self.method else self.name

    def name_in(self, module: Module, function: Function | None) -> str:
        """Return its name in a function that `bring` was called for."""
        return self.made if self._at_home(module, function) else self.name

    def bring(self, module: Module, function: Function | None, node: ast.AST) -> None:
        """Make the scaler available in a function; report why that is not possible."""
        if not self._bring(module, function, 0):
            start = self.start.module.function_of(self.start.statement)
            self.stops.add(
                module,
                node,
                "the loss scaler would have to be passed here from "
                f"{start.name if start else 'the top of another file'}, which initializes apex",
                "pass it as an argument: apex kept it in global state",
            )

    def _bring(self, module: Module, function: Function | None, depth: int) -> bool:
        if self._at_home(module, function):
            return True
        if function is None or depth > _DEPTH or self._known.get(function):
            return self._known.get(function, False)
        sites = [
            site
            for site in self.program.call_sites(module, function)
            if site.module.function_of(site.node) is not function
        ]
        if not sites or not self._only_called(module, function, sites):
            return False
        edits = [_parameter(module, function, self.name)]
        for site in sites:
            around = site.module.function_of(site.node)
            if not self._bring(site.module, around, depth + 1):
                return False
            if self.method and not self._always_there():
                return False
            edits.append(_argument(site, self.name, self.name_in(site.module, around)))
        made = [edit for edit in edits if edit is not None]
        if len(made) < len(edits):
            return False
        self.edits += made
        self.handed += sites
        self._known[function] = True
        return True

    def _at_home(self, module: Module, function: Function | None) -> bool:
        """Whether the scaler is in scope in a function without being passed."""
        home = self.start.module.function_of(self.start.statement)
        if module is not self.start.module:
            return False
        if home is None:
            return True
        here: ast.AST | None = function
        while here is not None:
            if here is home:
                return True
            here = module.parent(here)
        own = module.class_of(home)
        return (
            self.method
            and own is not None
            and function is not None
            and module.parent(function) is own
            and _has_self(function)
        )

    def _always_there(self) -> bool:
        home = self.start.module.function_of(self.start.statement)
        return home is not None and home.name == "__init__"

    def _only_called(self, module: Module, function: Function, sites: list[Call]) -> bool:
        """Whether a function is only called and never used as a value."""
        called = {id(site.node.func) for site in sites}
        for other in self.program.modules:
            for node in other.nodes:
                named = (isinstance(node, ast.Name) and node.id == function.name) or (
                    isinstance(node, ast.Attribute) and node.attr == function.name
                )
                if not named or id(node) in called:
                    continue
                if isinstance(node, ast.Attribute) and module.class_of(function) is None:
                    continue  # a method of another object
                parent = other.parent(node)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    if not (isinstance(parent, ast.Call) and parent.func is node):
                        return False
                elif isinstance(node, ast.Attribute) and not (
                    isinstance(parent, ast.Call) and parent.func is node
                ):
                    return False
        return True


def scaler_paths(
    program: Program,
    start: Start,
    needs: Iterable[tuple[Module, Function | None, ast.AST]],
    stops: Stops,
) -> ScalerPaths:
    """Return the edits that pass the scaler to the functions that need it."""
    needs = list(needs)
    paths = ScalerPaths(program, start, stops)
    modules = dict.fromkeys((start.module, *(module for module, _, _ in needs)))
    paths.name = next((n for n in _NAMES if not any(map(_names(n), modules))), "apex_scaler")
    home = start.module.function_of(start.statement)
    own = start.module.class_of(home) if home is not None else None
    if own is not None and home is not None and _has_self(home):
        paths.method = any(
            function is not home and function is not None and module.class_of(function) is own
            for module, function, _ in needs
        )
    for module, function, node in needs:
        paths.bring(module, function, node)
    return paths


def _names(name: str) -> Callable[[Module], bool]:
    def within(module: Module) -> bool:
        return any(
            (isinstance(node, ast.Name) and node.id == name)
            or (isinstance(node, ast.Attribute) and node.attr == name)
            or (isinstance(node, ast.arg) and node.arg == name)
            or (isinstance(node, ast.alias) and name in (node.name, node.asname))
            for node in module.nodes
        )

    return within


def _has_self(function: Function) -> bool:
    return bool(function.args.args) and function.args.args[0].arg == "self"


def _parameter(module: Module, function: Function, name: str) -> Edit | None:
    """Return the edit that adds a parameter, or None if its position is not certain."""
    given = function.args
    if given.vararg or given.kwonlyargs:
        return None
    places = [*given.posonlyargs, *given.args]
    if not places:
        row = module.lines[function.lineno - 1]
        empty = re.search(rf"def\s+{function.name}\s*\(\)", row)
        return insert(module, function.lineno, empty.end(), name) if empty else None
    last: ast.arg | ast.expr = given.defaults[-1] if given.defaults else places[-1]
    if isinstance(last, ast.Tuple):
        return None
    text = f", {name}=None" if given.defaults else f", {name}"
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    column = column_at(module, last.end_lineno, last.end_col_offset)
    rest = module.lines[last.end_lineno - 1][column - 1 :].lstrip()
    if rest[:1] not in (",", ")", "") or rest.startswith("))"):
        return None
    return insert(module, last.end_lineno, column, text)


def _argument(call: Call, name: str, value: str) -> Edit | None:
    """Return the edit that adds a keyword argument to a call, or None if that is not certain."""
    module, node = call.module, call.node
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    end = (node.end_lineno, column_at(module, node.end_lineno, node.end_col_offset))
    if not given:
        return insert(module, end[0], end[1] - 1, f"{name}={value}")
    last = max(given, key=lambda argument: (argument.end_lineno or 0, argument.end_col_offset or 0))
    if isinstance(last, ast.GeneratorExp):
        return None
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    column = column_at(module, last.end_lineno, last.end_col_offset)
    rows = module.lines[last.end_lineno - 1 : end[0]]
    rows = [*rows[:-1], rows[-1][: end[1] - 1]]
    rest = "\n".join(rows)[column - 1 :]
    if not _CLOSING.match(rest):
        return None
    return insert(module, last.end_lineno, column, f", {name}={value}")
