"""Whether the object that a method is called on is a model of Keras."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import compiles

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_NAMED = re.compile(r"(^|[._])model\w{0,60}$|^(net|network)$", re.I)
_SETTINGS = re.compile(r"(^|[._])(cfg|conf(ig)?|args|h?params|flags|settings)([._]|$)", re.I)


def named_as_model(text: str) -> bool:
    """Whether an expression is named like a model, and not as one of the settings."""
    return bool(_NAMED.search(text)) and not named_as_settings(text)


def named_as_settings(text: str) -> bool:
    """Whether an expression is named like settings: `cfg.model`, `args`."""
    return bool(_SETTINGS.search(text))


def is_model(node: ast.expr, module: Module, program: Program) -> bool | None:
    """Whether an object is a model of Keras; None if that is not certain."""
    text = module.text(node)
    if named_as_model(text) or text in _compiled(program):
        return True
    makers = makers_of(node, module)
    if makers is not None:
        known = {_is_keras(name, program) for maker in makers for name in maker.names or ("",)}
        return known.pop() if len(known) == 1 else None
    owner = module.class_of(node) if text == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    if scope is not None:
        return canonical(program.library_base(scope)).startswith("keras.")
    return None


def compiled_in(module: Module, program: Program) -> list[Call]:
    """Return the calls of `compile` in a module whose receivers are models of Keras."""
    return [
        call
        for call in module.calls
        if call.method == "compile"
        and call.receiver is not None
        and program.function(call) is None
        and is_model(call.receiver, module, program)
    ]


def _is_keras(name: str, program: Program) -> bool:
    """Whether a class is one of Keras or derives from one."""
    scope = program.class_named(name)
    base = program.library_base(scope) if scope is not None else name
    return canonical(base).startswith("keras.")


def _compiled(program: Program) -> set[str]:
    return {call.receiver_text for call in compiles(program)}
