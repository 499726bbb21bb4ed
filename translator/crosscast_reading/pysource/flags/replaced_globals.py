"""Programs that run a file of settings over their globals: `exec(open("settings.py").read())`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast_reading.facts.command import Command

_PLAIN = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
_COMMON = 3
"""Minimum number of names that a file of settings shares with the program it belongs to."""


def replace_globals(trees: Sequence[ast.Module], launch: Command | None) -> Sequence[ast.Module]:
    """Put settings of a file and of a command in the place of a program's own, in a new tree.

    Only for a program that runs other code over its globals, for names that it assigned before,
    and for settings that are numbers or texts. The places in the source stay those of the program.

    Args:
        trees: the files, that of the program first.
        launch: the command that starts the program.

    Returns:
        The trees, that of the program replaced by one with the settings.
    """
    if not trees:
        return trees
    program = trees[0]
    own: dict[str, list[ast.Assign]] = {}
    for statement in program.body:
        if _runs_a_file(statement):
            break
        if (name := _assigned(statement)) and isinstance(statement, ast.Assign):
            own.setdefault(name, []).append(statement)
    else:
        return trees
    files = [settings for tree in trees[1:] if (settings := _settings(tree))]
    fitting = [settings for settings in files if len(settings.keys() & own.keys()) >= _COMMON]
    given: dict[str, ast.expr] = dict(fitting[0]) if len(fitting) == 1 else {}
    given.update(_of_command(launch))
    new: dict[ast.stmt, ast.stmt] = {}
    for name in given.keys() & own.keys():
        for statement in own[name]:
            value = _at(given[name], statement.value)
            made = ast.Assign(statement.targets, value, statement.type_comment)
            new[statement] = ast.copy_location(made, statement)
    body = [new.get(statement, statement) for statement in program.body]
    return [ast.Module(body, program.type_ignores), *trees[1:]]


def _runs_a_file(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="exec"), args=[code, *_])):
            return any(
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "open"
                for node in ast.walk(code)
            )
    return False


def _assigned(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _settings(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Return the settings of a file that has nothing else; empty for any other file."""
    settings: dict[str, ast.expr] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        name = _assigned(statement)
        if not name or not isinstance(statement, ast.Assign):
            return {}
        if all(isinstance(node, _PLAIN) for node in ast.walk(statement.value)):
            settings[name] = statement.value
        else:
            settings.pop(name, None)
    return settings


def _of_command(launch: Command | None) -> Iterator[tuple[str, ast.expr]]:
    for fact in launch.flags if launch is not None else ():
        if fact.known and isinstance(fact.value, str | int | float) and fact.value is not True:
            name = fact.expression.lstrip("-")
            try:
                yield name, ast.Constant(ast.literal_eval(str(fact.value)))
            except (SyntaxError, ValueError):
                yield name, ast.Constant(str(fact.value))


def _at(value: ast.expr, place: ast.expr) -> ast.expr:
    """Return a copy of an expression with the place of another."""
    moved = copy.deepcopy(value)
    for node in ast.walk(moved):
        if isinstance(node, ast.expr):
            ast.copy_location(node, place)
    return moved
