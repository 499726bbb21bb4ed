"""Code under parameters that are off by default and that no caller sets."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Function, Module


def unset_switch(node: ast.AST, module: Module) -> tuple[str, Call] | None:
    """Return the parameter under which code stands that never runs, and a call that omits it.

    None if the code may run: the parameter has another default, is set anywhere, or the function
    is passed on.
    """
    child, here = node, module.parent(node)
    while here is not None:
        match here:
            case ast.If(test=ast.Name() as test, body=body) if child in body:
                found = _omitted(test, module)
                if found is not None:
                    return test.id, found
        child, here = here, module.parent(here)
    return None


def _omitted(test: ast.Name, module: Module) -> Call | None:
    """Return a call of a function that leaves its parameter out, if all calls do."""
    scope = module.scope_of(test).lookup(test.id)
    bound = scope.bindings.get(test.id, []) if scope is not None else []
    function = scope.node if scope is not None else None
    if len(bound) != 1 or bound[0].kind != "parameter" or module.program is None:
        return None
    if not isinstance(function, ast.FunctionDef) or not _is_off(function, test.id):
        return None
    sites = module.program.sites(module, function)
    if not sites or _is_passed_on(function, module):
        return None
    for site in sites:
        unpacks = any(keyword.arg is None for keyword in site.node.keywords)
        starred = any(isinstance(given, ast.Starred) for given in site.node.args)
        if unpacks or starred or test.id in site.bound():
            return None
    return sites[0]


def _is_off(function: Function, name: str) -> bool:
    """Whether the default of a parameter is False or None."""
    given = function.args
    usual = dict(zip([a.arg for a in given.args][::-1], given.defaults[::-1], strict=False))
    usual |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d}
    match usual.get(name):
        case ast.Constant(value=False | None):
            return True
    return False


def _is_passed_on(function: Function, module: Module) -> bool:
    """Whether a function is used as a value, so that others may call it."""
    program = module.program
    for other in program.modules if program is not None else ():
        for node in other.nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or identifier(node) != function.name:
                continue
            if getattr(other.parent(node), "func", None) is not node:
                return True
    return False
