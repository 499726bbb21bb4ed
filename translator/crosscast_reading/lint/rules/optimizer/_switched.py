"""What the setting of a switch decides in a program, and where the program may end before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from crosscast_reading.lint.answers.leaving import ends_program, leaves
from crosscast_reading.lint.answers.unseen import is_unseen
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk


@dataclass(eq=False)
class Switched:
    """An `if` over one setting."""

    switch: ast.If
    module: Module

    @property
    def _setting(self) -> ast.expr:
        test = self.switch.test
        return test.left if isinstance(test, ast.Compare) else test

    @property
    def _word(self) -> str:
        """The name of the setting."""
        match self._setting:
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                return name
        return ""

    @property
    def _owner(self) -> str:
        """The object that has the settings: `args`, `self.config`; empty for a parameter."""
        match self._setting:
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                return self.module.text(owner)
        return ""

    @cached_property
    def _words(self) -> set[str]:
        """The name of the setting, and those of values that may depend on it."""
        known = {self._word}
        before = 0
        while len(known) > before:
            before = len(known)
            for node in self.module.nodes:
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    if node.value is not None and _names(node.value) & known:
                        known |= _bound(node)
                elif isinstance(node, ast.If) and node is not self.switch:
                    asks = _names(node.test) & known
                    inside = walk(node) if asks else ()
                    known |= {name for each in inside for name in _changed(each)}
        return known

    def decides(self, head: ast.expr) -> bool:
        """Whether the setting may decide how often a loop runs."""
        if _names(head) & self._words:
            return True
        return any(isinstance(node, ast.Call) and self._gets(node) for node in walk(head))

    def may_end_before(self, use: ast.AST) -> bool:
        """Whether the program may end, or skip a round, before a line where the setting is off."""
        places, seen = [(use, self.module)], set()
        while places:
            place, home = places.pop()
            function = home.function_of(place)
            if place is not use and any(self._asks(each) for each in _conditions(place, home)):
                return True
            line = getattr(place, "lineno", 0)
            for node in home.nodes:
                if getattr(node, "lineno", line) >= line or home.function_of(node) is not function:
                    continue
                if self._may_leave(node, place, home):
                    return True
            if function is not None and function not in seen:
                seen.add(function)
                places += [
                    (call.node, call.module) for call in home.program.call_sites(home, function)
                ]
        return False

    def _may_leave(self, node: ast.AST, place: ast.AST, home: Module) -> bool:
        """Whether a line before a place may leave it because of the settings."""
        match node:
            case ast.Assert(test=test):
                return self._asks(test)
            case ast.Call() if not leaves(node, place, home):
                return self._may_end(home.call(node), set())
            case _ if not leaves(node, place, home):
                return False
        return any(self._asks(each) for each in _conditions(node, home))

    def _may_end(self, call: Call, seen: set[ast.AST]) -> bool:
        """Whether a call of a function of the program may end it."""
        definition = call.module.program.function(call)
        if self._gets(call.node):
            return definition is not None or is_unseen(call)
        if definition is None or definition[1] in seen:
            return False
        home, function = definition
        seen.add(function)
        return any(
            ends_program(node)
            or (isinstance(node, ast.Call) and self._may_end(home.call(node), seen))
            for node in walk(function)
        )

    def _gets(self, call: ast.Call) -> bool:
        """Whether a call gets the object that has all settings."""
        arguments = [*call.args, *(each.value for each in call.keywords)]
        return bool(self._owner) and any(ast.unparse(each) == self._owner for each in arguments)

    def _asks(self, test: ast.expr) -> bool:
        """Whether a condition depends on the settings."""
        if _names(test) & self._words:
            return True
        owned = (node for node in walk(test) if isinstance(node, ast.Name | ast.Attribute))
        return bool(self._owner) and any(ast.unparse(node) == self._owner for node in owned)


def _conditions(place: ast.AST, module: Module) -> Iterator[ast.expr]:
    """Yield the conditions that decide whether a line of a function is reached."""
    around = module.parent(place)
    while around is not None and not isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
        match around:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield test
            case ast.BoolOp() as test:
                yield test
            case ast.Match(subject=test):
                yield test
        around = module.parent(around)


def _names(tree: ast.AST) -> set[str]:
    """Return the names, attributes and texts of an expression."""
    names: set[str] = set()
    for node in walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                names.add(name)
    return names


def _bound(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> set[str]:
    """Return the names and attributes that a line binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {name for target in targets for each in walk(target) for name in _stored(each)}


def _stored(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names that a line under a condition binds or fills: `parts.append(part)`."""
    yield from _stored(node)
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name
