"""Calls of amp whose import is not found: reported, never changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_torch.answers.amp_uses import CLASSES, PLACES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

_OF_APEX = ("initialize", "scale_loss", "master_params")


def unknown_apex(subject: Subject) -> Iterator[Refusal]:
    """Report calls of a variable `amp` as those of apex.amp that nothing in the files explains.

    The first in each file.
    """
    for module in subject.program.modules:
        calls = (call for call in module.calls if not call.names and _is_of_apex(call))
        if (first := next(calls, None)) is not None:
            yield _unknown(module, first, "from apex import amp")


def unknown_classes(subject: Subject) -> Iterator[Refusal]:
    """Report autocast and GradScaler where an `import *` of a file that is not read brings them."""
    if not any(place in source.text for source in subject.beside for place in PLACES):
        return
    for module in subject.program.modules:
        for call in module.calls:
            if not call.names and _is_starred(module, call):
                new = f"from torch.cuda.amp import {module.text(call.node.func)}"
                yield _unknown(module, call, new)


def _is_of_apex(call: Call) -> bool:
    word, node = call.method, call.node
    if word not in _OF_APEX or call.receiver is None or identifier(call.receiver) != "amp":
        return False
    return word != "initialize" or any(keyword.arg == "opt_level" for keyword in node.keywords)


def _is_starred(module: Module, call: Call) -> bool:
    """Whether a name can only come from an `import *` of a file that is not read with this one."""
    function = call.node.func
    if not isinstance(function, ast.Name) or function.id not in CLASSES or not module.stars:
        return False
    return function.id not in module.imports and not any(
        function.id in scope.bindings for scope in module.scopes.values()
    )


def _unknown(module: Module, call: Call, new: str) -> Refusal:
    text = module.text(call.node.func)
    return Refusal(
        span=module.span(call.node),
        message=f"where {text} comes from is not found: it is not imported in this file",
        hint=f"write `{new}` in this file, and run again",
    )
