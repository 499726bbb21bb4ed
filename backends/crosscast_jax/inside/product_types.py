"""The types in which a compiled function computes products: of matrices, and convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PRODUCTS = ("dot_general", "conv_general_dilated")


def product_types(jaxpr: Any) -> set[str]:
    """Return the types of what is multiplied, in a function and all that it calls."""
    types: set[str] = set()
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name in PRODUCTS:
            types |= {str(operand.aval.dtype) for operand in equation.invars}
        for inner in _inner(tuple(equation.params.values())):
            types |= product_types(inner)
    return types


def _inner(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _inner(value)
        elif hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            yield value
