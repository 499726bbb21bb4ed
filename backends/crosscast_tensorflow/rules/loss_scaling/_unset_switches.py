"""Code under parameters that are off by default and that no caller sets."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.scopes import Scope
from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module


def unset_switch(node: ast.AST, module: Module) -> tuple[str, Call] | None:
    """Return the parameter under which code stands that never runs, and a call that omits it.

    None if the code may run: the parameter has another default, is set anywhere, or the function
    is passed on.
    """
    child, here = node, module.parent(node)
    while here is not None:
        match here:
            case ast.If(test=ast.Name() as test, body=body) if child in body:
                call = _omitted(test, module)
                if call is not None:
                    return test.id, call
        child, here = here, module.parent(here)
    return None


def _omitted(test: ast.Name, module: Module) -> Call | None:
    """Return a call of a function that leaves its parameter out, if all calls do."""
    scope = module.scope_of(test).lookup(test.id)
    match scope:
        case Scope(node=ast.FunctionDef() as function) if _is_off(function, test.id):
            kinds = [binding.kind for binding in scope.bindings[test.id]]
        case _:
            return None
    sites = module.program.call_sites(module, function)
    if kinds != ["parameter"] or not sites or _is_passed_on(function, module):
        return None
    set_by_any = any(site.has_star or test.id in site.bound() for site in sites)
    return sites[0] if not set_by_any else None


def _is_off(function: Function, name: str) -> bool:
    """Whether the default of a parameter is False or None."""
    given = function.args
    usual = dict(zip([a.arg for a in given.args][::-1], given.defaults[::-1], strict=False))
    named = dict(zip([a.arg for a in given.kwonlyargs], given.kw_defaults, strict=True))
    match usual.get(name, named.get(name)):
        case ast.Constant(value=False | None):
            return True
    return False


def _is_passed_on(function: Function, module: Module) -> bool:
    """Whether a function is used as a value, so that others may call it."""
    for other in module.program.modules:
        for node in other.nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or identifier(node) != function.name:
                continue
            if getattr(other.parent(node), "func", None) is not node:
                return True
    return False
