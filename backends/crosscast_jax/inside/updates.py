"""Record the updates that the optimizers of optax make in a JAX program.

What a program compiles with `jax.jit` (so do Flax' own functions), and what it calls of optax and
of JAX' loops outside of that, is run twice: first a twin that tells what happens, whose results are
thrown away, then the program's own (`update_twins`). Every `GradientTransformation` tells what it
does (`transformations`). Nothing is computed otherwise than without this.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax

from crosscast_jax.inside.transformations import ACCUMULATING
from crosscast_jax.inside.update_records import Updates
from crosscast_jax.inside.update_twins import watched_jit, without_host
from crosscast_jax.inside.update_watch import Watch
from crosscast_parity.inside.updates import Records

LOOPS = ("scan", "fori_loop", "while_loop", "cond")
"""Of `jax.lax`: they compile where they are called outside of a compiled function."""
SCALED = "the scale of a DynamicScale is not recorded: loss scaling was not exercised"


_watches: list[Watch] = []


def install(records: Records, name: str, *, perturb: bool, poison: int | None) -> None:
    """Watch this process; `name` is that of the module that was imported."""
    if records.between is None:
        return  # programs of JAX are read, and not migrated in place
    if not _watches:
        updates = Updates(records)
        records.final = updates.final
        _watches.append(Watch(updates))
        _install_jax(_watches[0])
    (watch,) = _watches
    module: Any = sys.modules[name]  # a package that is imported may not have it yet
    if name == "optax":
        _install_optax(watch, module)
    elif name == "flax.nnx":
        _install_nnx(watch, module)
    elif name == "flax.linen":
        watch.rows.watch_apply(module.Module)
    elif name == "flax.training.dynamic_scale":
        kind = module.DynamicScale
        kind.value_and_grad = _scaled(watch, records, kind.value_and_grad)


def _install_jax(watch: Watch) -> None:
    jax.jit = watched_jit(watch.twins)
    for name in LOOPS:
        original = getattr(jax.lax, name)
        setattr(jax.lax, name, watch.twins.doubled(f"jax.lax.{name}", original))
    jax.grad = watch.differentiate(jax.grad, None)
    jax.value_and_grad = watch.differentiate(jax.value_and_grad, 1)
    for name in ("PRNGKey", "key"):
        setattr(jax.random, name, watch.seed(getattr(jax.random, name)))
    for name in ("callback", "print"):
        original = getattr(jax.debug, name)
        setattr(jax.debug, name, without_host(watch.twins, original, f"jax.debug.{name}"))
    import jax.experimental as experimental

    name = "jax.experimental.io_callback"
    experimental.io_callback = without_host(watch.twins, experimental.io_callback, name)
    jax.new_ref = watch.reference(jax.new_ref)


def _install_optax(watch: Watch, optax: Any) -> None:
    kind = optax.GradientTransformation
    construct = kind.__new__

    def new(cls: Any, init: Any, update: Any) -> Any:
        if ACCUMULATING not in getattr(update, "__qualname__", ""):
            update = watch.update(update)
        return construct(cls, init, update)

    kind.__new__ = new
    optax.MultiSteps.update = watch.accumulate(optax.MultiSteps.update)
    optax.apply_updates = watch.apply(optax.apply_updates)


def _install_nnx(watch: Watch, nnx: Any) -> None:
    nnx.grad = watch.differentiate(nnx.grad, None)
    nnx.value_and_grad = watch.differentiate(nnx.value_and_grad, 1)
    watch.rows.watch_modules(nnx.Module)


def _scaled(watch: Watch, records: Records, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap DynamicScale: the gradients that it returns are not scaled any more."""
    told = watch.differentiate(original, 3)

    @functools.wraps(original)
    def value_and_grad(scale: Any, fun: Any, argnums: Any = 0, **options: Any) -> Any:
        assert records.between is not None
        records.between.tell(unscaled=SCALED)
        return told(scale, fun, argnums=argnums, **options)

    return value_and_grad
