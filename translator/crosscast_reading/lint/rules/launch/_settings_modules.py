"""Settings of a schedule in a module of settings, beside an optimizer that gets a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.unseen import unseen_gets
from crosscast_reading.lint.answers.unused_flags import is_known
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.readers.python.library_calls import calls_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCHEDULE = re.compile(r"sched|plateau|warm_?up|lr_?(decay|step|gamma)|decay_?(rate|steps?)", re.I)
_MAKES = re.compile(
    r"sched|plateau|(lr|learning_?rate|rate)_?(decay|fn|lambda)|set_lr|adjust", re.I
)
"""Names of calls that may make a schedule, or change the rate by hand."""
_PLAIN = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Expr)
_SHOWS = frozenset({"print", "eval", "str", "format"})


def unread_schedules(program: Program) -> Iterator[tuple[Call, ast.expr, Module, list[ast.Name]]]:
    """Yield the optimizers whose rate is a number of a module of settings, which has more.

    Yields also the rate, the module, and its settings of a schedule that nothing reads. A module
    that is not given may import the settings, and a function of it change the rate.
    """
    if any(_MAKES.search(call.method) for call in program.calls()):
        return
    if not all(map(is_known, program.modules)) or unseen_gets(program, ()):
        return
    for name, call in calls_of(program):
        rate = call.bound().get("lr") or call.bound().get("learning_rate")
        home = _settings_of(rate, call.module) if has_role(name, "optimizer") else None
        if rate is None or home is None:
            continue
        left = [each for each in _settings(home) if not _may_be_read(each.id, home)]
        if left:
            yield call, rate, home, left


def _settings_of(rate: ast.expr | None, module: Module) -> Module | None:
    """Return the module of settings that a rate is a number of: `config.lr`."""
    match rate:
        case ast.Attribute(value=ast.Name(id=alias)) if alias in module.imports:
            home = module.program.find_module(module.imports[alias], module)
        case _:
            return None
    if home is None or not all(isinstance(node, _PLAIN) for node in home.tree.body):
        return None
    values = [binding.assigned for binding in definitions(rate, module)]
    numbers = [isinstance(getattr(value, "value", None), int | float) for value in values]
    return home if numbers and all(numbers) and _is_asked_by_name(home) else None


def _is_asked_by_name(home: Module) -> bool:
    """Whether every module that imports a module of settings only reads single ones: `config.x`."""
    for module in home.program.modules:
        imported_names = [
            alias
            for alias, target in module.imports.items()
            if home.program.find_module(target, module) is home
        ]
        for node in module.every(ast.Name) if imported_names else ():
            if node.id in imported_names and not isinstance(module.parent(node), ast.Attribute):
                return False
        if any(home.program.find_module(star, module) is home for star in module.stars):
            return False
    return True


def _settings(home: Module) -> Iterator[ast.Name]:
    """Yield the names of settings of a schedule that are a number or a list."""
    for node in home.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                if isinstance(value, ast.Constant | ast.List | ast.Tuple) and _SCHEDULE.search(
                    name
                ):
                    yield target


def _may_be_read(name: str, home: Module) -> bool:
    """Whether a line of the program may read a setting, other than to show it."""
    for module in home.program.modules:
        for node in module.nodes:
            match node:
                case ast.Attribute(attr=read_name) if read_name == name:
                    return True
                case ast.Name(id=read_name, ctx=ast.Load()) if read_name == name:
                    return True
                case ast.ImportFrom(names=names) if any(each.name == name for each in names):
                    return True
                case ast.Constant(value=text) if text == name and not _is_shown(node, module):
                    return True
    return False


def _is_shown(text: ast.Constant, module: Module) -> bool:
    """Whether a text is in a function that only prints: `for name in [...]: print(eval(name))`."""
    function = module.function_of(text)
    calls = [node for node in module.every(ast.Call) if module.function_of(node) is function]
    named = [getattr(call.func, "id", getattr(call.func, "attr", "")) for call in calls]
    return function is not None and bool(named) and all(each in _SHOWS for each in named)
