"""Names for the objects that calls create: the variables they are assigned to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import last

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call


def subject_of(call: Call) -> str:
    """Return the variable that a call is assigned to, or its key or enclosing function."""
    module = call.module
    child: ast.AST = call.node
    here = module.parent(child)
    while not isinstance(here, ast.stmt):
        assert here is not None, "every call is part of a statement"
        outer = module.parent(here)
        match here, outer:
            case ast.Dict(keys=keys, values=values), _:
                for key, value in zip(keys, values, strict=True):
                    match key:
                        case ast.Constant(value=str(word)) if value is child:
                            return word
            case ast.Call(func=ast.Attribute(value=container, attr="append")), _:
                return module.text(container)
            case ast.Tuple(elts=values), ast.Assign(targets=[ast.Tuple(elts=names)]):
                for name, value in zip(names, values, strict=False):
                    if value is child:
                        return module.text(name)
        child, here = here, outer
    match here:
        case (
            ast.Assign(targets=[ast.Tuple(elts=[target, *_]), *_])
            | ast.Assign(targets=[target, *_])
            | ast.AnnAssign(target=target)
        ):
            return module.text(target)
        case ast.Return():
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
        subject = next((name for name in options if name not in self._taken), options[-1])
        self._taken.add(subject)
        return subject
