"""Names for the objects that calls create: the variables they are assigned to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.python.library_calls import last

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call


def subject_of(call: Call) -> str:
    """Return the variable that a call is assigned to, or its key or enclosing function."""
    module = call.module
    child: ast.AST = call.node
    here = module.parent(child)
    while here is not None and not isinstance(here, ast.stmt):
        if isinstance(here, ast.Dict) and child in here.values:
            key = here.keys[here.values.index(child)]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return key.value
        function = here.func if isinstance(here, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr == "append":
            return module.text(function.value)
        child, here = here, module.parent(here)
    if isinstance(here, ast.Assign):
        target = here.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(here.value, ast.Tuple):
            for target_name, value in zip(target.elts, here.value.elts, strict=False):
                if any(node is call.node for node in walk(value)):
                    return module.text(target_name)
        if isinstance(target, ast.Tuple) and target.elts:
            return module.text(target.elts[0])
        return module.text(target)
    if isinstance(here, ast.AnnAssign):
        return module.text(here.target)
    if isinstance(here, ast.Return):
        around = module.function_of(call.node)
        return around.name if around is not None else ""
    return ""


class Subjects:
    """Gives every object a unique name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, call: Call, made_by: str = "") -> str:
        """Return the variable, with the class or line where several objects share it."""
        plain = subject_of(call)
        options = (
            plain,
            f"{plain} ({last(made_by)})",
            f"{plain} ({last(made_by) or 'line'} {call.node.lineno})",
            f"{plain} ({call.module.source.name} {call.node.lineno})",
        )
        found = next((name for name in options if name not in self._taken), options[-1])
        self._taken.add(found)
        return found
