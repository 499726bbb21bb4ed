"""Entries of settings: of a function that returns a `ConfigDict`, or of a file that a flag names.

`config.optim.lr` is read where `config` is known to be one such object, whatever it is called on
its way: the function is computed (`settings_machine`), and what the command sets by
`--config.optim.lr=...` comes over it. What the program may change afterwards is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.section import Section, section_of
from crosscast_reading.pysource.evaluation.settings_files import function_of, overridden
from crosscast_reading.pysource.evaluation.settings_machine import SettingsMachine
from crosscast_reading.pysource.evaluation.settings_places import (
    Change,
    Read,
    changes_in,
    read_of,
    uses_settings,
)
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.memo import Memo
from crosscast_reading.pysource.programs.scopes import path_of
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

_DEEPEST = 12


@dataclass(frozen=True)
class _Settings:
    """Settings as a function makes them. They are open where it cannot be computed."""

    content: Section
    ran: frozenset[ast.AST] = frozenset()
    """The functions that were computed."""
    is_found: bool = True
    """Whether the function is among the files given."""


class _Tables:
    """What was looked up of the settings of a program."""

    def __init__(self, program: Program) -> None:
        progress = program.progress
        self.made: Memo[Read, _Settings] = Memo(_make, lambda n, r: _nothing(), _DEEPEST, progress)
        self.changes: Memo[Program, Sequence[Change]] = Memo(
            lambda n, p: changes_in(p), lambda n, p: (), _DEEPEST, progress
        )


def from_settings(node: ast.expr, module: Module, assigned: Sequence[Binding] = ()) -> Value | None:
    """Return the value of an entry of settings; None for other expressions and whole sections.

    Args:
        node: an attribute or entry.
        module: its own.
        assigned: what assigns to it before; the value is the one before that.
    """
    looked_up = _read_entry(node, module)
    if looked_up is None:
        return None
    read, settings = looked_up
    text = module.text(node)[:200]
    value = _entry(settings, read, text, module.program)
    change = _change(node, module, assigned) if value is not None else None
    if change is not None:
        where = f"{change.module.source.name}:{getattr(change.node, 'lineno', 0)}"
        return Unknown(text, f"it may be changed in {where}", "config", names=(text,))
    return value


def is_missing_in_settings(node: ast.expr, module: Module) -> bool | None:
    """Whether settings surely lack the entry that an expression reads; None if it reads no such."""
    looked_up = _read_entry(node, module)
    if looked_up is None or not looked_up[1].is_found:
        return None
    read, settings = looked_up
    held: object = settings.content
    for key in read.keys[:-1]:
        held = held.get(key) if isinstance(held, Section) else None
    if not isinstance(held, Section) or held.is_open or read.keys[-1] in held:
        return False
    return _change(node, module, ()) is None


def _read_entry(node: ast.expr, module: Module) -> tuple[Read, _Settings] | None:
    """Return which entry of which settings an expression reads."""
    program = module.program
    if not uses_settings(program) or _is_method(node, module):
        return None
    read = read_of(node, module)
    if read is None or not read.keys:
        return None
    return read, _tables(program).made.get(read.place, read)


def _change(node: ast.expr, module: Module, assigned: Sequence[Binding]) -> Change | None:
    """Return a statement besides some that may change an entry before an expression reads it."""
    looked_up, program = _read_entry(node, module), module.program
    if looked_up is None:
        return None
    known = {binding.node for binding in assigned}
    return next(
        (
            change
            for change in _tables(program).changes.get(program.modules[0].tree, program)
            if change.node not in known and _touches(change, *looked_up, node, module)
        ),
        None,
    )


def _is_method(node: ast.expr, module: Module) -> bool:
    parent = module.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _tables(program: Program) -> _Tables:
    tables = program.kept.get(_Tables)
    if not isinstance(tables, _Tables):
        tables = program.kept[_Tables] = _Tables(program)
    return tables


def _nothing(*, is_found: bool = True) -> _Settings:
    content = Section()
    content.is_open = True
    return _Settings(content, is_found=is_found)


def _make(place: ast.Call, read: Read) -> _Settings:
    program, where = read.module.program, read.module
    machine = SettingsMachine(program)
    if read.flag is not None:
        maker = function_of(read.flag, program)
        if maker is None:
            return _nothing(is_found=False)
        home, function, given = maker
        content = machine.settings(home, function, given, {})
    else:
        callee = program.function(where.call(place))
        if callee is None or any(k.arg is None for k in place.keywords):
            return _nothing()
        if any(isinstance(argument, ast.Starred) for argument in place.args):
            return _nothing()
        home, function = callee
        arguments = [section_of(evaluate(argument, where)) for argument in place.args]
        named = {str(k.arg): section_of(evaluate(k.value, where)) for k in place.keywords}
        content = machine.settings(home, function, arguments, named)
    return _Settings(content, frozenset(machine.ran))


def _entry(settings: _Settings, read: Read, text: str, program: Program) -> Value | None:
    """Return the value of an entry; None for a section, and where no file is known."""
    held: object = settings.content
    for key in read.keys:
        if isinstance(held, Section):
            held = held.entry(key, text)
        elif isinstance(held, list | tuple) and isinstance(key, int) and -1 <= key < len(held):
            held = held[key]
        else:
            held = Unknown(text, "a part of an entry of a configuration", "config", names=(text,))
    if read.flag is not None:
        given = overridden(read.flag, read.keys, held, text, program)
        if given is not None:
            return given
    match held:
        case Section():
            return None
        case Unknown(reason=reason):
            return Unknown(text, reason, "config", names=(text,)) if settings.is_found else None
        case Known() | Choice() | Symbol() | Instance():
            return held
    return Known(held, "config", text)


def _touches(
    change: Change, read: Read, settings: _Settings, node: ast.expr, module: Module
) -> bool:
    """Whether a statement may change an entry before it is read."""
    if (
        change.read.place is not read.place
        or change.read.keys != read.keys[: len(change.read.keys)]
    ):
        return False
    here: ast.AST | None = change.node
    while here is not None:
        if here in settings.ran:
            return False  # it belongs to what makes the settings
        here = change.module.parent(here)
    is_later = change.module is module and change.module.scope_of(change.node) is module.scope_of(
        node
    )
    return not (is_later and change.assigned is not None and change.assigned == path_of(node))
