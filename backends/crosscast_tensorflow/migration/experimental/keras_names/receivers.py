"""Whether an object is a model, a layer or an optimizer of Keras."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.makers import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import compiles

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

_MODEL = re.compile(r"keras\.(?!.*\.get_layer)(Model|Sequential|models|applications)\b.*")
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
        known = {_is_model(name, program) for maker in makers for name in maker.names or ("",)}
        return known.pop() if len(known) == 1 else None
    owner = module.class_of(node) if text == "self" else None
    scope = module.scopes.get(owner) if owner is not None else None
    if scope is not None:
        return _is_model(program.library_base(scope), program)
    return None


def _is_model(name: str, program: Program) -> bool:
    """Whether what a class or function makes is a model of Keras."""
    return _MODEL.fullmatch(canonical(_base(name, program))) is not None


def _compiled(program: Program) -> set[str]:
    return {call.receiver_text for call in compiles(program)}


def is_optimizer(node: ast.expr, module: Module, program: Program) -> bool | None:
    """Whether an object is an optimizer of Keras; None if that is not certain."""
    makers = makers_of(node, module)
    if makers is not None:
        return all(
            re.fullmatch(r"keras\.(optimizers|mixed_precision)\.[\w.]*", canonical(name))
            for maker in makers
            for name in maker.names or ("",)
        )
    if not isinstance(node, ast.Attribute) or node.attr != "optimizer":
        return False
    owner = module.text(node.value)
    if named_as_settings(owner):
        return False
    return owner == "self" or is_model(node.value, module, program) or None


def is_layer(node: ast.expr, module: Module, program: Program) -> bool:
    """Whether an expression certainly is a layer: of `model.layers`, of `get_layer`, or made."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="layers")):
            return True
        case ast.Call(func=ast.Attribute(attr="get_layer")):
            return True
        case ast.Name() if any(_gives_layer(b) for b in bindings_of(node.id, node, module)):
            return True
    makers = makers_of(node, module)
    return bool(makers) and all(
        canonical(_base(name, program)).startswith("keras.layers.")
        for maker in makers or ()
        for name in maker.names or ("",)
    )


def _gives_layer(binding: Binding) -> bool:
    """Whether a name is bound by a loop over layers, or by `get_layer`."""
    if binding.kind == "loop":
        return binding.value is not None and ".layers" in binding.module.text(binding.value)
    match binding.assigned:
        case ast.Call(func=ast.Attribute(attr="get_layer")):
            return True
    return False


def _base(name: str, program: Program) -> str:
    scope = program.class_named(name)
    return program.library_base(scope) if scope is not None else name
