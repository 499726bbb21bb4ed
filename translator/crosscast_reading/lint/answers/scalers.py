"""Loss scalers where they are made."""

from __future__ import annotations

import ast
from collections.abc import Collection

from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.unused_scalers import are_unused
from crosscast_reading.sources.subject import Subject


def scaler_calls(subject: Subject) -> list[Call]:
    """Return the calls that create a loss scaler, such as a GradScaler."""
    return [
        call
        for module in subject.program.modules
        for call in module.calls
        if call.names and all(has_role(name, "scaler") for name in call.names)
    ]


def idle_scalers(subject: Subject, modules: Collection[Module] = ()) -> bool:
    """Whether every scaler is only created, saved, or scales what is only shown.

    Args:
        subject: the program.
        modules: those whose scalers are meant, with all that may use them; all if omitted.
    """
    near = modules or subject.program.modules
    made = [call for call in scaler_calls(subject) if call.module in near]
    return are_unused(made, near)


def tests_around(call: Call) -> list[ast.expr]:
    """Return the conditions under which a scaler is made, within its function."""
    module, tests = call.module, []
    here: ast.AST | None = call.node
    while here is not None and not isinstance(here, ast.FunctionDef | ast.Module):
        here = module.parent(here)
        if isinstance(here, ast.If | ast.IfExp):
            tests.append(here.test)
    return tests


def enabled_by_default(call: Call) -> bool:
    """Whether a scaler is created enabled, with the defaults of the flags."""
    given = call.argument("enabled") or call.argument("enable")
    if given is None:
        return not call.has_star
    return isinstance(given, Known) and given.value is True


def switched_off(call: Call) -> bool | None:
    """Whether a scaler is created disabled; None if it depends on a flag or condition."""
    given = call.argument("enabled") or call.argument("enable")
    if given is None:
        return None if call.has_star else False
    if isinstance(given, Known) and isinstance(given.value, bool) and not given.flag:
        return not given.value
    return None
