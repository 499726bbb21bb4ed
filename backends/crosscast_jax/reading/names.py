"""What calls of JAX, Flax, Equinox and optax do, by their canonical names."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical, last

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

NAME = "jax"
"""The name of the reader."""
GRADIENTS = re.compile(
    r"(jax|flax\.nnx|equinox)\.(filter_)?(value_and_)?grad"
    r"|flax\.(training\.dynamic_scale|optim)\.DynamicScale\.value_and_grad"
)
"""Functions that make one that returns gradients."""
PMAPS = frozenset({"jax.pmap", "equinox.filter_pmap", "flax.nnx.pmap"})
MESHES = re.compile(
    r"jax\.(make_mesh|set_mesh|shard_map|sharding\.(Mesh|NamedSharding|PositionalSharding|set_mesh"
    r"|use_mesh)|lax\.with_sharding_constraint|experimental\.(maps\.(Mesh|xmap)|pjit\.pjit"
    r"|shard_map\.shard_map|mesh_utils\.\w+|pjit\.with_sharding_constraint))"
    r"|equinox\.filter_shard"
)
"""Calls that spread arrays over the devices of a mesh."""
REMATS = frozenset(
    {
        *("jax.checkpoint", "jax.remat", "flax.linen.remat", "flax.linen.checkpoint"),
        *("flax.nnx.remat", "equinox.filter_checkpoint", "flax.linen.remat_scan"),
    }
)
LOOPS = frozenset({"jax.lax.fori_loop", "jax.lax.scan", "flax.nnx.scan", "flax.nnx.fori_loop"})
_PARTIAL = "functools.partial"


def decorations(function: Function, module: Module) -> list[tuple[str, ast.expr]]:
    """Return the canonical names of what decorates a function, `partial(x, ...)` as x."""
    named = []
    for decorator in function.decorator_list:
        inner = decorator
        if isinstance(decorator, ast.Call):
            made_by = canonical(module.resolve(decorator.func))
            inner = decorator.args[0] if made_by == _PARTIAL and decorator.args else decorator.func
        named.append((canonical(module.resolve(inner)), decorator))
    return named


def given_function(node: ast.expr, module: Module) -> tuple[Module, Function | ast.Lambda] | None:
    """Return the function of the program that an argument is, also within `partial(f, ...)`."""
    if isinstance(node, ast.Lambda):
        return module, node
    if isinstance(node, ast.Call):
        wraps = canonical(module.resolve(node.func))
        known = wraps == _PARTIAL or wraps in REMATS or last(wraps) in ("jit", "filter_jit", "vmap")
        return given_function(node.args[0], module) if known and node.args else None
    if isinstance(node, ast.Name | ast.Attribute):
        return module.program.function_named(module.resolve(node))
    return None


def first_argument(call: Call) -> ast.expr | None:
    """Return the function that a transformation is given."""
    if call.node.args:
        return call.node.args[0]
    return call.bound().get("fun", call.bound().get("f"))
