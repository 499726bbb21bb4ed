"""Uses that a program itself makes conditional on what a release has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})
"""What is raised where a name is missing."""
_REFUSED = _MISSING | {"TypeError", "ValueError"}
"""What is raised where a call may be refused."""
_ASKING = r"hasattr|version|VERSION|find_spec|['\"]{name}['\"]|is_{name}_available"
"""What a condition says that chooses between releases, or between devices by the name itself."""


def is_guarded(module: Module, node: ast.AST, what: str, *, is_call: bool) -> bool:
    """Whether the program runs a use only where it works, or handles that it does not.

    Args:
        module: the module that has it.
        node: the import, name or call.
        what: what it names.
        is_call: whether its arguments are what does not fit.
    """
    raised = _REFUSED if is_call else _MISSING
    asked = _ASKING.replace("{name}", re.escape(what.rpartition(".")[2]))
    here, above = node, module.parent(node)
    while above is not None:
        match above:
            case ast.Try() if here in above.body and raised & {*_handled(above)}:
                return True
            case ast.With() if raised & {*_suppressed(above)}:
                return True
            case ast.ExceptHandler() if _REFUSED & {*_names(above.type)}:
                return True
            case ast.If() | ast.IfExp() if here is not above.test:
                if re.search(asked, module.text(above.test)):
                    return True
        here, above = above, module.parent(above)
    return False


def _handled(node: ast.Try) -> Iterator[str]:
    """Yield the exceptions after which the program goes on."""
    for handler in node.handlers:
        if not isinstance(handler.body[-1], ast.Raise):
            yield from _names(handler.type)


def _suppressed(node: ast.With) -> Iterator[str]:
    """Yield the exceptions of `with suppress(...)`."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and "suppress" in _names(call.func):
            for given in call.args:
                yield from _names(given)


def _names(node: ast.expr | None) -> Iterator[str]:
    """Yield the names that a handler has; one without any handles every exception."""
    if node is None:
        yield "Exception"
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
