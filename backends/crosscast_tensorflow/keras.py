"""How a generation of Keras spells what the templates print: features in, code out."""

from __future__ import annotations

from typing import Any

from crosscast.targets.backend import Dialect


def spelling(dialect: Dialect) -> dict[str, Any]:
    """Return the part of the view that depends on the dialect alone."""
    has = dialect.features.__contains__
    return {
        "requirements": dialect.requirements,
        "keras3": has("keras3"),
        "rewrites": dialect.name == "graph-rewrite",
        "variable": "keras.Variable" if has("keras3") else "tf.Variable",
        "name_of": "path" if has("keras3") else "name",
        "kind_of": "variable.name" if has("keras3") else "kind(variable)",
        "set_policy": (
            "keras.config.set_dtype_policy"
            if has("keras3")
            else "keras.mixed_precision.set_global_policy"
        ),
        "get_policy": (
            "keras.config.dtype_policy" if has("keras3") else "keras.mixed_precision.global_policy"
        ),
        "decorator": decorator(dialect, jit_compile=False),
    }


def decorator(dialect: Dialect, *, jit_compile: bool) -> str:
    """Return the decorator of a compiled function."""
    options = (
        *(("reduce_retracing=True",) if "reduce_retracing" in dialect.features else ()),
        *(("jit_compile=True",) if jit_compile else ()),
    )
    return f"@tf.function({', '.join(options)})" if options else "@tf.function"
